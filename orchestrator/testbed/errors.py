"""What all parts of a bed say in the same words; without Mininet, which lab hosts need not have."""


class BuildError(Exception):
    """The kernel did not take a setting, or has another value than the one that was set."""


ENDS = {"forward": ("a", "f", "b"), "reverse": ("b", "r", "a")}
"""Of each direction: the wire end it enters by, its queue's device, the wire end it leaves by."""
