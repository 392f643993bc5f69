"""Writes what is known of a run in progress beside the store; see ``results.store.live``.

The samples are what an unfinished test bed has written, which is not to be believed. They are put
into a fixed number of bins. Malformed ones end the live view, never the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from orchestrator import plaintext
from orchestrator.decode.assemble import bottleneck_places
from orchestrator.decode.decode import TcpDecoder
from orchestrator.decode.facts import FILE as FACTS
from orchestrator.decode.facts import facts as read_facts
from orchestrator.decode.output import OutputFile, OutputFolder, believing_nothing
from orchestrator.errors import BedError
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.reports import facts as protocol
from orchestrator.protocol.reports.records import QUEUE_COUNTERS, QUEUE_TIME
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.model import SENDER
from results.store import live

BINS = 300
MOST_FLOWS = 16
MOST_QUEUES = 4
"""Bins of time, flows and queues of the live view. They limit its file to about 150 kB."""

LEAST_S = 0.5
"""Least wall time between two writings."""

WAITS = 100
"""A writing is followed by a pause of this many times its CPU time, so it costs at most 1%."""

_MOST_READ_BYTES = 2**20
"""Bytes of queue.bin that are read at a time; older ones are left out."""

_MOST_FACTS_BYTES = 2**20
_BACKLOG = len(QUEUE_COUNTERS) - 1

Floats = npt.NDArray[np.float64]


class LiveView:
    """What is shown of one run until it ends; ``with`` removes it at the end.

    Args:
        db: the store's file.
        run_id: the run's id.
        spec: the planned run.
        output: the files of its test bed.
        clock: returns the wall time in seconds.
    """

    def __init__(
        self,
        db: Path,
        run_id: str,
        spec: RunSpec,
        output: OutputFolder,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._db, self._run_id, self._clock = db, run_id, clock
        self._duration_s = spec.duration_s
        self._flows = _FlowCurves(spec)
        self._queues = _QueueCurves(spec, output)
        self._problem = ""
        self._phase = ""
        self._traffic_began_s: float | None = None
        self._next_s = 0.0
        self._tcp: TcpDecoder | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        live.remove(self._db, self._run_id)

    def take(self, tcp: TcpDecoder) -> None:
        """Note where the decoded samples of flows are found at the next writing."""
        self._tcp = tcp

    def report(self, phase: str, simulated_s: float, wall_s: float) -> None:
        """Write the progress and the samples so far, if the last writing was long enough ago.

        Args:
            phase: as in ``orchestrator.execution.runner.Progress``.
            simulated_s: seconds of traffic so far.
            wall_s: wall time of the run so far.
        """
        began_s, began_cpu_s = self._clock(), time.thread_time()
        if phase == "traffic" and self._traffic_began_s is None:
            self._traffic_began_s = began_s
        if phase == self._phase and began_s < self._next_s:
            return
        self._phase = phase
        self._read_samples()
        live.write(self._db, self._run_id, self._shown(simulated_s, wall_s, began_s))
        self._next_s = began_s + max(LEAST_S, WAITS * (time.thread_time() - began_cpu_s))

    def _read_samples(self) -> None:
        if self._problem or self._phase != "traffic":
            return
        try:
            with believing_nothing():
                if self._tcp is not None:
                    self._flows.take(self._tcp)
                self._queues.advance()
        except BedError as error:  # assemble() judges the run
            self._problem = plaintext.shortened(plaintext.visible(str(error)), 200)

    def _shown(self, simulated_s: float, wall_s: float, now_s: float) -> live.LiveRun:
        elapsed_s = 0.0 if self._traffic_began_s is None else now_s - self._traffic_began_s
        speed = simulated_s / elapsed_s if elapsed_s > 0 and simulated_s > 0 else None
        bins = 0 if self._problem else min(int(simulated_s / self._duration_s * BINS), BINS)
        return live.LiveRun(
            phase=self._phase,
            simulated_s=round(simulated_s, 3),
            duration_s=self._duration_s,
            wall_s=round(wall_s, 1),
            speed=None if speed is None else round(speed, 2),
            left_s=None if not speed else round((self._duration_s - simulated_s) / speed, 1),
            problem=self._problem,
            time_s=[round((one + 1) * self._duration_s / BINS, 4) for one in range(bins)],
            flows=self._flows.shown(bins),
            queues=self._queues.shown(bins),
        )


class _TimeBins:
    """Assigns times to bins."""

    def __init__(self, duration_s: float) -> None:
        self._duration_ns = nanoseconds(duration_s)

    def place(
        self, time_ns: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
        """Return which times are of the run, and the bin of each of those."""
        valid = (time_ns >= 0) & (time_ns < self._duration_ns)
        return valid, (time_ns[valid] / self._duration_ns * BINS).astype(np.int64)


class _FlowCurves:
    """Congestion window, RTT and received bytes of the first flows with one TCP connection."""

    def __init__(self, spec: RunSpec) -> None:
        numbers = [
            number
            for number, flow in enumerate(spec.flows)
            if flow.transport == "tcp" and flow.connections == "one"
        ][:MOST_FLOWS]
        self._names = [spec.flows[number].name for number in numbers]
        # A live path has a base RTT that no one knows.
        self._base_rtts_s = [
            None if spec.network.live else spec.flows[number].base_rtt_s for number in numbers
        ]
        self._line = np.full(len(spec.flows) + 1, -1, np.int64)
        self._line[numbers] = np.arange(len(numbers))
        self._bins = _TimeBins(spec.duration_s)
        shape = (len(numbers), BINS)
        self._cwnd, self._rtt_us = np.full(shape, np.nan), np.full(shape, np.nan)
        self._received, self._time_s = np.full(shape, np.nan), np.full(shape, np.nan)
        self._seen = 0

    def take(self, tcp: TcpDecoder) -> None:
        """Add what was decoded since the last call; the last sample of a bin counts."""
        parts = tcp.decoded(self._seen)
        self._seen += len(parts)
        for part in parts:
            valid, places = self._bins.place(part["time_ns"])
            rows = part[valid]
            lines = self._line[rows["flow"]]
            for sends in (True, False):
                chosen = (lines >= 0) & ((rows["endpoint"] == SENDER) == sends)
                at = lines[chosen], places[chosen]
                if sends:
                    self._cwnd[at] = rows["snd_cwnd_segments"][chosen]
                    self._rtt_us[at] = rows["rtt_us"][chosen]
                else:
                    self._received[at] = rows["bytes_received"][chosen]
                    self._time_s[at] = rows["time_ns"][chosen] / 1e9

    def shown(self, bins: int) -> list[live.LiveFlow]:
        """Return the curves over the first bins."""
        rtt_ms = np.where(self._rtt_us > 0, self._rtt_us / 1e3, np.nan)  # 0: no sample yet
        return [
            live.LiveFlow(
                name,
                self._base_rtts_s[line],
                cwnd_segments=_numbers(self._cwnd[line, :bins]),
                rtt_ms=_numbers(rtt_ms[line, :bins]),
                goodput_bps=_numbers(
                    np.round(_rates(self._time_s[line, :bins], self._received[line, :bins]))
                ),
            )
            for line, name in enumerate(self._names)
        ]


class _QueueCurves:
    """The largest backlog in each bin of the bottlenecks' queues."""

    def __init__(self, spec: RunSpec, output: OutputFolder) -> None:
        self._spec, self._output = spec, output
        self._places: dict[str, int] = {}
        self._row_bytes = 0
        self._file: OutputFile | None = None
        self._read_bytes = 0
        self._bins = _TimeBins(spec.duration_s)
        self._backlog = np.full((MOST_QUEUES, BINS), np.nan)

    def advance(self) -> None:
        """Add the whole rows that were written since the last call.

        Raises:
            BedError: a file is not what a bed writes.
        """
        if not self._row_bytes and not self._find():
            return
        self._file = self._file or self._output.opened("queue.bin")
        if self._file is None:
            return
        whole = self._file.size() // self._row_bytes * self._row_bytes
        most = max(_MOST_READ_BYTES // self._row_bytes, 1) * self._row_bytes
        self._read_bytes = max(self._read_bytes, whole - most)
        data = self._file.read(self._read_bytes, whole - self._read_bytes)
        rows = len(data) // self._row_bytes
        self._read_bytes += rows * self._row_bytes
        raw = np.frombuffer(data[: rows * self._row_bytes], np.uint8).reshape(rows, self._row_bytes)
        time_ns = raw[:, : QUEUE_TIME.size].copy().view("<i8").reshape(-1)
        valid, bins = self._bins.place(time_ns)
        for line, place in enumerate(self._places.values()):
            start = QUEUE_TIME.size + 4 * (place * len(QUEUE_COUNTERS) + _BACKLOG)
            backlog = raw[valid, start : start + 4].copy().view("<u4").reshape(-1)
            np.fmax.at(self._backlog[line], bins, backlog)

    def _find(self) -> bool:
        """Find out which queues the rows have; False while the bed has not said it."""
        said = self._output.opened(FACTS)
        if said is None or said.size() > _MOST_FACTS_BYTES:
            return False
        facts = read_facts(self._output)
        if not any(protocol.of(facts, protocol.Queues)):
            return False
        places, self._row_bytes = bottleneck_places(self._spec, facts)
        self._places = dict(list(places.items())[:MOST_QUEUES])
        return True

    def shown(self, bins: int) -> list[live.LiveQueue]:
        """Return the curves over the first bins."""
        return [
            live.LiveQueue(name, _numbers(self._backlog[line, :bins]))
            for line, name in enumerate(self._places)
        ]


def _rates(time_s: Floats, received: Floats) -> Floats:
    """Return bits per second between bins that have a sample, as values of the later bin."""
    out = np.full(len(time_s), np.nan)
    known = np.flatnonzero(np.isfinite(received))
    passed = np.diff(time_s[known])
    counted = np.diff(received[known])
    good = (passed > 0) & (counted >= 0)
    out[known[1:][good]] = counted[good] * 8 / passed[good]
    return out


def _numbers(values: Floats) -> list[float | None]:
    rounded = np.round(values, 2)
    return [value if np.isfinite(value) else None for value in rounded.tolist()]
