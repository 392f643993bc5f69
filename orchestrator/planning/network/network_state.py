"""The state of a network as events change it, and what an event may change."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from orchestrator.kinds.events import (
    BOTH,
    Direction,
    EventFault,
    EventSpec,
    LinkState,
    RouteRequest,
)
from orchestrator.kinds.fields import Path
from orchestrator.kinds.impairments import Jitter, Reordering
from orchestrator.kinds.losses import MAX_STATES, LossSpec
from orchestrator.kinds.queues import QueueFault, QueueSpec
from orchestrator.network import Channel, JitterModel, Link, Network, Queue
from orchestrator.planning.chosen_losses import flow_problem, reroutes
from orchestrator.planning.runspec import ChannelState, Pair, PlannedEvent, PlannedFlow
from orchestrator.protocol.links.chosen import ChosenPackets
from orchestrator.protocol.units import NS_PER_S, nanoseconds
from orchestrator.scenario import Scenario
from orchestrator.scenario.faults import messages
from orchestrator.suggestions import suggest
from orchestrator.units import format_time, shown

LEAST_BETWEEN_REROUTES_NS = 10_000_000
"""Least time between changes of routes.

Open vSwitch's revalidator waits 5 ms between its rounds (udpif_revalidator in
ofproto-dpif-upcall.c). A second change of rules within that time would be late."""
_SHOWN_NAMES = 12

Size = Callable[[str, QueueSpec, Channel], Queue]
"""Returns the queue for (channel's name, specification, channel); ValueError when impossible."""
Finding = tuple[Path, str]


@dataclass(frozen=True)
class EventInputs:
    """The input of the plan of the events.

    ``entries`` has the planned flows of each flow entry of the scenario. ``queues`` has the
    requested queue of each channel. ``size`` turns a requested queue into one that can be built.
    ``seed`` is that of the run.
    """

    scenario: Scenario
    network: Network
    entries: Sequence[Sequence[PlannedFlow]]
    queues: Mapping[str, QueueSpec]
    size: Size
    seed: int


@dataclass
class NetworkState:
    """The network after the events so far; see orchestrator.kinds.events.NetworkState."""

    inputs: EventInputs
    states: dict[str, ChannelState] = field(default_factory=dict)
    queues: dict[str, QueueSpec] = field(default_factory=dict)
    routes: dict[Pair, tuple[str, ...]] = field(default_factory=dict)
    rerouted_ns: int | None = None
    ranges: int = 0
    now_ns: int = 0
    changed: dict[str, ChannelState] = field(default_factory=dict)
    rerouted: dict[Pair, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for link in self.inputs.network.links:
            self.states[f"{link.name}:forward"] = ChannelState(link.forward)
            self.states[f"{link.name}:reverse"] = ChannelState(link.reverse)
        self.queues = dict(self.inputs.queues)
        for flow in _flows(self.inputs.entries):
            self.routes[flow.source, flow.sink] = flow.path
            self.routes[flow.sink, flow.source] = flow.ack_path

    def plan(self, time_ns: int, number: int, event: EventSpec) -> PlannedEvent:
        """Apply an event at a time, and return what it changes; EventFault if it cannot.

        ``number`` is the event's place in the scenario. A drawn value depends on the seed, that
        number, the time and the value's name.
        """

        def draw(name: str) -> float:
            return random.Random(f"{self.inputs.seed}:event:{number}:{time_ns}:{name}").random()

        event = event.drawn(draw)
        self.now_ns, self.changed, self.rerouted = time_ns, {}, {}
        event.apply(self)
        requested = event.model_dump(
            mode="json", by_alias=True, exclude_defaults=True, exclude={"at", "every", "until"}
        )
        return PlannedEvent(time_ns, requested, self.changed, self.rerouted)

    def channels(self, link: str, direction: Direction, path: Path) -> Sequence[str]:
        """Return the names of the channels of a link in that direction, or in both."""
        _require(link, [known.name for known in _inner_first(self.inputs.network)], "link", path)
        return [f"{link}:{way}" for way in BOTH[direction]]

    def set_rate(self, channel: str, rate_bps: int) -> None:
        """Change the rate of a channel."""
        has = self.states[channel].channel
        if has.trace is not None:
            raise EventFault(("rate",), f"the rate of {channel} follows its trace")
        if has.rate_model is not None:
            raise EventFault(("rate",), f"the rate of {channel} follows the model of its topology")
        if has.rate_bps is None:
            raise EventFault(
                ("rate",),
                f"{channel} has no rate: give the link a rate, or change the other direction",
            )
        self._put(channel, rate_bps=rate_bps)

    def set_delay(self, channel: str, delay_s: float) -> None:
        """Change the delay of a channel."""
        has = self.states[channel].channel
        if has.delay_trace is not None:
            raise EventFault(("delay",), f"the delay of {channel} follows its trace")
        _require_reach("delay", channel, has.jitter, delay_s)
        if has.reordering is not None and has.reordering.probability and not delay_s:
            text = f"{channel} reorders packets, which needs a delay above zero"
            raise EventFault(("delay",), text)
        self._put(channel, delay_s=delay_s)

    def set_loss(self, channel: str, loss: LossSpec) -> None:
        """Change how a channel loses packets."""
        has = self.states[channel].channel
        jitter = has.jitter
        if loss.of_file:
            text = "an event cannot begin a trace of losses: give it to the link"
            raise EventFault(("loss",), text)
        if has.delay_trace is not None and loss.netem_resets:
            text = f"{channel} follows a trace of delays, at which netem resets {loss.kind} loss"
            raise EventFault(("loss",), text)
        if jitter is not None and jitter.states_per_s and loss.netem_resets:
            text = f"{loss.kind} loss and correlated jitter exclude each other on {channel}"
            raise EventFault(("loss",), text)
        self._require_few_states("loss", loss.states_per_s)
        if loss.chosen is not None:
            self._require_possible(loss.chosen, channel)
            loss = loss.model_copy()  # another list than before, even if it is an equal one
        self._put(channel, loss=loss)

    def _require_possible(self, chosen: ChosenPackets, channel: str) -> None:
        flows = list(_flows(self.inputs.entries))
        problem = flow_problem(chosen, channel, flows, reroutes(self.inputs.scenario))
        if problem:
            raise EventFault(("loss", "flow"), problem)
        self.ranges += len(chosen.ranges)
        if self.ranges > MAX_STATES:
            text = f"the lists of all events have more than {MAX_STATES} numbers and ranges"
            raise EventFault(("loss", "packets"), text)

    def set_jitter(self, channel: str, jitter: Jitter) -> None:
        """Change the jitter of a channel."""
        has = self.states[channel].channel
        _require_reach("jitter", channel, jitter, has.least_delay_s)
        if jitter.states_per_s and has.loss is not None and has.loss.netem_resets:
            text = f"correlated jitter and {has.loss.kind} loss exclude each other on {channel}"
            raise EventFault(("jitter",), text)
        self._require_few_states("jitter", jitter.states_per_s)
        self._put(channel, jitter=jitter)

    def set_reordering(self, channel: str, reordering: Reordering) -> None:
        """Change how a channel reorders packets."""
        if reordering.probability and not self.states[channel].channel.least_delay_s:
            text = f"{channel} has no delay: reordering needs one"
            raise EventFault(("reordering",), text)
        self._put(channel, reordering=reordering)

    def set_duplication(self, channel: str, probability: float) -> None:
        """Change how likely a packet is duplicated."""
        self._put(channel, duplication=probability)

    def set_corruption(self, channel: str, probability: float) -> None:
        """Change how likely a packet is corrupted."""
        self._put(channel, corruption=probability)

    def _require_few_states(self, key: str, states_per_s: float) -> None:
        states = states_per_s * (self.inputs.scenario.duration - self.now_ns / NS_PER_S)
        if states > MAX_STATES:
            text = f"has about {states:.0f} states until the end; at most {MAX_STATES} are allowed"
            raise EventFault((key,), f"{text}: make the states longer, or the run shorter")

    def set_queue(self, channel: str, values: dict[str, Any]) -> None:
        """Change settings of a queue by the keys of its kind."""
        has = self.states[channel].channel
        old = self.queues.get(channel)
        if old is None or has.queue is None or has.rate_bps is None or not has.is_bottleneck:
            raise EventFault(("queue",), f"{channel} has no queue in the scenario")
        if values.get("kind", old.kind) != old.kind:
            raise EventFault(
                ("queue", "kind"),
                f"the queue of {channel} is {old.kind}: an event changes its parameters, "
                "not its kind",
            )
        given = {**old.model_dump(mode="json", by_alias=True, exclude_none=True), **values}
        try:
            new = type(old).model_validate(given)
            queue = self.inputs.size(channel, new, has)
        except ValidationError as error:
            path, message = messages(error, type(old).keys())[0]
            raise EventFault(("queue", *path), message) from None
        except QueueFault as error:
            raise EventFault(("queue", error.key), str(error)) from None
        except ValueError as error:
            raise EventFault(("queue", "limit"), str(error)) from None
        _require_changeable(channel, has.queue, queue)
        self.queues[channel] = new
        self._put(channel, queue=queue)

    def set_state(self, channel: str, state: LinkState) -> None:
        """Let a channel work, lose everything or keep everything."""
        if state == "hold" and self.states[channel].channel.rate_varies:
            text = f"{channel} follows a trace or a model of its rate, which has its own pauses"
            raise EventFault(("state",), f"{text}: it cannot be put on hold")
        self._put_state(channel, replace(self.states[channel], state=state))

    def reroute(self, request: RouteRequest, path: Path) -> None:
        """Change the paths of the flows that the request names."""
        if self.rerouted_ns is not None and (
            0 < self.now_ns - self.rerouted_ns < LEAST_BETWEEN_REROUTES_NS
        ):
            least = format_time(LEAST_BETWEEN_REROUTES_NS / NS_PER_S)
            raise EventFault(
                path, f"changes of routes must be at the same time or at least {least} apart"
            )
        if self.inputs.network.spray:
            raise EventFault(path, "packets are sprayed (`routing: spray`): flows have no one path")
        network = self._passable(request, path)
        for (source, sink), back in self._pairs(request, path).items():
            via = request.via[::-1] if back else request.via
            route = _route(network, source, sink, via, path)
            self._require_mtu(source, sink, route, path)
            if route != self.routes[source, sink]:
                self.routes[source, sink] = self.rerouted[source, sink] = route
        if self.rerouted:
            self.rerouted_ns = self.now_ns

    def _require_mtu(self, source: str, sink: str, route: tuple[str, ...], path: Path) -> None:
        """Raise EventFault if packets that fit into the old path's MTU do not fit into a route.

        Switches would drop them, and no ICMP error would tell the host.
        """
        mtu = min(self.states[name].channel.mtu_bytes for name in route)
        pair = {source, sink}
        flows = [flow for flow in _flows(self.inputs.entries) if {flow.source, flow.sink} == pair]
        larger = next((flow for flow in flows if flow.mtu_bytes > mtu), None)
        if larger is not None:
            raise EventFault(
                path,
                f"the new path from {source} to {sink} has an MTU of {mtu}, and flow "
                f"{shown(larger.name)} sends packets of {larger.mtu_bytes} bytes: give all its "
                "paths the same smallest MTU",
            )

    def _put(self, channel: str, **values: Any) -> None:
        state = self.states[channel]
        self._put_state(channel, replace(state, channel=replace(state.channel, **values)))

    def _put_state(self, channel: str, state: ChannelState) -> None:
        self.states[channel] = self.changed[channel] = state

    def _passable(self, request: RouteRequest, path: Path) -> Network:
        """Return the network of the links that a route may take, with their current delays."""
        network = self.inputs.network
        names = [link.name for link in _inner_first(network)]
        for index, name in enumerate(request.avoid):
            _require(name, names, "link", (*path, "avoid", index))
        for index, name in enumerate(request.via):
            _require(name, network.switches, "router", (*path, "via", index))
        links = []
        for link in network.links:
            there, back = (self.states[f"{link.name}:{way}"] for way in BOTH["both"])
            if there.up and back.up and link.name not in request.avoid:
                links.append(replace(link, forward=there.channel, reverse=back.channel))
        return replace(network, links=tuple(links))

    def _pairs(self, request: RouteRequest, path: Path) -> dict[Pair, bool]:
        """Return the pairs of hosts whose route changes, and whether each carries only ACKs.

        A switch matches packets by their hosts only, so flows between the same hosts share a route.
        """
        entries = self.inputs.entries
        flows, groups = self.inputs.scenario.flows, request.groups
        for index, name in enumerate(request.flows or ()):
            _require(name, [flow.name for flow in flows], "flow", (*path, "flows", index))
        for index, name in enumerate(groups or ()):
            known = [group.name for group in self.inputs.network.groups]
            _require(name, known, "group", (*path, "groups", index))
        chosen: dict[Pair, bool] = {}
        left: dict[Pair, str] = {}
        for flow, planned in zip(flows, entries, strict=True):
            for flow_of_entry in planned:
                is_requested = (request.flows is None or flow.name in request.flows) and (
                    groups is None or flow_of_entry.group in groups
                )
                directions = (
                    (flow_of_entry.source, flow_of_entry.sink),
                    (flow_of_entry.sink, flow_of_entry.source),
                )
                picked = {"both": directions, "forward": directions[:1], "reverse": directions[1:]}[
                    request.direction
                ]
                for pair in directions:
                    if is_requested and pair in picked:
                        chosen[pair] = chosen.get(pair, True) and pair == directions[1]
                    elif not is_requested:
                        left[pair] = flow.name
        for pair in chosen:
            if pair in left:
                where = "flows" if request.flows is not None else "groups"
                raise EventFault(
                    (*path, where),
                    f"flow {shown(left[pair])} also runs between {pair[0]} and {pair[1]}, and a "
                    "switch matches packets by their hosts: reroute that flow too, or give it "
                    "hosts of its own",
                )
        return chosen


def _flows(entries: Sequence[Sequence[PlannedFlow]]) -> Iterator[PlannedFlow]:
    return (flow for entry in entries for flow in entry)


def _inner_first(network: Network) -> list[Link]:
    """Return the links between switches, then those of hosts.

    An error message lists only the first names, and an event rarely means a host's link.
    """
    hosts = set(network.hosts)
    return sorted(network.links, key=lambda link: bool({link.a, link.b} & hosts))


def _require(name: str, valid: Sequence[str], what: str, path: Path) -> None:
    if name not in valid:
        listed = ", ".join(valid[:_SHOWN_NAMES]) or "none"
        more = f" and {len(valid) - _SHOWN_NAMES} more" if len(valid) > _SHOWN_NAMES else ""
        raise EventFault(
            path, f"there is no {what} {shown(name)}{suggest(name, valid)}; defined: {listed}{more}"
        )


def _require_reach(key: str, channel: str, jitter: JitterModel | None, delay_s: float) -> None:
    """Raise EventFault when packets would arrive before they were sent."""
    if jitter is not None and jitter.reach_ns[0] > nanoseconds(delay_s):
        reach = format_time(jitter.reach_ns[0] / NS_PER_S)
        raise EventFault((key,), f"the jitter of {channel} reaches {reach} below the delay")


def _require_changeable(channel: str, old: Queue, new: Queue) -> None:
    """Raise EventFault when the kernel cannot change the old queue into the new one."""
    if old.qdisc.kind != new.qdisc.kind:
        counts = "packets" if old.limit_packets is not None else "bytes"
        raise EventFault(
            ("queue", "limit"),
            f"the queue of {channel} counts {counts} ({old.qdisc.kind}): an event cannot change "
            "that",
        )
    fixed = {setting.name: setting.value for setting in old.qdisc.settings if setting.once}
    for setting in new.qdisc.settings:
        if setting.name in fixed and fixed[setting.name] != setting.value:
            raise EventFault(
                ("queue",),
                f"{setting.name} of {channel} would become {setting.value}: the kernel takes it "
                f"only when it makes the queue, with {fixed[setting.name]}",
            )
    if {setting.name for setting in old.qdisc.settings} != {
        setting.name for setting in new.qdisc.settings
    }:
        raise EventFault(("queue",), f"{channel}: an event cannot add or remove a parameter")


def _route(
    network: Network, source: str, sink: str, via: Sequence[str], path: Path
) -> tuple[str, ...]:
    """Return the channels from host to host through the routers ``via``."""
    names: list[str] = []
    passed = [source]
    for begin, end in zip((source, *via), (*via, sink), strict=True):
        try:
            hops = network.path(begin, end)
        except LookupError as error:
            raise EventFault(path, f"{error} over links that are up and not avoided") from None
        for hop in hops:
            names.append(hop.name)
            passed.append(hop.link.b if hop.direction == "forward" else hop.link.a)
    twice = next((node for node in passed if passed.count(node) > 1), None)
    if twice is not None:
        raise EventFault(
            (*path, "via"),
            f"the path from {source} to {sink} would pass {twice} twice: {' '.join(passed)}",
        )
    return tuple(names)
