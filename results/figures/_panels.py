"""The quantities that panels over time can show, by name: words, units and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from orchestrator.recording.model import QUEUE_DTYPE, TCP_DTYPE
from orchestrator.suggestions import suggest
from orchestrator.units import shown

Source = Literal["sender", "receiver", "queue", "algorithm", "statistic", "counter"]
"""Whose column a panel shows.

``algorithm`` are the fields that a congestion control reports, ``statistic`` those of a kind of
queue, ``counter`` the SNMP counters of hosts. Their names are known with the run.
"""

_KNOWN_WITH_THE_RUN: tuple[Source, ...] = ("algorithm", "statistic", "counter")


class PanelText(NamedTuple):
    """A panel: its words, the SI unit of its values, and why it may have none."""

    title: str
    unit: str
    why_none: str


PANELS: Mapping[str, PanelText] = {
    "cwnd": PanelText("cwnd", "segments", "no flow is of TCP"),
    "rtt": PanelText("RTT", "s", "no flow is of TCP"),
    "goodput": PanelText("Goodput", "bit/s", "no receiver was sampled"),
    "queue": PanelText("Queue", "packets", "it has no bottleneck with a queue"),
    "estimate": PanelText(
        "Estimate", "bit/s", "no congestion control shows an estimate of bandwidth"
    ),
    "ssthresh": PanelText("ssthresh", "segments", "no flow of TCP lost anything"),
    "in_flight": PanelText("In flight", "segments", "no flow is of TCP"),
    "retransmissions": PanelText("Retransmissions", "segments", "no flow is of TCP"),
    "drops": PanelText("Drops", "packets", "it has no bottleneck with a queue"),
}
"""The panels with names of their own; the first five are drawn by default."""

DEFAULT = tuple(PANELS)[:5]

_NOT_VALUES = ("time_ns", "flow", "endpoint", "queue")

SENDER_COLUMNS = tuple(
    name
    for name in TCP_DTYPE.names or ()
    if name not in _NOT_VALUES and not name.startswith("congestion_")
)
QUEUE_COLUMNS = tuple(
    name
    for name in QUEUE_DTYPE.names or ()
    if name not in _NOT_VALUES and not name.startswith("statistic_")
)

# Suffix of a column's name: SI unit, and the factor to it.
_UNITS: tuple[tuple[str, str, float], ...] = (
    ("_bytes_per_s", "bit/s", 8.0),
    ("_bytes", "bytes", 1.0),
    ("_segments", "segments", 1.0),
    ("_packets", "packets", 1.0),
    ("_us", "s", 1e-6),
    ("_ms", "s", 1e-3),
    ("_s", "s", 1.0),
)


class SampleColumn(NamedTuple):
    """A column of samples as a panel shows it: ``factor`` turns its values into the unit."""

    source: Source
    name: str
    title: str
    unit: str
    factor: float


def column(written: str) -> SampleColumn | None:
    """Return the column that a panel's name means; None for names of :data:`PANELS`.

    ``rttvar_us`` is of senders, ``receiver.rcv_space_bytes`` of receivers, ``queue.drops`` of
    queues, ``algorithm.FIELD`` what a congestion control reports, ``statistic.FIELD`` what a kind
    of queue counts, and ``counter.NAME`` an SNMP counter of hosts.

    Raises:
        ValueError: there is no such panel or column.
    """
    if written in PANELS:
        return None
    source, dot, name = written.partition(".")
    if not dot:
        name = written
        source = "sender" if name in SENDER_COLUMNS else "queue"
    columns: Mapping[str, tuple[str, ...]] = {
        "sender": SENDER_COLUMNS, "receiver": SENDER_COLUMNS, "queue": QUEUE_COLUMNS,
    }  # fmt: skip
    for known in _KNOWN_WITH_THE_RUN:
        if source == known and name:
            return _made(known, name)
    if name not in columns.get(source, ()):
        valid = [*PANELS, *SENDER_COLUMNS, *QUEUE_COLUMNS]
        raise ValueError(
            f"there is no panel {shown(written)}{suggest(written, valid)}; panels are "
            f"{', '.join(PANELS)}, any column of samples of TCP (such as rttvar_us) or of queues "
            "(backlog_bytes), receiver.COLUMN, queue.COLUMN, algorithm.FIELD, statistic.FIELD and "
            "counter.NAME"
        )
    if source == "receiver":
        return _made("receiver", name)
    return _made("queue" if source == "queue" else "sender", name)


def _made(source: Source, name: str) -> SampleColumn:
    if source == "counter":
        return SampleColumn(source, name, name.rpartition(":")[2], "1", 1.0)
    suffix, unit, factor = _unit_of(name)
    label = name.removesuffix(suffix).replace("_", " ")
    title = f"{label} (receiver)" if source == "receiver" else label
    return SampleColumn(source, name, title, unit, factor)


def with_unit(known: SampleColumn, unit: str) -> SampleColumn:
    """Return the column of a field whose unit the run says, such as ``bytes/s``."""
    _suffix, stored, factor = _unit_of(f"_{unit.replace('/', '_per_')}")
    return known._replace(unit=stored if stored != "1" else unit, factor=factor)


def _unit_of(name: str) -> tuple[str, str, float]:
    """Return (suffix, SI unit, factor to it) of a column's name."""
    return next(
        (entry for entry in _UNITS if name.endswith(entry[0])),
        ("", "1", 1.0),
    )
