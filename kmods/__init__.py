"""Our congestion controls as kernel modules: sources, parameters, and build."""
