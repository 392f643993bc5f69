"""Errors of all parts of a test bed; without Mininet, which lab hosts need not have."""


class BuildError(Exception):
    """The kernel did not take a setting, or has another value than the one that was set."""
