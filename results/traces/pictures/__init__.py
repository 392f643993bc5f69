"""What pictures of a stored trace show: arrays in SI units, and few enough points to draw."""
