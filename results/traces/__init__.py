"""What stored traces of runs show: their tables by names, and what happened to each flow."""
