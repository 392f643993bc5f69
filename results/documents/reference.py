"""Writes docs/metrics.md: every metric and every column of samples, with unit and definition."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from orchestrator.recording.column_definitions import TABLES as DEFINITIONS
from results.metrics import METRICS, Metric
from results.samples.sample_tables import TABLES

_HEAD = """\
# Metrics and columns of samples

`orchestrator schema --metrics` writes this page from the program; a test compares it with that.

Metrics do not depend on `sample`, so runs with equal digests have equal numbers.

- Counters are read every 100 ms and at the edges of windows, at which every run is sampled.
- RTTs, congestion windows and estimates of bandwidth are read on the *metrics' grid*. Its period is
  the smallest base RTT of the run's TCP flows as traffic starts. It is in whole milliseconds, at
  least 1 ms and at most 100 ms. Over a live path it is 10 ms. A run has it as `metrics_grid_s`.
- Delays in queues are counted by the emulated link, of every packet.
- `sample` says how fine plots and exported samples are.

Scopes: a metric of a *run* is of all flows together, or of the bottleneck links. One of a *flow* is
of one flow; the value of an entry is the mean over its flows. One of a *link* is of one direction.

A scenario can make numbers of its programs' output metrics of their flows: `program_`, a name and
the unit, such as `program_page_time_s`. See [programs](programs.md#numbers-of-the-output).
"""
_SUBJECTS = {"flow": "Of flows", "link": "Of links"}
_ABOUT = {
    "tcp_samples": "Samples of the sender and the receiver of each TCP flow.",
    "sender_states": "What metrics use of each TCP sender: a row where it differs from the last.",
    "queue_samples": "Counters of each qdisc and policer since the test bed was built.",
    "sojourn_times": "How long packets waited in each queue, and the histogram of these times.",
    "counter_samples": "SNMP counters of each host, as nstat shows them: a row for each that "
    "changed since the host was read before.",
    "datagram_samples": "Counters of each UDP flow since it began.",
    "transfers": "Transfers of flows that make many.",
}
_UNITS = (
    ("_bytes_per_s", "bytes/s"), ("_bytes", "bytes"), ("_segments", "segments"),
    ("_packets", "packets"), ("_ns", "ns"), ("_us2", "us²"), ("_us", "us"), ("_ms", "ms"),
)  # fmt: skip
_WHOLE_NAMES = {
    "bytes": "bytes",
    "packets": "packets",
    "drops": "packets",
    "skmem_drops": "packets",
}


def markdown() -> str:
    """Return the page, in Markdown."""
    return "\n".join([_HEAD, *_metrics(), *_tables()]).rstrip() + "\n"


def _metrics() -> Iterator[str]:
    for subject, title in _SUBJECTS.items():
        yield f"## {title}\n"
        for (name, definition), alike in sorted(_by_definition(subject).items()):
            yield f"### `{name}`\n"
            yield f"{alike[0].unit}; {', '.join(metric.scope for metric in alike)}\n"
            yield _paragraphs(definition) + "\n"


def _by_definition(subject: str) -> dict[tuple[str, str], list[Metric]]:
    """Return the metrics of a subject by name and definition, each at all its scopes."""
    by_definition: dict[tuple[str, str], list[Metric]] = {}
    for metric in METRICS.values():
        if metric.subject == subject:
            by_definition.setdefault((metric.name, metric.definition), []).append(metric)
    return by_definition


def _paragraphs(definition: str) -> str:
    """Return a docstring as Markdown; its double backquotes become single ones."""
    return re.sub(r"``([^`]*)``", r"`\1`", inspect.cleandoc(definition))


def _tables() -> Iterator[str]:
    for table, definitions in DEFINITIONS.items():
        yield f"## Columns of `{table}`\n"
        yield f"{_ABOUT[table]}\n"
        yield "| column | unit | |\n|---|---|---|"
        for name in TABLES[table].dtype.names or ():
            yield f"| `{name}` | {unit_of(name)} | {definitions[name]} |"
        yield ""


def unit_of(name: str) -> str:
    """Return the unit that a column's name says, empty for a plain number."""
    if name in _WHOLE_NAMES:
        return _WHOLE_NAMES[name]
    return next((unit for end, unit in _UNITS if name.endswith(end)), "")
