"""Computes what Ideal TCP needs while traffic runs: available bandwidth and round-trip time.

Source: A. Capone, L. Fratta, F. Martignon, "Bandwidth Estimation Schemes for TCP over Wireless
Networks", IEEE Transactions on Mobile Computing 3 (2004), section 4.5. There the bandwidth is the
link's rate minus the rate of UDP sources, divided by the number of TCP connections. Here, at any
time:

- The rate left on a channel is its rate minus that of every UDP source that sends across it. The
  rate of a channel with a trace is the trace's mean; a channel that is down has none. The sources'
  random periods are drawn here as in the test bed. Poisson traffic counts with its mean rate.
- The active TCP flows share the rest max-min fairly over all channels of their paths (D.
  Bertsekas, R. Gallager, Data Networks, section 6.5.2). ACKs are neglected.
- On-off traffic and the turns of a campaign are active as their schedule says, drawn here as in the
  test bed. A period that ends by bytes counts to its end.
- Every other flow is active from its start to its stop, also while it waits between transfers or
  after it has sent all its bytes. A many-connection flow counts as one flow.
- A flow's bandwidth counts TCP payload in full segments: 1448 of every 1514 bytes unless its
  options differ. The reason is that Ideal TCP computes its window in segments.
- A flow's round-trip time is the current sum of the delays in both directions.

The settings belong to a host. A host with several such flows gets the least share and the longest
RTT.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.compile.seeds import traffic_seed
from orchestrator.planning.runspec import ChannelState, Pair, PlannedFlow, RunSpec
from orchestrator.protocol.engines import ENGINES
from orchestrator.protocol.links.frames import ETHERNET_BYTES, IPV4_BYTES, UDP_BYTES
from orchestrator.protocol.links.random_quantities import on_periods, periods, poisson_times
from orchestrator.protocol.specification import SysctlStep
from orchestrator.protocol.units import nanoseconds

RATE, RTT = "idealtcp_rate_bps", "idealtcp_rtt_us"
_LEAST_RATE_BPS = _LEAST_RTT_US = 1
"""A setting of 0 means that it is not given."""


@dataclass(frozen=True)
class _Edge:
    """A UDP source or TCP flow begins or stops sending."""

    time_ns: int
    flow: int
    begins: bool


def ideal_steps(run: RunSpec) -> Iterator[SysctlStep]:
    """Yield the steps that set what the scenario does not give for hosts of Ideal TCP flows."""
    missing = {number: _missing_settings(run, flow) for number, flow in enumerate(run.flows)}
    missing = {number: names for number, names in missing.items() if names}
    if not missing:
        return
    edges: dict[int, list[_Edge]] = {0: []}
    for number in range(len(run.flows)):
        for edge in _edges(run, number):
            edges.setdefault(edge.time_ns, []).append(edge)
    network = _NetworkState(run)
    known: dict[tuple[str, str], int] = {}
    for time_ns in sorted({*edges, *(event.time_ns for event in run.events)}):
        network.advance(time_ns, edges.get(time_ns, ()))
        for setting, value in network.settings(missing).items():
            if known.get(setting) != value:
                known[setting] = value
                host, name = setting
                yield {
                    "time_ns": time_ns,
                    "do": "sysctl",
                    "host": run.network.machine(host),
                    "name": f"net.ipv4.{name}",
                    "value": value,
                }


def _missing_settings(run: RunSpec, flow: PlannedFlow) -> tuple[str, ...]:
    """Return the settings of an Ideal TCP flow that the scenario does not give."""
    if flow.congestion != "idealtcp" or flow.module is not None:
        return ()
    host = run.hosts.get(flow.source)
    given = {*flow.settings, *(name.rpartition(".")[2] for name in (host.sysctls if host else ()))}
    return tuple(name for name in (RATE, RTT) if name not in given)


def _edges(run: RunSpec, number: int) -> Iterator[_Edge]:
    flow = run.flows[number]
    end_ns = nanoseconds(run.duration_s if flow.stop_s is None else flow.stop_s)
    spans: Iterator[tuple[int, int]] = iter([(nanoseconds(flow.start_s), end_ns)])
    if flow.transport == "udp":
        spans = _sending_periods(flow, traffic_seed(run.seed, number), end_ns)
    elif ENGINES[flow.engine].sends_in_periods:
        spans = _on_periods(flow, traffic_seed(run.seed, number), end_ns)
    for begin_ns, stop_ns in spans:
        yield _Edge(begin_ns, number, True)
        yield _Edge(stop_ns, number, False)


def _sending_periods(flow: PlannedFlow, seed: int, end_ns: int) -> Iterator[tuple[int, int]]:
    """Yield (begin, end) in ns of the periods in which a UDP source sends."""
    parameters, time_ns = flow.traffic_parameters, nanoseconds(flow.start_s)
    left_ns: int | None = None
    if "packets" in parameters:  # at their mean rate
        time_ns += parameters["packets"][0][0]
        left_ns = parameters["packets"][-1][0] - parameters["packets"][0][0]
    elif flow.bytes is not None:
        packets = -(-flow.bytes // (parameters["packet_bytes"] - IPV4_BYTES - UDP_BYTES))
        frame_bits = 8 * (parameters["packet_bytes"] + ETHERNET_BYTES)
        left_ns = packets * frame_bits * 10**9 // parameters["rate_bps"]
        if parameters.get("exponential_gaps"):
            times = poisson_times(random.Random(seed), frame_bits * 10**9 / parameters["rate_bps"])
            left_ns = _nth_or_late_ns(times, packets, end_ns)
    for on_ns, off_ns in on_periods(random.Random(seed), parameters):
        on_ns = min(on_ns, end_ns - time_ns)
        on_ns = on_ns if left_ns is None else min(on_ns, left_ns)
        if on_ns > 0:
            yield time_ns, time_ns + on_ns
        left_ns = None if left_ns is None else left_ns - on_ns
        time_ns += on_ns + off_ns
        if time_ns >= end_ns or left_ns == 0:
            return


def _nth_or_late_ns(times: Iterator[int], number: int, late_ns: int) -> int:
    """Return the time with that number, counted from 1, or the first from ``late_ns`` on."""
    return next(t for n, t in enumerate(times, start=1) if n == number or t >= late_ns)


def _on_periods(flow: PlannedFlow, seed: int, end_ns: int) -> Iterator[tuple[int, int]]:
    """Yield (begin, end) in ns of the periods in which an on-off TCP flow sends."""
    start_ns = nanoseconds(flow.start_s)
    for begin_ns, stop_ns in periods(random.Random(seed), flow.traffic_parameters):
        if start_ns + begin_ns >= end_ns:
            return
        yield start_ns + begin_ns, min(start_ns + stop_ns, end_ns)


class _NetworkState:
    """The state of channels, routes and senders at one time."""

    def __init__(self, run: RunSpec) -> None:
        self._run = run
        self._states = {
            f"{link.name}:{name}": ChannelState(channel)
            for link in run.network.links
            for name, channel in (("forward", link.forward), ("reverse", link.reverse))
        }
        self._routes: dict[Pair, tuple[str, ...]] = {}
        for flow in run.flows:
            self._routes[flow.source, flow.sink] = flow.path
            self._routes[flow.sink, flow.source] = flow.ack_path
        self._events = deque(run.events)
        self._sending: set[int] = set()

    def advance(self, time_ns: int, edges: Sequence[_Edge]) -> None:
        """Apply all events and edges up to a time."""
        while self._events and self._events[0].time_ns <= time_ns:
            event = self._events.popleft()
            self._states.update(event.channels)
            self._routes.update(event.routes)
        for edge in sorted(edges, key=lambda edge: edge.begins):
            (self._sending.add if edge.begins else self._sending.discard)(edge.flow)

    def settings(self, missing: Mapping[int, Sequence[str]]) -> dict[tuple[str, str], int]:
        """Return {(host, setting): value} of the missing settings at the current time."""
        shares = max_min(self._left_bps(), self._paths())
        found: dict[tuple[str, str], int] = {}
        for number, names in missing.items():
            flow = self._run.flows[number]
            if number not in shares:
                continue
            values = {
                RATE: max(int(shares[number] * flow.segment.payload_share), _LEAST_RATE_BPS),
                RTT: max(round(self._rtt_s(flow) * 1e6), _LEAST_RTT_US),
            }
            for name in names:
                key, value = (flow.source, name), values[name]
                least = min if name == RATE else max
                found[key] = least(found.get(key, value), value)
        return found

    def _left_bps(self) -> dict[str, float]:
        """Return the rate that UDP leaves on each channel with a rate."""
        left: dict[str, float] = {}
        for name, state in self._states.items():
            if state.channel.rate_bps is not None or not state.up:
                left[name] = (state.channel.rate_bps or 0) * state.up
        for number in self._sending:
            flow = self._run.flows[number]
            if flow.transport == "udp":
                for name in self._routes[flow.source, flow.sink]:
                    if name in left:
                        left[name] = max(left[name] - flow.traffic_parameters["rate_bps"], 0)
        return left

    def _paths(self) -> dict[int, tuple[str, ...]]:
        """Return the channels that each active TCP flow's data cross."""
        flows = self._run.flows
        return {
            number: self._routes[flows[number].source, flows[number].sink]
            for number in sorted(self._sending)
            if flows[number].transport == "tcp"
        }

    def _rtt_s(self, flow: PlannedFlow) -> float:
        there = self._routes[flow.source, flow.sink]
        back = self._routes[flow.sink, flow.source]
        return sum(self._states[name].channel.delay_s for name in (*there, *back))


def max_min(left_bps: Mapping[str, float], paths: Mapping[int, Sequence[str]]) -> dict[int, float]:
    """Return each flow's max-min fair share; flows that cross no limited channel have none.

    The channel with the least rate per flow fixes the share of its flows. These shares are
    subtracted on the flows' other channels, and the rest is shared in the same way.
    """
    left = dict(left_bps)
    crossing = {name: {flow for flow, path in paths.items() if name in path} for name in left}
    shares: dict[int, float] = {}
    while busy := {name: flows - shares.keys() for name, flows in crossing.items()
                   if flows - shares.keys()}:  # fmt: skip
        tightest = min(busy, key=lambda name: left[name] / len(busy[name]))
        share = left[tightest] / len(busy[tightest])
        for flow in busy[tightest]:
            shares[flow] = share
            for name in paths[flow]:
                if name in left:
                    left[name] = max(left[name] - share, 0)
    return shares
