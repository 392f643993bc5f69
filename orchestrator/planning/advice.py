"""Warns of values that are valid but probably mistakes; a warning changes nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from orchestrator.kinds.fields import Path
from orchestrator.network import Channel, Hop, Network
from orchestrator.planning.network.standing_queues import standing_queues
from orchestrator.planning.randomness import is_random
from orchestrator.planning.runspec import (
    MOST_GUEST_BYTES,
    PlannedEvent,
    PlannedFlow,
    guest_memory_bytes,
    held_packets,
)
from orchestrator.protocol.units import nanoseconds
from orchestrator.scenario import Scenario
from orchestrator.units import format_rate, format_time

SMALL_BDP = 0.1
SMALL_PACKETS = 4
"""Three duplicate ACKs need three packets behind the lost one (RFC 5681 section 3.2)."""
MOST_WINDOW_BYTES = 2**30
"""The largest window that TCP can advertise (RFC 7323 section 2.3)."""
LARGE_GUEST_BYTES = 4 * 2**30

Advice = tuple[Path, str]
_WHOLE: Path = ("topology",)
"""The path to the values of links that the scenario does not write one by one."""


@dataclass(frozen=True)
class AdviceInput:
    """A planned variant; ``entries`` has the flows of each flow entry of the scenario.

    ``scenario_paths`` has the path to each link's values in the scenario, by the link's name.
    ``drawn`` tells whether values of the network are drawn from the seed.
    """

    scenario: Scenario
    network: Network
    entries: Sequence[Sequence[PlannedFlow]]
    scenario_paths: Mapping[str, Path]
    events: Sequence[PlannedEvent] = ()
    drawn: bool = False

    @property
    def flows(self) -> Iterator[PlannedFlow]:
        """Every flow."""
        return (flow for entry in self.entries for flow in entry)

    @cached_property
    def hops(self) -> dict[str, Hop]:
        """Every channel by its name."""
        return {hop.name: hop for link in self.network.links for hop in link.hops}

    @property
    def bottlenecks(self) -> list[Hop]:
        """The channels of bottlenecks, where drops are expected."""
        return [hop for hop in self.hops.values() if hop.channel.is_bottleneck]

    @cached_property
    def rates_bps(self) -> dict[str, int | None]:
        """The rate of each channel by its name."""
        return {name: hop.channel.rate_bps for name, hop in self.hops.items()}

    def place(self, link: str) -> Path:
        """Return the path to a link's values in the scenario."""
        return self.scenario_paths.get(link, _WHOLE)


def advise(planned: AdviceInput) -> Iterator[Advice]:
    """Yield (path in the scenario, message) for each value that is probably a mistake."""
    crossing: dict[str, list[PlannedFlow]] = {}
    for flow in planned.flows:
        for name in flow.crossed:
            crossing.setdefault(name, []).append(flow)
    yield from _queues(planned, crossing)
    starved = list(_starved(planned, crossing))
    yield from (advice for _bottleneck, advice in starved)
    yield from _unlimited(planned, {bottleneck for bottleneck, _advice in starved})
    yield from _unused(planned)
    yield from _windows(planned)
    yield from _periods(planned)
    yield from _repetitions(planned)
    yield from _late(planned)


def _queues(planned: AdviceInput, crossing: Mapping[str, list[PlannedFlow]]) -> Iterator[Advice]:
    reported: set[tuple[Path, int]] = set()  # one value in the scenario may set several queues
    for hop in planned.bottlenecks:
        flows, packets = crossing.get(hop.name, []), hop.channel.queue_whole_packets
        if not flows or packets is None or (planned.place(hop.link.name), packets) in reported:
            continue
        problem = _small(packets, hop.channel, max(f.propagation_rtt_s for f in flows))
        if problem:
            link_path = planned.place(hop.link.name)
            reported.add((link_path, packets))
            where = (*link_path, "queue", hop.direction, "limit")
            yield where, f"the queue of {hop.name} holds {packets} full-size packets{problem}"


def _small(packets: int, channel: Channel, rtt_s: float) -> str:
    """Return the problem of a queue of that many packets; empty when there is none."""
    rate_bps = channel.rate_bps or 0
    bdp_packets = rate_bps * rtt_s / 8 / channel.frame_bytes
    if packets < SMALL_PACKETS:
        return f": a fast retransmit needs room for {SMALL_PACKETS}"
    if packets < SMALL_BDP * bdp_packets:
        return (
            f", {packets / bdp_packets:.2g} of the bandwidth-delay product of {bdp_packets:.0f} "
            f"(propagation RTT {format_time(rtt_s)}): flows may not fill the link"
        )
    return ""


def _starved(
    planned: AdviceInput, crossing: Mapping[str, list[PlannedFlow]]
) -> Iterator[tuple[str, Advice]]:
    """Yield bottlenecks that are faster than all hosts' links on one side together, by name.

    Of rates that events change, the least of a bottleneck counts and the largest of other links.
    """
    rates_bps = {name: _most_bps(hop.channel) for name, hop in planned.hops.items()}
    for hop in planned.bottlenecks:
        for end, what in ((0, "feed"), (-1, "drain")):
            names = list(dict.fromkeys(flow.path[end] for flow in crossing.get(hop.name, [])))
            known = [rate for rate in (rates_bps[name] for name in names) if rate is not None]
            total_bps, rate_bps = sum(known), _least_bps(hop.channel)
            limited = bool(names) and hop.name not in names and len(known) == len(names)
            if limited and total_bps < rate_bps:
                yield (
                    hop.name,
                    (
                        planned.place(names[0].rpartition(":")[0]),
                        f"the links that {what} {hop.name} have {format_rate(total_bps)} together, "
                        f"less than its {format_rate(rate_bps)}: it is not the bottleneck",
                    ),
                )


def _most_bps(channel: Channel) -> int | None:
    rate_bps = channel.rate_bps
    return None if rate_bps is None else max((rate_bps, *channel.later_rates))


def _least_bps(channel: Channel) -> int:
    return min((channel.rate_bps or 0, *channel.later_rates))


def _unlimited(planned: AdviceInput, starved: Collection[str]) -> Iterator[Advice]:
    """Yield links in front of which packets wait without a limit.

    Those of flows to ``starved`` bottlenecks are left out, because they have been reported.
    """
    flows = list(planned.flows)
    duration_s = planned.scenario.duration
    reported: set[Path] = set()
    for standing in standing_queues(planned.hops, flows, planned.events, duration_s):
        link_path = planned.place(standing.link.rpartition(":")[0])
        if link_path in reported or standing.bottleneck in starved:
            continue
        reported.add(link_path)
        rate = format_rate(standing.rate_bps)
        faster = ""
        if standing.bottleneck is not None and standing.bottleneck_bps is not None:
            behind = format_rate(standing.bottleneck_bps)
            faster = f", which is no faster than {standing.bottleneck} ({behind})"
        yield (
            link_path,
            f"the packets of flow {standing.flow.name} wait in front of {standing.link} "
            f"({rate}){faster}: the queue there has no limit, so no loss ends its "
            "growth; give the link a higher rate, or a `queue` if it is the bottleneck",
        )


def _unused(planned: AdviceInput) -> Iterator[Advice]:
    network = planned.network
    used = {flow.group for flow in planned.flows}
    ends = {host for flow in planned.flows for host in (flow.source, flow.sink)}
    idle_hosts = {*network.hosts_of_groups} - ends
    for number, group in enumerate(network.groups):
        if group.name not in used and ends.isdisjoint((*group.sources, *group.sinks)):
            yield ("topology", "groups", number), f"no flow uses group {group.name}"
    crossed = {name for flow in planned.flows for name in (*flow.crossed, *flow.ack_crossed)}
    pairs = {pair for flow in planned.flows for pair in _pairs(flow)}
    for event in planned.events:
        for pair, path in event.routes.items():
            crossed |= set(path) if pair in pairs else set()
    for link in network.links:
        if planned.place(link.name) == _WHOLE:
            continue  # a link of a graph file, which has the links that there are
        if not {f"{link.name}:forward", f"{link.name}:reverse"} & crossed and not (
            idle_hosts & {link.a, link.b}
        ):
            yield planned.place(link.name), f"no flow crosses link {link.name}"


def _pairs(flow: PlannedFlow) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the pairs of hosts between which the flow's data and its ACKs go."""
    return (flow.source, flow.sink), (flow.sink, flow.source)


def _windows(planned: AdviceInput) -> Iterator[Advice]:
    for number, entry in enumerate(planned.entries):
        for flow in entry:
            if flow.transport != "tcp":
                break
            rates = [rate for name in flow.path if (rate := planned.rates_bps[name]) is not None]
            window = min(rates, default=0) * flow.propagation_rtt_s / 8
            if window > MOST_WINDOW_BYTES:
                yield (
                    ("flows", number),
                    f"flow {flow.name} needs a window of {window / 2**30:.1f} GiB to fill its "
                    "path; TCP's largest window is 1 GiB (RFC 7323)",
                )
                break
    flows = sum(len(entry) for entry in planned.entries)
    memory_bytes = guest_memory_bytes(planned.network, flows)
    if memory_bytes > LARGE_GUEST_BYTES:
        yield (
            ("topology",),
            f"the guest may need {memory_bytes / 2**30:.1f} GiB of memory for packets in flight "
            "and queued",
        )


def too_large(planned: AdviceInput) -> Iterator[Advice]:
    """Yield (path, message) of the channel that needs most memory when the guest needs too much."""
    flows = sum(len(entry) for entry in planned.entries)
    memory_bytes = guest_memory_bytes(planned.network, flows)
    if memory_bytes <= MOST_GUEST_BYTES:
        return
    held = {name: held_packets(hop.channel) for name, hop in planned.hops.items()}
    name = max(held, key=lambda key: sum(held[key]))
    in_flight, queued = held[name]
    hop = planned.hops[name]
    keys: Path = (
        ("delay", hop.direction) if in_flight > queued else ("queue", hop.direction, "limit")
    )
    yield (
        (*planned.place(hop.link.name), *keys),
        f"{sum(held[name]):.0f} full-size packets can be in flight and queued at {name}: the "
        f"guest would need {memory_bytes / 2**30:.0f} GiB of memory, and its limit is "
        f"{MOST_GUEST_BYTES / 2**30:.0f} GiB",
    )


def _periods(planned: AdviceInput) -> Iterator[Advice]:
    """Yield the sampling periods that the scenario gives and that are longer than a round trip."""
    sample = planned.scenario.sample
    if planned.network.live:
        return
    shortest_s = min((flow.base_rtt_s for flow in planned.flows), default=0.0)
    given = [key for key in ("tcp", "queue") if key in sample.model_fields_set]
    periods_s: dict[str, float] = {key: getattr(sample, key) for key in given}
    long = [key for key, period_s in periods_s.items() if period_s > shortest_s]
    if long:
        shown = " and ".join(f"{key} every {format_time(periods_s[key])}" for key in long)
        yield (
            ("sample", long[0]),
            f"samples ({shown}) are further apart than the shortest base RTT of "
            f"{shortest_s * 1e3:.6g}ms: plots are coarse, and metrics of flows are not affected",
        )


def _repetitions(planned: AdviceInput) -> Iterator[Advice]:
    """Yield that repetitions cannot differ, because nothing in the scenario is random."""
    scenario, most = planned.scenario, planned.scenario.repetitions.most
    if most == 1 or planned.drawn:
        return
    if not is_random(scenario, planned.network, list(planned.flows), planned.events):
        yield (
            ("repetitions",),
            f"nothing in this scenario is random, so in a guest its {most} repetitions are the "
            "same run: give `start_jitter` or random traffic, or leave out `repetitions`",
        )


def _late(planned: AdviceInput) -> Iterator[Advice]:
    """Yield the files of transfers or packets some of which come after their flow has ended."""
    for number, entry in enumerate(planned.entries):
        late = total = 0
        for flow in entry:
            packets = flow.traffic_parameters.get("packets", ())
            times_ns: Sequence[int] = flow.traffic_parameters.get("times_ns", ())
            times_ns = times_ns or [time_ns for time_ns, _size_bytes in packets]
            end_s = planned.scenario.duration if flow.stop_s is None else flow.stop_s
            late_ns = nanoseconds(end_s) - nanoseconds(flow.start_s)
            late += sum(time_ns >= late_ns for time_ns in times_ns)
            total += len(times_ns)
        if late:
            what = "packets" if entry[0].transport == "udp" else "transfers"
            yield (
                ("flows", number, "traffic", "file"),
                f"{late} of the {total} {what} would begin after the flow's end: they do not "
                "take place",
            )
