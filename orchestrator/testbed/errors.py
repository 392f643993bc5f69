"""What all parts of a bed say in the same words; without Mininet, which lab hosts need not have."""

from orchestrator.protocol.numbering import CHANNEL_ENDS


class BuildError(Exception):
    """The kernel did not take a setting, or has another value than the one that was set."""


ENDS = CHANNEL_ENDS
