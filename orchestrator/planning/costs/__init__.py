"""Wall times of runs, estimated from constants and from earlier runs."""
