"""Finds flows whose packets wait in front of a link without a limit of its queue.

A link that the scenario gives no queue never drops, however long its queue is. An access link
should therefore be faster than the bottleneck behind it. At equal rates the bottleneck's queue
stays empty, and the packets wait in front of the access link.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from orchestrator.network import Hop
from orchestrator.planning.runspec import PlannedEvent, PlannedFlow
from orchestrator.protocol.engines import ENGINES
from orchestrator.protocol.units import NS_PER_S

_LEAST_S, _LEAST_RTTS = 1.0, 10
"""A time that is shorter than both together is too short for a long queue."""
_MOST_STEPS = 100_000
"""If flows, changes of the network and bottlenecks multiply to more, only the beginning counts.

All flows are then taken as active from the beginning to the end.
"""


@dataclass(frozen=True)
class StandingQueue:
    """A flow, the link without a limit before which its packets wait, and a bottleneck it crosses.

    ``rates_bps`` are those of the two. ``bottleneck`` is None if the flow crosses none.
    """

    flow: PlannedFlow
    link: str
    rate_bps: int
    bottleneck: str | None
    bottleneck_bps: int | None


@dataclass
class _NetworkState:
    """The network between two changes: rates (None: unlimited) and paths of the active flows."""

    rates_bps: dict[str, float]
    paths: dict[int, tuple[str, ...]]


def standing_queues(
    hops: Mapping[str, Hop],
    flows: Sequence[PlannedFlow],
    events: Sequence[PlannedEvent],
    duration_s: float,
) -> list[StandingQueue]:
    """Return the first such flow of each link without a limit, in the order of time.

    Args:
        hops: every channel by its name.
        flows: all flows.
        events: all events.
        duration_s: the run's length.
    """
    by_link: dict[str, StandingQueue] = {}
    limited = {name for name, hop in hops.items() if hop.channel.is_bottleneck}
    varying = {name for name, hop in hops.items() if hop.channel.rate_varies}
    for length_s, state in _states(hops, flows, events, duration_s):
        queueing = {name for name in limited if name in varying or _has_queue(name, state, flows)}
        for number, path in state.paths.items():
            flow = flows[number]
            rated = [name for name in path if name in state.rates_bps]
            short = length_s < _LEAST_S + _LEAST_RTTS * flow.base_rtt_s
            if short or not rated or not _is_greedy(flow) or queueing & set(path):
                continue
            narrowest = min(rated, key=lambda name: state.rates_bps[name])
            if narrowest not in limited and narrowest not in varying and narrowest not in by_link:
                crossed = next((name for name in rated if name in limited), None)
                by_link[narrowest] = StandingQueue(
                    flow,
                    narrowest,
                    int(state.rates_bps[narrowest]),
                    crossed,
                    None if crossed is None else int(state.rates_bps[crossed]),
                )
    return list(by_link.values())


def _is_greedy(flow: PlannedFlow) -> bool:
    """Tell whether nothing but losses and marks limits the flow's window."""
    unlimited = flow.bytes is None and flow.traffic_parameters.get("window_bytes") is None
    return ENGINES[flow.engine].greedy and unlimited


def _states(
    hops: Mapping[str, Hop],
    flows: Sequence[PlannedFlow],
    events: Sequence[PlannedEvent],
    duration_s: float,
) -> Iterator[tuple[float, _NetworkState]]:
    """Yield (length in seconds, state) of the network between changes, in the order of time."""
    rates_bps = {name: hop.channel.rate_bps for name, hop in hops.items()}
    routes = {(flow.source, flow.sink): flow.path for flow in flows}
    times = {0.0, duration_s, *(event.time_ns / NS_PER_S for event in events)}
    for flow in flows:
        times |= {flow.start_s, duration_s if flow.stop_s is None else flow.stop_s}
    edges = sorted(time for time in times if time <= duration_s)
    limited = sum(hop.channel.is_bottleneck for hop in hops.values())
    if len(edges) * len(flows) * max(limited, 1) > _MOST_STEPS:
        everything = dict(enumerate(flow.path for flow in flows))
        yield duration_s, _NetworkState(_known(rates_bps), everything)
        return
    waiting = iter(events)
    event = next(waiting, None)
    for begin_s, end_s in pairwise(edges):
        while event is not None and event.time_ns / NS_PER_S <= begin_s:
            rates_bps |= {
                name: channel_state.channel.rate_bps
                for name, channel_state in event.channels.items()
            }
            routes |= event.routes
            event = next(waiting, None)
        paths = {
            number: routes[flow.source, flow.sink]
            for number, flow in enumerate(flows)
            if flow.start_s <= begin_s and (flow.stop_s is None or flow.stop_s > begin_s)
        }
        yield end_s - begin_s, _NetworkState(_known(rates_bps), paths)


def _known(rates_bps: Mapping[str, int | None]) -> dict[str, float]:
    return {name: rate for name, rate in rates_bps.items() if rate is not None}


def _has_queue(name: str, state: _NetworkState, flows: Sequence[PlannedFlow]) -> bool:
    """Tell whether more can come to a channel than it carries, and all of that can go on."""
    crossing = [(number, path) for number, path in state.paths.items() if name in path]
    rate_bps = state.rates_bps[name]
    drain_bps = _behind(name, [path for _number, path in crossing], state)
    return _arriving(name, crossing, state, flows) > rate_bps and drain_bps >= rate_bps


def _arriving(
    name: str,
    crossing: Iterable[tuple[int, tuple[str, ...]]],
    state: _NetworkState,
    flows: Sequence[PlannedFlow],
) -> float:
    """Return the largest rate in bit/s at which those flows' data can come to a channel."""
    total_bps = 0.0
    before: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    for number, path in crossing:
        rated = [upstream for upstream in path[: path.index(name)] if upstream in state.rates_bps]
        if rated:
            before.setdefault(rated[-1], []).append((number, path))
        else:
            total_bps += flows[number].traffic_parameters.get("rate_bps", math.inf)
    for upstream, members in before.items():
        total_bps += min(state.rates_bps[upstream], _arriving(upstream, members, state, flows))
    return total_bps


def _behind(name: str, paths: Iterable[tuple[str, ...]], state: _NetworkState) -> float:
    """Return the largest rate in bit/s at which those paths carry data on behind a channel."""
    total_bps = 0.0
    behind: dict[str, list[tuple[str, ...]]] = {}
    for path in paths:
        rated = [
            downstream
            for downstream in path[path.index(name) + 1 :]
            if downstream in state.rates_bps
        ]
        if rated:
            behind.setdefault(rated[0], []).append(path)
        else:
            total_bps = math.inf
    for downstream, members in behind.items():
        total_bps += min(state.rates_bps[downstream], _behind(downstream, members, state))
    return total_bps
