"""Describes a queueing discipline as plain data: settings to send, and settings to read back.

Kinds of queues and losses use it, each in its own file. The test bed packs the settings into
TCA_OPTIONS, reads the kernel's settings back and compares them. So the test bed does not depend on
any kind. Attributes and structures are those of include/uapi/linux/pkt_sched.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from orchestrator.protocol.specification import QueueSpec, SettingSpec


class Setting(NamedTuple):
    """One value among a qdisc's options.

    ``attribute`` is the path of attribute types inside TCA_OPTIONS; () is the fixed structure at
    its beginning. ``offset`` is the value's offset there in bytes. ``format`` is its struct format
    without padding (native byte order), or ``s`` for bytes in hexadecimal. ``name`` ends in the
    unit. ``reads`` is the value that the kernel reports, if it rounds. A value that the kernel does
    not report, or changes itself, is not ``verified``. With ``once``, a change does not send the
    value again.
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
        """Return its form in the specification."""
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
    the qdisc, offset in bytes). They are unsigned unless ``signed``. Metrics know the names
    ``marks`` (packets marked CE) and ``overflow_drops`` (packets dropped because there was no
    room), and those of results/metrics/dual_queue.py.
    """

    name: str
    unit: str
    words: tuple[tuple[tuple[int, ...], int], ...]
    signed: bool = False


class Qdisc(NamedTuple):
    """A qdisc: the kernel's name of its kind and its options, in the order of their attributes."""

    kind: str
    settings: tuple[Setting, ...] = ()
    statistics: tuple[Statistic, ...] = ()

    def document(self) -> QueueSpec:
        """Return its form in the specification."""
        return {
            "kind": self.kind,
            "settings": [each.document() for each in self.settings],
            "words": [
                {"attribute": list(path), "offset": offset}
                for each in self.statistics
                for path, offset in each.words
            ],
        }
