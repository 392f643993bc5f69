"""Bounds on a run's output and wall time, computed from estimates of what it needs.

The bounds stop a test bed that is hostile or broken. A run that does what its scenario says stays
far below them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from orchestrator.compile.probes import probes
from orchestrator.compile.testbed_spec import readings_ns
from orchestrator.planning.costs import estimate
from orchestrator.planning.runspec import DIGEST_PERIOD_S, PlannedFlow, RunSpec, ticks
from orchestrator.protocol import kept_files
from orchestrator.protocol.links.link import MOST_BUCKETS
from orchestrator.protocol.programs import MOST_PRINTED, PROGRAM
from orchestrator.protocol.reports import trace_records as records
from orchestrator.protocol.reports.counter_facts import DATAGRAMS
from orchestrator.protocol.reports.records import (
    COUNTER_ROW,
    SENDER_STATE_ROW,
    SOJOURN_FIELDS,
    SOJOURN_ROW,
)
from orchestrator.protocol.sampling_schedule import MOST_READS_PER_S

MIB = 2**20

MOST_ENTRIES = 1000
"""Most files in a bed's output folder; a bed writes ten."""

LEAST_WALL_S = 1800.0
WALL_FACTOR = 20.0
"""A run may take half an hour plus twenty times its estimate by constants.

What earlier runs took is not used: too small a limit ends good runs. An estimate by earlier runs
of a scenario's name may be 25 times below that of the constants, and the factor is 20. A store may
also have runs that others made, and equal commands should have equal limits. A wide limit does no
harm, because the watchdog ends a bed that makes no progress.
"""

LOG_BYTES = 16 * MIB
"""Size of the console, and of the bed's log."""

_FACTOR = 4
_BYTES_PER_SOCKET = 512  # netlink answer about one socket; 450 were measured
_BYTES_OF_SUBFLOW = 128  # what subflow_get_info() of net/mptcp/diag.c adds to it: 108 at most
_BYTES_PER_EDGE = 512  # facts about a subflow and its connection at an edge of a window
_BYTES_PER_QDISC = 32  # qdisc_counters.NamespaceCounters and redirect.Policers
_BYTES_PER_READING = 44
_BYTES_PER_HOST = 2_048  # a reading of all counters of a host; 960 were measured
_BYTES_PER_ROW = 8 * 14  # the longest row of integers: datagrams.bin
_BYTES_PER_TRANSFER = 32
_BYTES_PER_PACKET = 96  # one packet of a probe, as JSON
_BYTES_PER_NODE_OR_LINK = 16_384  # facts about one host or link
_BYTES_PER_CHANGE = 1_024  # facts about one change of a netem's settings
_BYTES_PER_RANGE = 64  # of a list of packets to lose, as hexadecimal digits in two facts
_BYTES_PER_FAILURE = 64  # of a connection that failed
_LEAST_RTT_S = 1e-3
"""Assumed RTT where the real one is unknown or shorter."""
_MOST_OPEN_S = 10.0
"""Mean time for which a connection of a many-connection flow is open."""
_QDISCS_PER_CHANNEL = 4  # link, queue, netem, policer

_BASE_BYTES = {
    "tcp.bin": 64 * MIB,
    "senders.bin": MIB,
    "queue.bin": 16 * MIB,
    "readings.bin": 16 * MIB,
    "sojourn.bin": MIB,
    "counters.bin": MIB,
    "transfers.bin": 16 * MIB,
    "datagrams.bin": 16 * MIB,
    "facts.jsonl": 16 * MIB,
    "bed.log": LOG_BYTES,
    "failure": MIB,
    "progress": MIB,
}

_BYTES_PER_PROGRAM = 2 * 2 * 6 * MOST_PRINTED
"""A flow has two programs with two streams each, and JSON may write a character in six."""

_BYTES_PER_KEPT = (kept_files.MOST_FILES + kept_files.MOST_LEFT_OUT + 1) * (
    6 * kept_files.MOST_NAME_BYTES + 100
)
"""What is listed of a program's files."""


@dataclass(frozen=True)
class Bounds:
    """The bounds of one run; ``of`` computes them from the run.

    Attributes:
        wall_s: wall time from the start of the bed to its end.
        file_bytes: size of each file that the controller reads, by its name in the output folder.
        console_bytes: size of the console, which lies beside that folder.
        entries: number of files in the output folder.
    """

    wall_s: float = LEAST_WALL_S
    file_bytes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType(_BASE_BYTES))
    console_bytes: int = LOG_BYTES
    entries: int = MOST_ENTRIES

    @property
    def total_bytes(self) -> int:
        """Size of all files in the output folder together."""
        return sum(self.file_bytes.values())


def of(run: RunSpec, timeout_s: float | None = None, real_time: bool = False) -> Bounds:
    """Return the bounds of a run.

    Args:
        run: the run.
        timeout_s: wall time that the user set; None derives it from the estimate.
        real_time: whether a second of traffic takes a second of wall time.
    """
    if timeout_s is None:
        # A control may send on at losses.
        expected_s = max(
            estimate.costs(run, losses=False).total_s, run.duration_s if real_time else 0.0
        )
        timeout_s = LEAST_WALL_S + WALL_FACTOR * expected_s
    expected = {
        "tcp.bin": _tcp_bytes(run),
        "senders.bin": _sender_bytes(run),
        "queue.bin": _queue_bytes(run),
        "readings.bin": _reading_bytes(run),
        "sojourn.bin": _sojourn_bytes(run),
        "counters.bin": _counter_bytes(run),
        "transfers.bin": _BYTES_PER_TRANSFER * _connections(run),
        "datagrams.bin": _datagram_bytes(run),
        "facts.jsonl": _facts_bytes(run),
    }
    traced = {} if run.capture is None else {records.FILE: run.capture.limit_bytes}
    kept = {}
    if any("keep" in flow.traffic_parameters for flow in run.flows):
        kept = {kept_files.FILE: kept_files.MOST_RUN_BYTES}
    caps = {name: base + _FACTOR * expected.get(name, 0) for name, base in _BASE_BYTES.items()}
    return Bounds(timeout_s, MappingProxyType({**caps, **traced, **kept}))


def _samples(run: RunSpec, period_s: float) -> int:
    """Return the number of sampling times: by the period, for the digest and at windows' edges."""
    seldom = ticks(run.duration_s, DIGEST_PERIOD_S)
    return ticks(run.duration_s, period_s) + seldom + 2 * len(run.windows) + 3


def _tcp_bytes(run: RunSpec) -> int:
    flows = [flow for flow in run.flows if flow.transport == "tcp"]
    answers = 2 * len(flows) * _samples(run, run.sample_tcp_s) + 2 * _connections(run)
    for flow in flows:
        if flow.connections == "many":  # samples of both ends, one per second
            per_s = _begun(flow, run.duration_s) / run.duration_s  # already a doubled estimate
            open_s = min(run.duration_s / 2, _MOST_OPEN_S)
            answers += int(per_s * open_s * run.duration_s)
    of_subflows = 2 * _subflows(run) * _samples(run, run.sample_tcp_s)
    return _BYTES_PER_SOCKET * answers + _BYTES_OF_SUBFLOW * of_subflows


def _subflows(run: RunSpec) -> int:
    return sum(flow.subflow is not None for flow in run.flows)


def _sender_bytes(run: RunSpec) -> int:
    """Return the bytes of the states of senders, if each reading finds another state."""
    if run.grid_ns is None:
        return 0
    flows = sum(flow.transport == "tcp" and flow.connections != "many" for flow in run.flows)
    return SENDER_STATE_ROW.size * flows * _samples(run, run.grid_ns / 1e9)


def _connections(run: RunSpec) -> int:
    """Return how many connections or exchanges all flows begin."""
    return sum(_begun(flow, run.duration_s) for flow in run.flows if flow.transport != "udp")


def _begun(flow: PlannedFlow, duration_s: float) -> int:
    """Return how many connections or exchanges a flow begins, by its rate or at one per RTT."""
    parameters = flow.traffic_parameters
    if flow.traffic == "bulk":
        return 1
    if "times_ns" in parameters:
        return 2 * len(parameters["times_ns"]) + 100
    if "interval_ns" in parameters:
        return int(2 * duration_s * 1e9 / parameters["interval_ns"]) + 100
    if "every_ns" in parameters:
        return int(2 * duration_s * 1e9 / parameters["every_ns"]) + 100
    if parameters.get("arrivals_per_s") is not None:
        objects_per_session = _mean(parameters.get("pages")) * _mean(parameters.get("objects"))
        return (
            int(2 * parameters["arrivals_per_s"] * duration_s * max(objects_per_session, 1.0)) + 100
        )
    period_s = max(flow.base_rtt_s, _LEAST_RTT_S)
    if isinstance(parameters.get("on"), Mapping):
        period_s = max(period_s, (_mean(parameters["on"]) + _mean(parameters["off"])) / 1e9)
    return int(2 * duration_s / period_s) + 100


def _mean(sizes: object) -> float:
    """Return the mean of a distribution; 1 without a distribution."""
    return float(sizes["mean"]) if isinstance(sizes, Mapping) else 1.0


def _queue_bytes(run: RunSpec) -> int:
    channels = [one for link in run.network.links for one in (link.forward, link.reverse)]
    words: int = sum(
        len(statistic.words)
        for channel in channels
        if channel.queue is not None
        for statistic in channel.queue.qdisc.statistics
    )
    row = 8 + _BYTES_PER_QDISC * _QDISCS_PER_CHANNEL * len(channels) + 4 * words
    return row * _samples(run, run.sample_queue_s)


def _reading_bytes(run: RunSpec) -> int:
    each_s = readings_ns(run.network) / 1e9
    regular = 2 * 2 * len(run.network.links) * (ticks(run.duration_s, each_s) + 1)
    return _BYTES_PER_READING * (regular + int(MOST_READS_PER_S * (run.duration_s + 1)))


def _sojourn_bytes(run: RunSpec) -> int:
    edges = 2 * len(run.windows) + 3
    queues = 2 * len(run.network.links)
    return SOJOURN_ROW.size * (MOST_BUCKETS + len(SOJOURN_FIELDS)) * queues * edges


def _counter_bytes(run: RunSpec) -> int:
    edges = 2 * len(run.windows) + 3
    readings = len(run.network.hosts) * edges + run.counter_readings
    programs = sum(flow.engine == PROGRAM for flow in run.flows)
    # Of each flow of programs both of its hosts are read.
    seldom_s = run.duration_s + 1
    datagrams = 2 * programs * (edges + ticks(run.duration_s, run.sample_counters_s or seldom_s))
    return _BYTES_PER_HOST * readings + COUNTER_ROW.size * len(DATAGRAMS) * datagrams


def _datagram_bytes(run: RunSpec) -> int:
    flows = sum(flow.transport == "udp" for flow in run.flows)
    return _BYTES_PER_ROW * flows * _samples(run, run.sample_tcp_s)


def _facts_bytes(run: RunSpec) -> int:
    planned = probes(run)
    packets: int = sum(
        one["packets"] * one["rounds"] for one in (*planned["bursts"], *planned["policers"])
    )
    channels = [one for link in run.network.links for one in (link.forward, link.reverse)]
    models = [model for one in channels for model in (one.loss, one.jitter) if model is not None]
    changes = len(run.events) + run.duration_s * sum(model.states_per_s for model in models)
    ranges = sum(len(chosen.ranges) for one in channels for chosen in one.chosen)
    described = len(run.network.hosts) + len(run.network.links) + len(run.flows)
    failures = _BYTES_PER_FAILURE * _connections(run)
    in_lab = 0 if run.lab is None else 2 * _BYTES_PER_PACKET * _connections(run)
    printed = _BYTES_PER_PROGRAM * sum(flow.engine == PROGRAM for flow in run.flows)
    printed += _BYTES_PER_KEPT * sum(
        len(flow.traffic_parameters.get("keep", ())) for flow in run.flows
    )
    return (
        _BYTES_PER_PACKET * packets
        + printed
        + _BYTES_PER_NODE_OR_LINK * described
        + _BYTES_PER_CHANGE * int(changes)
        + _BYTES_PER_RANGE * ranges
        + failures
        + in_lab
        + _BYTES_PER_EDGE * _subflows(run) * (2 * len(run.windows) + 3)
    )
