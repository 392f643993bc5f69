"""From a loaded scenario to runs with everything decided, and what they will cost."""
