"""The store of runs: what opens it, writes a run in one step, and reads it back."""
