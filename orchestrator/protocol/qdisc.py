"""A queueing discipline as plain data: what a kernel is sent and what it must say it has.

Kinds of queues and losses describe themselves so, each in its own file; the test bed packs the
settings into TCA_OPTIONS, reads the kernel's back and compares, without knowing any kind.
Attributes and structures are those of include/uapi/linux/pkt_sched.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from orchestrator.protocol.specification import QueueSpec, SettingSpec


class Setting(NamedTuple):
    """One value among a qdisc's options.

    ``attribute`` is the path of attribute types inside TCA_OPTIONS, () the fixed structure at its
    beginning; ``offset`` is the value's place there in bytes and ``format`` its struct format
    without padding (native byte order), or ``s`` for bytes given in hexadecimal. ``name`` ends in
    the unit. ``reads`` is what the kernel reports where it rounds; what it does not report, or
    changes by itself, is not ``verified``. ``once``: it may not be sent again with a change.
    """

    name: str
    attribute: tuple[int, ...]
    value: int | str
    format: str = "I"
    offset: int = 0
    verified: bool = True
    reads: int | str | None = None
    once: bool = False

    def document(self) -> SettingSpec:
        """Return what the test bed reads."""
        expected = self.value if self.reads is None else self.reads
        return {
            "name": self.name,
            "attribute": list(self.attribute),
            "offset": self.offset,
            "format": self.format,
            "value": self.value,
            "expected": expected if self.verified else None,
            "once": self.once,
        }


class Statistic(NamedTuple):
    """A number that a qdisc keeps, sampled with its counters.

    It is the sum of 32-bit ``words``, each (path of attribute types in the kernel's answer about
    the qdisc, offset in bytes). Metrics know two names: ``marks`` (packets marked CE) and
    ``overflow_drops`` (packets dropped because there was no room).
    """

    name: str
    unit: str
    words: tuple[tuple[tuple[int, ...], int], ...]


class Qdisc(NamedTuple):
    """A qdisc: the kernel's name of its kind and its options, in the order of their attributes."""

    kind: str
    settings: tuple[Setting, ...] = ()
    statistics: tuple[Statistic, ...] = ()

    def document(self) -> QueueSpec:
        """Return what the test bed reads."""
        return {
            "kind": self.kind,
            "settings": [each.document() for each in self.settings],
            "words": [
                {"attribute": list(path), "offset": offset}
                for each in self.statistics
                for path, offset in each.words
            ],
        }
