"""The flows of a run: those of each flow entry, and what they need together."""
