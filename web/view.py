"""What the pages show, put together from stored runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from results.metrics import METRICS, channel
from results.model import Status
from results.stored import StoredRun
from web import formats

STATUSES: tuple[str, ...] = get_args(Status)

_FIRST = (
    "utilisation", "goodput_bps", "jain_index", "loss_ratio", "retransmission_ratio",
    "queue_delay_mean_s", "queue_delay_p95_s",
)  # fmt: skip
_PER_CENT = ("utilisation", "loss_ratio", "retransmission_ratio")
_TAIL_LINES = 60


def matches(run: Mapping[str, Any], words: str, status: str) -> bool:
    """Tell whether a listed run has the status, and every word somewhere in what names it."""
    if status and run["status"] != status:
        return False
    text = " ".join(
        str(part)
        for part in (
            run["id"], run["experiment"], run["scenario"], formats.variant(run["variant"]),
            f"seed={run['seed']}", run["status"], run["fidelity"]["verdict"] or "",
            run["backend"], run["error"] or "",
        )
    ).lower()  # fmt: skip
    return all(word in text for word in words.lower().split())


@dataclass(frozen=True)
class MetricLine:
    """A metric of the run over all its windows, written out; ``definition`` names its source."""

    name: str
    label: str
    definition: str
    values: tuple[str, ...]


def metric_table(run: Mapping[str, Any]) -> list[MetricLine]:
    """Return the run's metrics, each over the whole run first and then over every window.

    Those most asked for come first; one that is not known here by name comes after them. One that
    has no value anywhere, as of transfers in a run without any, is left out.
    """
    columns = [run["metrics"], *(window["metrics"] for window in run["windows"].values())]
    names = [
        name
        for name, scope in METRICS
        if scope == "run" and any(values.get(name) is not None for values in columns)
    ]
    names.sort(key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))
    return [
        MetricLine(
            name,
            _label(name),
            " ".join(METRICS[name, "run"].definition.split()),
            tuple(_metric(name, METRICS[name, "run"].unit, values.get(name)) for values in columns),
        )
        for name in names
    ]


def _label(name: str) -> str:
    label = name.removesuffix("_bps").removesuffix("_s").replace("_", " ")
    for plain, proper in (
        ("rtt", "RTT"), ("fct", "FCT"), ("jain", "Jain's"), ("p50", "median"), ("p95", "95 %"),
        ("p99", "99 %"),
    ):  # fmt: skip
        label = label.replace(plain, proper)
    return label[0].upper() + label[1:]


def _metric(name: str, unit: str, value: float | None) -> str:
    if name in _PER_CENT:
        return formats.percent(value)
    if unit in ("bit/s", "s"):
        return formats.rate(value) if unit == "bit/s" else formats.time(value)
    return formats.number(value)


@dataclass(frozen=True)
class LinkLine:
    """One channel as read back from the kernel, with its metrics."""

    name: str
    bottleneck: bool
    queue: Any
    delay_s: float | None
    loss: float | None
    metrics: Mapping[str, Any]

    @property
    def rate(self) -> str:
        """The rate, written out; of one that changes the first and the last, or the range."""
        rates = [rate_bps for _time, rate_bps in self.queue.rate_steps]
        if len(rates) == 2:
            return " → ".join(map(formats.rate, rates))
        if rates:
            return f"{formats.rate(min(rates))} … {formats.rate(max(rates))}"
        return formats.rate(self.queue.rate_bps)

    @property
    def limit(self) -> str:
        """The queue's limit, written out."""
        if self.queue.limit_packets is not None:
            return f"{formats.number(self.queue.limit_packets)} packets"
        return formats.size(self.queue.limit_bytes)


def links(run: StoredRun, metrics: Sequence[Mapping[str, Any]]) -> list[LinkLine]:
    """Return the run's channels that have a queue, bottlenecks first."""
    by_name = {f"{one['name']}:{one['direction']}": one for one in metrics}
    delays = {channel(one): one for one in run.queues if one.role == "delay"}
    lines = []
    for queue in run.queues:
        if queue.role == "queue":
            name = channel(queue)
            delay = delays.get(name)
            lines.append(
                LinkLine(
                    name,
                    queue.bottleneck,
                    queue,
                    delay.delay_s if delay else queue.delay_s,
                    delay.loss if delay else queue.loss,
                    by_name[name],
                )
            )
    return sorted(lines, key=lambda line: not line.bottleneck)


@dataclass(frozen=True)
class PolicerLine:
    """One policer as it was set, and what it did in the whole run."""

    name: str
    rate_bps: float | None
    burst_bytes: int | None
    passed_bytes: int
    dropped_packets: int


def policers(run: StoredRun) -> list[PolicerLine]:
    """Return the run's policers."""
    lines = []
    for index, queue in enumerate(run.queues):
        if queue.role == "policer":
            counted = run.queue_samples(index, ["time_ns", "bytes", "drops"])
            grown = {
                name: int(counted[name][-1] - counted[name][0]) if len(counted[name]) else 0
                for name in ("bytes", "drops")
            }
            lines.append(
                PolicerLine(
                    channel(queue),
                    queue.rate_bps,
                    queue.limit_bytes,
                    grown["bytes"],
                    grown["drops"],
                )
            )
    return lines


def tail(text: str) -> str:
    """Return the last lines of a text, saying how many came before."""
    lines = text.rstrip("\n").split("\n")
    if len(lines) <= _TAIL_LINES:
        return text
    return "\n".join([f"… {len(lines) - _TAIL_LINES} lines before …", *lines[-_TAIL_LINES:]])
