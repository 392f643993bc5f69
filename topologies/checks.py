"""Checks a link's impairments against its delay and the duration of the run."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.kinds.fields import Path
from orchestrator.kinds.losses import MAX_STATES
from orchestrator.network import Channel, Network
from orchestrator.protocol.links.frames import DEFAULT_MTU_BYTES
from orchestrator.protocol.units import NS_PER_S, nanoseconds
from orchestrator.units import format_time
from topologies.links import DIRECTIONS

Finding = tuple[Path, str]


def check(
    network: Network, scenario_paths: dict[str, Path], duration_s: float
) -> Iterator[Finding]:
    """Yield (path in the scenario, message) of links that cannot be emulated.

    ``scenario_paths`` has the path to each link's values, as in ``Layout``.
    """
    states: dict[Path, float] = {}
    for link in network.links:
        where = scenario_paths.get(link.name, ())
        for direction in DIRECTIONS:
            channel = link.channel(direction)
            for key, message in _faults(channel):
                yield (*where, key, direction), message
            loss, jitter, delay = channel.loss, channel.jitter, channel.delay_trace
            for key, per_s in (
                ("loss", 0.0 if loss is None else loss.states_per_s),
                ("jitter", 0.0 if jitter is None else jitter.states_per_s),
                ("delay", 0.0 if delay is None else delay.per_s),
            ):
                if per_s:
                    place = (*where, key, direction)
                    states[place] = states.get(place, 0.0) + per_s * duration_s
    if sum(states.values()) > MAX_STATES:
        worst = max(states, key=lambda place: states[place])
        yield (
            worst,
            f"the links have about {sum(states.values()):.0f} states in "
            f"{format_time(duration_s)}, most of them here ({states[worst]:.0f}); at most "
            f"{MAX_STATES} are allowed: make the states longer, or the run shorter",
        )


def _faults(channel: Channel) -> Iterator[tuple[str, str]]:
    jitter, delay_ns = channel.jitter, nanoseconds(channel.least_delay_s)
    if jitter is not None:
        below_ns = jitter.reach_ns[0]
        if below_ns > delay_ns:
            yield (
                "jitter",
                f"reaches {format_time(below_ns / NS_PER_S)} below the delay of "
                f"{format_time(channel.least_delay_s)}: a packet cannot arrive before it is sent, "
                "so the delay must be at least that",
            )
        loss = channel.loss
        if jitter.states_per_s and loss is not None and loss.netem_resets:
            yield (
                "jitter",
                f"a `correlation` is not supported with {loss.kind} loss: netem resets the loss "
                "to the good state whenever the delay changes",
            )
    loss = channel.loss
    if channel.delay_trace is not None and loss is not None and loss.netem_resets:
        yield (
            "delay",
            f"a trace is not supported with {loss.kind} loss: netem resets the loss to the good "
            "state whenever the delay changes",
        )
    if channel.trace is not None and channel.mtu_bytes > DEFAULT_MTU_BYTES:
        yield (
            "capacity",
            f"an opportunity of a trace is for {DEFAULT_MTU_BYTES} bytes of IP, and the link's "
            f"`mtu` is {channel.mtu_bytes}: at most {DEFAULT_MTU_BYTES}",
        )
    if channel.reordering is not None and not delay_ns:
        yield "reordering", "reordering needs a `delay` above zero"
