"""Our congestion controls as kernel modules: sources, what they take, and their build."""
