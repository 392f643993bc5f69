"""The lines of panels over time: values of a run's flows and queues, by the panel's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.errors import UsageError
from orchestrator.recording.model import RECEIVER, SENDER
from orchestrator.suggestions import NEAR, suggest
from results.figures import _run
from results.figures._canvas import line, require_distinct
from results.figures._panels import PANELS, PanelText, SampleColumn, column, with_unit
from results.figures._run import BY_FLOW, TimeSeries
from results.figures._style import LINES, PlotStyle
from results.metrics.base import channel, running
from results.metrics.estimate import ESTIMATES
from results.samples.sample_tables import Columns
from results.store.stored import StoredRun

Named = tuple[str, PlotStyle, TimeSeries]
"""The name of a line (empty if it needs none), how it looks, and its points."""

PLAIN = PlotStyle("#000000", "-", "", "")

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RunLines:
    """The lines of some flows of a run, and of its queues.

    ``names`` has other words for names. ``bin_s`` is the width of bins.
    """

    run: StoredRun
    flows: Sequence[int]
    names: Mapping[str, str]
    bin_s: float

    def of(self, name: str) -> tuple[PanelText, list[Named]]:
        """Return the panel of that name, and its lines; some may be empty.

        Raises:
            UsageError: no flow or queue has such a field.
        """
        known = column(name)
        if known is not None:
            return self._of_column(name, known)
        panel, per_bin = PANELS[name], f" in {self.bin_s:g} s"
        if name in ("retransmissions", "drops"):
            panel = panel._replace(title=panel.title + per_bin)
        sources: Mapping[str, Callable[[], list[Named]]] = {
            "cwnd": lambda: self._senders("snd_cwnd_segments", 1.0),
            "rtt": lambda: self._senders("rtt_us", 1e-6),
            "ssthresh": lambda: self._senders("snd_ssthresh_segments", 1.0),
            "goodput": self._goodputs,
            "queue": lambda: self._queues(
                lambda columns: columns["backlog_packets"].astype(np.float64)
            ),
            "estimate": self._estimates,
            "in_flight": self._in_flight,
            "retransmissions": self._retransmissions,
            "drops": self._drops,
        }
        return panel, sources[name]()

    def _of_column(self, written: str, known: SampleColumn) -> tuple[PanelText, list[Named]]:
        if known.source == "counter":
            panel = PanelText(known.title, known.unit, "it grew at no host of these flows")
            return panel, self._counters(written, known.name)
        why = f"no {'queue' if known.source in ('queue', 'statistic') else 'flow of TCP'} has it"
        if known.source in ("algorithm", "statistic"):
            slots = dict(self._slots(known))
            if not slots:
                raise UsageError(self._no_field(written, known))
            unit = next(iter(slots.values()))[1]
            known = with_unit(known, unit)
        panel = PanelText(known.title, known.unit, why)
        if known.source == "queue":
            return panel, self._queues(lambda columns: _times(columns[known.name], known.factor))
        if known.source == "statistic":
            return panel, [
                (label, style, points)
                for index, (slot, _unit) in slots.items()
                for label, style, points in self._queues(
                    lambda columns, slot=slot: _times(columns[f"statistic_{slot}"], known.factor),  # type: ignore[misc]
                    index,
                )
            ]
        if known.source == "algorithm":
            return panel, [
                self._ends(flow, SENDER, f"congestion_{slot}", known.factor)
                for flow, (slot, _unit) in slots.items()
            ]
        end = RECEIVER if known.source == "receiver" else SENDER
        return panel, [self._ends(flow, end, known.name, known.factor) for flow in self.flows]

    def _slots(self, known: SampleColumn) -> Iterator[tuple[int, tuple[int, str]]]:
        """Yield (index of a flow or queue, (slot, unit)) of each one that has the field."""
        of_queues = known.source == "statistic"
        indices = self._bottlenecks() if of_queues else self.flows
        for index in indices:
            fields = (
                self.run.queues[index].statistics
                if of_queues
                else self.run.flows[index].congestion_fields
            )
            for slot, (name, unit) in enumerate(fields):
                if name == known.name:
                    yield index, (slot, unit)

    def _no_field(self, written: str, known: SampleColumn) -> str:
        every = (
            [queue.statistics for queue in self.run.queues]
            if known.source == "statistic"
            else [self.run.flows[flow].congestion_fields for flow in self.flows]
        )
        there = list(dict.fromkeys(name for fields in every for name, _unit in fields))
        listed = ", ".join(there) or "none"
        return (
            f"panel {written}: run {self.run.id} has no such field{suggest(known.name, there)}; "
            f"its fields are {listed}"
        )

    def _name(self, flow: int) -> str:
        name = self.run.flows[flow].name
        return self.names.get(name, name)

    def _look(self, flow: int) -> PlotStyle:
        return line(self.flows.index(flow))

    def _senders(self, name: str, factor: float) -> list[Named]:
        named_lines = []
        for flow in self.flows:
            points = _run.sender(self.run, flow, name)
            scaled = points._replace(values=points.values * factor)
            named_lines.append((self._name(flow), self._look(flow), scaled))
        return named_lines

    def _ends(self, flow: int, end: int, name: str, factor: float) -> Named:
        """Return a column of one end of a flow while the flow runs; zero is a value."""
        columns = self.run.tcp_columns(flow, end)
        points = TimeSeries(np.empty(0), np.empty(0))
        if len(columns["time_ns"]):
            on = _during(columns, self.run, flow)
            points = TimeSeries(columns["time_ns"][on] / 1e9, _times(columns[name][on], factor))
        return self._name(flow), self._look(flow), points

    def _in_flight(self) -> list[Named]:
        """Return tcp_packets_in_flight() of include/net/tcp.h, from its parts in tcp_info."""
        named_lines = []
        for flow in self.flows:
            name, style, points = self._ends(flow, SENDER, "unacked_segments", 1.0)
            values = points.values
            for part, sign in (("sacked", -1), ("lost", -1), ("retrans", 1)):
                values = values + sign * self._ends(flow, SENDER, f"{part}_segments", 1.0)[2].values
            named_lines.append((name, style, points._replace(values=np.maximum(values, 0.0))))
        return named_lines

    def _goodputs(self) -> list[Named]:
        return [
            (self._name(flow), self._look(flow), _run.goodput_bps(self.run, flow, self.bin_s))
            for flow in self.flows
        ]

    def _retransmissions(self) -> list[Named]:
        named_lines = []
        for flow in self.flows:
            name, style, points = self._ends(flow, SENDER, "total_retrans_segments", 1.0)
            named_lines.append((name, style, _run.grown(points, self.bin_s)))
        return named_lines

    def _drops(self) -> list[Named]:
        return [
            (name, style, _run.grown(points, self.bin_s))
            for name, style, points in self._queues(lambda columns: _times(columns["drops"], 1.0))
        ]

    def _bottlenecks(self) -> list[int]:
        """Return the queues of bottlenecks in the direction in which data cross them."""
        crossed = {name for flow in self.run.flows for name in flow.path}
        return [
            index
            for index, queue in enumerate(self.run.queues)
            if queue.bottleneck and queue.role == "queue" and channel(queue) in crossed
        ]

    def _queues(self, value: Callable[[Columns], Floats], only: int | None = None) -> list[Named]:
        """Return a value of the queues of bottlenecks; a single one's panel is its name."""
        chosen = self._bottlenecks()
        named_lines = []
        for number, index in enumerate(chosen):
            if only is not None and index != only:
                continue
            columns = self.run.queue_columns(index)
            points = TimeSeries(columns["time_ns"] / 1e9, value(columns))
            if len(chosen) == 1:
                return [("", PLAIN, points)]
            name = channel(self.run.queues[index])
            named_lines.append((f"queue of {self.names.get(name, name)}", line(number), points))
        return named_lines

    def _counters(self, written: str, wanted: str) -> list[Named]:
        """Return what a counter has grown by since traffic began, at hosts of the flows.

        A host where it did not grow has no line. Hosts that share a network namespace have one.
        Their looks are others than those of the flows, whose panels may be in the same figure.
        """
        known = self.run.counter_names
        counter = known.named(wanted)
        if counter is None:
            there = [*known.names, *(name.rpartition(":")[2] for name in known.names)]
            raise UsageError(
                f"panel {written}: run {self.run.id} has no counter {wanted} that grew"
                f"{suggest(wanted, there, cutoff=NEAR)}; "
                "`orchestrator export` writes all that it has"
            )
        ends = [host for flow in self.flows for host in _ends_of(self.run, flow)]
        places = dict.fromkeys(known.place_of[host] for host in ends if host in known.place_of)
        grown = [
            (", ".join(self.names.get(host, host) for host in known.hosts[place]), series)
            for place in places
            if (series := self.run.counter_growth(place, counter)) is not None
        ]
        require_distinct([name for name, _series in grown], by=BY_FLOW)
        first = len(self.flows) if len(self.flows) + len(grown) <= len(LINES) else 0
        return [
            (name, line(first + number), _steps(times_ns / 1e9, values, self.run.duration_s))
            for number, (name, (times_ns, values)) in enumerate(grown)
        ]

    def _estimates(self) -> list[Named]:
        named_lines = []
        for flow in self.flows:
            fields = self.run.flows[flow].congestion_fields
            slot = next((slot for slot, field in enumerate(fields) if field in ESTIMATES), None)
            if slot is not None:
                points = _run.sender(self.run, flow, f"congestion_{slot}")
                bits = points._replace(values=points.values * 8)
                named_lines.append((self._name(flow), self._look(flow), bits))
        return named_lines


def _ends_of(run: StoredRun, flow: int) -> tuple[str, str]:
    return run.flows[flow].source, run.flows[flow].sink


def _steps(times_s: Floats, values: npt.NDArray[np.integer], end_s: float) -> TimeSeries:
    """Return a counter as a line that rises where it was read to have grown, to the run's end."""
    corners_s = np.concatenate(([0.0], np.repeat(times_s, 2), [end_s]))
    return TimeSeries(corners_s, np.repeat(np.concatenate(([0.0], values)), 2))


def _during(columns: Columns, run: StoredRun, flow: int) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = running(columns, run.flows[flow])
    return mask


def _times(values: npt.NDArray[np.generic], factor: float) -> Floats:
    return values.astype(np.float64) * factor
