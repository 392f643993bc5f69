"""Builds the test bed's changes while traffic runs: events, and models with their own clocks."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from orchestrator.compile.ideal_tcp import ideal_steps
from orchestrator.compile.link import chosen_settings, link_step
from orchestrator.compile.netem import (
    channel_seed,
    channels,
    impairments,
    netem_step,
    rate_seed,
)
from orchestrator.network import Channel
from orchestrator.planning.runspec import ChannelState, Pair, RunSpec
from orchestrator.protocol.links import link, netem
from orchestrator.protocol.links.qdisc import Setting
from orchestrator.protocol.specification import (
    LinkStep,
    NetemStep,
    PlannedStep,
    QueueStep,
    RouteStep,
    RuleSpec,
    TraceSpec,
)
from orchestrator.protocol.units import nanoseconds

T = TypeVar("T")
Settings = tuple[Setting, ...]

_DOWN = netem.loss_settings(netem.IndependentLoss(1.0))


@dataclass(frozen=True)
class _Change:
    """The state of a channel from the event with that number on."""

    number: int
    time_ns: int
    state: ChannelState


def planned_steps(run: RunSpec) -> list[PlannedStep]:
    """Return the steps that are applied while traffic runs, in the order of time.

    A step of an event has the event's number in "event". Steps at one time are in the order of
    their events. Steps of models' own clocks come after them.
    """
    steps: list[PlannedStep] = [
        *_channel_steps(run), *_route_steps(run), *ideal_steps(run)
    ]  # fmt: skip
    last = len(run.events)
    return sorted(steps, key=lambda step: (step["time_ns"], step.get("event", last)))


def traces(run: RunSpec) -> list[TraceSpec]:
    """Return the traces that channels follow, in the form of the specification."""
    return [
        {
            "channel": name,
            "opportunities": [
                (time_ms, frames)
                for time_ms, frames in channel.trace.until(nanoseconds(run.duration_s) // 10**6)
                if time_ms * 10**6 < nanoseconds(run.duration_s)
            ],
        }
        for name, channel, _number, _direction in channels(run)
        if channel.trace is not None
    ]


def _channel_steps(run: RunSpec) -> Iterator[PlannedStep]:
    changes: dict[str, list[_Change]] = {}
    for number, event in enumerate(run.events):
        for name, state in event.channels.items():
            changes.setdefault(name, []).append(_Change(number, event.time_ns, state))
    for name, channel, number, direction in channels(run):
        states = [_Change(-1, 0, ChannelState(channel)), *changes.get(name, [])]
        # Rate and loss of a rate model come from the same draws, which are those of direction 0.
        drawn = (number, direction if channel.rate_model is None else 0)
        yield from _queue_steps(name, states)
        yield from _hold_steps(name, states)
        yield from _chosen_steps(run, name, states)
        if channel.impaired:
            yield from _netem_steps(run, name, states, drawn)
        else:
            yield from _delay_steps(name, states)
        yield from _delay_trace_steps(run, name, channel)
        if channel.rate_model is not None:
            rates = channel.rate_model.rates(rate_seed(run.seed, number), run.duration_s)
            last = channel.rate_bps
            for time_s, rate_bps in rates:
                if rate_bps == last:  # nothing changes
                    continue
                last = rate_bps
                yield link_step(nanoseconds(time_s), name, link.rate_setting(rate_bps))
        yield from _jitter_steps(run, name, states, (number, direction))


def _queue_steps(name: str, states: Iterable[_Change]) -> Iterator[LinkStep | QueueStep]:
    """Yield the steps of rate and queue; the first state is the channel's at the run's begin."""
    for before, after in itertools.pairwise(states):
        old, new = before.state.channel, after.state.channel
        if new.rate_bps is not None and new.rate_bps != old.rate_bps:
            step = link_step(after.time_ns, name, link.rate_setting(new.rate_bps))
            step["event"] = after.number
            yield step
        if new.queue is not None and new.queue != old.queue:
            yield {
                "time_ns": after.time_ns,
                "event": after.number,
                "do": "queue",
                "channel": name,
                "settings": [setting.document() for setting in new.queue.qdisc.settings],
            }


def _hold_steps(name: str, states: Iterable[_Change]) -> Iterator[LinkStep]:
    """Yield the steps that hold packets in a queue, and let them go; states as above."""
    for before, after in itertools.pairwise(states):
        holds = after.state.state == "hold"
        if holds != (before.state.state == "hold"):
            step = link_step(after.time_ns, name, link.held_setting(holds))
            step["event"] = after.number
            yield step


def _chosen_steps(run: RunSpec, name: str, states: Iterable[_Change]) -> Iterator[LinkStep]:
    """Yield the steps of packets that are lost by their numbers; states as in ``_queue_steps``.

    Packets are counted anew with each list, also with an equal one.
    """
    for before, after in itertools.pairwise(states):
        old, new = before.state.channel.loss, after.state.channel.loss
        lists = [None if model is None else model.chosen for model in (old, new)]
        if new is not old and lists != [None, None]:
            step = link_step(after.time_ns, name, *chosen_settings(lists[1], run.flows))
            step["event"] = after.number
            yield step


def _delay_steps(name: str, states: Iterable[_Change]) -> Iterator[LinkStep]:
    """Yield the steps of the delay of a channel without impairments."""
    for before, after in itertools.pairwise(states):
        delay_s = after.state.channel.delay_s
        if delay_s != before.state.channel.delay_s:
            step = link_step(after.time_ns, name, link.delay_setting(delay_s))
            step["event"] = after.number
            yield step


def _delay_trace_steps(run: RunSpec, name: str, channel: Channel) -> Iterator[LinkStep | NetemStep]:
    """Yield the steps of the delay of a channel that follows a trace."""
    if channel.delay_trace is None:
        return
    for time_ns, delay_s in channel.delay_trace.changes(nanoseconds(run.duration_s)):
        if channel.impaired:
            yield netem_step(time_ns, name, (netem.delay_setting(delay_s),))
        else:
            yield link_step(time_ns, name, link.delay_setting(delay_s))


def _netem_steps(
    run: RunSpec, name: str, states: list[_Change], where: tuple[int, int]
) -> Iterator[NetemStep]:
    """Yield the steps of delay and impairments; states as in ``_queue_steps``."""
    before, loss = states[0].state, _loss(states[0].state)
    delay_changes, tabled = before.channel.delay_changes, _has_table(before)
    previous = impairments(before.channel, delay_changes, tabled)
    ticks = _ticks(run, states, where)
    changes = ((state.time_ns, 0, state) for state in states[1:])
    clock = ((time_ns, 1, settings) for time_ns, settings in ticks)
    merged: Iterator[tuple[int, int, Any]] = heapq.merge(changes, clock, key=lambda item: item[:2])
    for time_ns, is_tick, item in merged:
        if is_tick:
            loss = item
            if before.state != "down":
                yield netem_step(time_ns, name, loss)
            continue
        settings: Settings = ()
        after = item.state
        if after.channel.loss is not before.channel.loss:
            loss = _loss(after)
        down = after.state == "down"
        if down != (before.state == "down") or after.channel.loss is not before.channel.loss:
            settings = _DOWN if down else loss
        if after.channel.delay_s != before.channel.delay_s:
            settings = (*settings, netem.delay_setting(after.channel.delay_s))
        current = impairments(after.channel, delay_changes, tabled)
        changed = (own for own, other in zip(current, previous, strict=True) if own != other)
        settings = (*settings, *itertools.chain(*changed))
        previous, tabled = current, tabled or _has_table(after)
        if settings:
            step = netem_step(time_ns, name, settings)
            step["event"] = item.number
            yield step
        before = after


def _jitter_steps(
    run: RunSpec, name: str, states: list[_Change], where: tuple[int, int]
) -> Iterator[NetemStep]:
    """Yield the steps of correlated jitters' own clocks.

    Each begins with its jitter, and the n-th jitter (from 0) has the seed "jitter:n".
    """
    spans = _spans(states, nanoseconds(run.duration_s), lambda channel: channel.jitter)
    for number, (begin_ns, end_ns, jitter) in enumerate(spans):
        if jitter is not None:
            seed = channel_seed(run.seed, f"jitter:{number}" if number else "jitter", *where)
            for time_s, changed in jitter.changes(seed, (end_ns - begin_ns) / 1e9):
                settings = netem.jitter_settings(changed)
                yield netem_step(begin_ns + nanoseconds(time_s), name, settings)


def _spans(
    states: list[_Change], end_ns: int, model: Callable[[Channel], T]
) -> Iterator[tuple[int, int, T]]:
    """Yield (begin in ns, end in ns, model) of each of the successive models."""
    begins = [states[0]]
    begins += [
        after
        for before, after in itertools.pairwise(states)
        if model(after.state.channel) is not model(before.state.channel)
    ]
    ends_ns = [*(each.time_ns for each in begins[1:]), end_ns]
    for begin, its_end_ns in zip(begins, ends_ns, strict=True):
        yield begin.time_ns, its_end_ns, model(begin.state.channel)


def _has_table(state: ChannelState) -> bool:
    jitter = state.channel.jitter
    return jitter is not None and jitter.impairment().table is not None


def _ticks(
    run: RunSpec, states: list[_Change], where: tuple[int, int]
) -> Iterator[tuple[int, Settings]]:
    """Yield (time in ns, loss from then on) of the models' own clocks.

    Each model's clock begins with it, and its n-th one (from 0) has the seed "states:n".
    """
    spans = _spans(states, nanoseconds(run.duration_s), lambda channel: channel.loss)
    for number, (begin_ns, end_ns, model) in enumerate(spans):
        if model is not None and any(model.state_losses):
            what = f"states:{number}" if number else "states"
            seed = channel_seed(run.seed, what, *where)
            for time_s, chance in model.changes(seed, (end_ns - begin_ns) / 1e9):
                loss = netem.loss_settings(netem.IndependentLoss(chance))
                yield begin_ns + nanoseconds(time_s), loss


def _loss(state: ChannelState) -> Settings:
    loss = state.channel.loss
    return () if loss is None else netem.loss_settings(loss.impairment())


def pair_rules(run: RunSpec) -> list[RuleSpec]:
    """Return the rules for pairs of hosts as the run begins, along the paths of their flows."""
    hops_of = _HopsOfRoutes(run)
    return [
        _rule(switch, pair, link)
        for pair, route in _first_routes(run).items()
        for switch, link in hops_of(route).items()
    ]


def _first_routes(run: RunSpec) -> dict[Pair, tuple[str, ...]]:
    """Return the channels between each two hosts of a flow as the run begins."""
    routes: dict[Pair, tuple[str, ...]] = {}
    for flow in run.flows:
        routes[flow.source, flow.sink] = flow.path
        routes[flow.sink, flow.source] = flow.ack_path
    return routes


class _HopsOfRoutes:
    """Returns, of a route, the link by which packets leave each switch."""

    def __init__(self, run: RunSpec) -> None:
        self._nodes = {link.name: (link.a, link.b) for link in run.network.links}
        self._switches = set(run.network.switches)

    def __call__(self, route: Iterable[str]) -> dict[str, str]:
        steps = {}
        for channel in route:
            link, _, direction = channel.rpartition(":")
            node = self._nodes[link][direction != "forward"]
            if node in self._switches:
                steps[node] = link
        return steps


def _route_steps(run: RunSpec) -> Iterator[RouteStep]:
    """Yield the steps that change routes.

    A rule for two hosts has priority over the rule for the receiver; null removes it. With ECMP
    each pair has rules from the start on.
    """
    hops_of = _HopsOfRoutes(run)
    first = {pair: hops_of(route) for pair, route in _first_routes(run).items()}
    by_pairs = run.network.ecmp_seed is not None
    ruled: dict[Pair, dict[str, str]] = dict(first) if by_pairs else {}
    for number, event in enumerate(run.events):
        rules: list[RuleSpec] = []
        for pair, route in event.routes.items():
            links = hops_of(route)
            links = {} if links == first[pair] and not by_pairs else links
            old = ruled.get(pair, {})
            rules += [_rule(switch, pair, link) for switch, link in links.items()
                      if old.get(switch) != link]  # fmt: skip
            rules += [_rule(switch, pair, None) for switch in old if switch not in links]
            ruled[pair] = links
        if rules:
            yield {"time_ns": event.time_ns, "event": number, "do": "route", "rules": rules}


def _rule(switch: str, pair: Pair, link: str | None) -> RuleSpec:
    source, sink = pair
    return {"switch": switch, "source": source, "sink": sink, "link": link}
