"""Tells whether anything in a planned variant is random, so that its repetitions can differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.network import Channel, Network
from orchestrator.planning.runspec import PlannedEvent, PlannedFlow
from orchestrator.protocol.engines import ENGINES
from orchestrator.scenario import Scenario

_RANDOM_CONTROLS = frozenset({"bbr", "cdg", "libra", "nv"})
"""Congestion controls that draw random numbers in the kernel. Modules of users count as such."""

_EXACT_QUEUES = frozenset({"droptail", "codel"})
"""Queues that draw no random number and have no hash of flows, whose salt is random."""


def is_random(
    scenario: Scenario,
    network: Network,
    flows: Sequence[PlannedFlow],
    events: Sequence[PlannedEvent],
) -> bool:
    """Tell whether two runs of the variant with different seeds may differ in a guest.

    Where that is not known, such as for a module of the user, it may. Values of the network that
    are drawn before the run are the caller's part.
    """
    if scenario.start_jitter or any(flow.start_window_s for flow in flows):
        return True
    if network.live:
        return True
    channels = [channel for link in network.links for channel in (link.forward, link.reverse)]
    channels += [state.channel for event in events for state in event.channels.values()]
    return any(map(_channel, channels)) or any(map(_flow, flows))


def impairs_by_chance(channel: Channel) -> bool:
    """Tell whether netem draws what happens to packets; not for a list of packets, or an outage."""
    loss = channel.loss
    by_chance = loss is not None and loss.chosen is None and loss.loses
    models = (channel.jitter, channel.reordering)
    return bool(
        by_chance
        or any(model is not None for model in models)
        or channel.duplication
        or channel.corruption
    )


def _channel(channel: Channel) -> bool:
    return bool(
        impairs_by_chance(channel)
        or channel.rate_model is not None
        or (channel.queue is not None and channel.queue.kind not in _EXACT_QUEUES)
    )


def _flow(flow: PlannedFlow) -> bool:
    parameters = flow.traffic_parameters
    arrives = parameters.get("arrivals_per_s") is not None or parameters.get("exponential_gaps")
    return bool(
        arrives
        or ENGINES[flow.engine].programs  # a program may draw what it likes
        or flow.module is not None
        or flow.congestion in _RANDOM_CONTROLS
        or any(map(_is_drawn, _quantities(parameters)))
    )


def _quantities(parameters: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Yield the quantities of a flow's traffic; see specification.QuantitySpec."""
    for value in parameters.values():
        for quantity in value if isinstance(value, list) else [value]:
            if isinstance(quantity, Mapping) and "distribution" in quantity:
                yield quantity


def _is_drawn(quantity: Mapping[str, Any]) -> bool:
    return bool(quantity["distribution"] != "fixed")
