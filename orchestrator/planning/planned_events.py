"""Plans a scenario's events: decides before the run what each event changes in the network."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from orchestrator.kinds.events import (
    BOTH,
    MAX_EVENT_TIMES,
    EventFault,
)
from orchestrator.kinds.losses.independent import Independent
from orchestrator.network import Channel, Network
from orchestrator.planning.network.network_state import EventInputs, Finding, NetworkState
from orchestrator.planning.runspec import ChannelState, PlannedEvent
from orchestrator.protocol.units import nanoseconds

_IMPAIRMENTS = ("jitter", "reordering", "duplication", "corruption")


def plan_events(inputs: EventInputs) -> tuple[tuple[PlannedEvent, ...], list[Finding]]:
    """Return the planned events, and the faults of impossible ones.

    Events are sorted by time, and at one time by their order in the scenario. A fault is (path in
    the scenario, message).
    """
    duration_ns = nanoseconds(inputs.scenario.duration)
    events = inputs.scenario.events
    times = [event.times_ns(duration_ns) for event in events]
    if sum(map(len, times)) > MAX_EVENT_TIMES:
        most = max(range(len(times)), key=lambda number: len(times[number]))
        message = (
            f"this event takes effect {len(times[most])} times; all events together may take "
            f"effect {MAX_EVENT_TIMES} times at most"
        )
        return (), [(("events", most, "every"), message)]
    network = NetworkState(inputs)
    planned: list[PlannedEvent] = []
    faults: dict[Finding, None] = {}
    order = heapq.merge(
        *(_numbered(event_times, number) for number, event_times in enumerate(times))
    )
    for time_ns, number in order:
        try:
            planned.append(network.plan(time_ns, number, events[number]))
        except EventFault as fault:
            faults[("events", number, *fault.path), str(fault)] = None
    return tuple(planned), list(faults)


def with_events(network: Network, events: Sequence[PlannedEvent]) -> Network:
    """Return the network with the events' changes noted at each channel."""
    known: dict[str, list[ChannelState]] = {}
    for event in events:
        for name, state in event.channels.items():
            known.setdefault(name, []).append(state)
    links = []
    for link in network.links:
        channels = {}
        for direction in BOTH["both"]:
            channel = link.channel(direction)
            states = known.get(f"{link.name}:{direction}", [])
            losses = [state.channel.loss for state in states if state.channel.loss is not None]
            losses = [loss for loss in losses if loss is not channel.loss]
            if any(state.state == "down" for state in states):
                losses.append(Independent.model_construct(probability=1.0))
            channels[direction] = replace(
                channel,
                later_rates=tuple(_later_rates(channel, states)),
                later_losses=tuple(losses),
                later_corruption=max(
                    (channel_state.channel.corruption for channel_state in states), default=0.0
                ),
                delay_changes=channel.delay_trace is not None
                or any(state.channel.delay_s != channel.delay_s for state in states),
                impairment_changes=any(
                    getattr(state.channel, name) != getattr(channel, name)
                    for state in states
                    for name in _IMPAIRMENTS
                ),
            )
        links.append(replace(link, forward=channels["forward"], reverse=channels["reverse"]))
    return replace(network, links=tuple(links)) if events else network


def _later_rates(channel: Channel, states: Sequence[ChannelState]) -> Iterator[int]:
    last = channel.rate_bps
    for state in states:
        if state.channel.rate_bps is not None and state.channel.rate_bps != last:
            last = state.channel.rate_bps
            yield last


def _numbered(times: Iterable[int], number: int) -> Iterator[tuple[int, int]]:
    return ((time_ns, number) for time_ns in times)
