"""The matrix of harm: what each congestion control does to each other one."""
