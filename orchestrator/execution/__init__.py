"""Runs plans: the runner, the cleanup after it, and the checks of this machine and our modules."""
