"""Loss by chance and by number: the drops of channels, compared with the requested models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from orchestrator.fidelity.evidence import ChosenLosses, Evidence, NetemSpan
from orchestrator.intervals import binomial
from orchestrator.network import Channel, LossModel
from orchestrator.protocol.links import chosen, netem
from orchestrator.protocol.links.chosen import ChosenPackets, Ranges
from orchestrator.protocol.links.netem import chance_threshold, threshold_chance
from orchestrator.recording.model import Check

CHANCE = 1e-6
"""A faithful run fails this check with at most this probability, on each side."""
MANY = 16
"""Of more losses than this, all drops together are judged, too: each loss had few packets."""


class _Requested(NamedTuple):
    """The requested losses of a channel: its models, how each begins, and states with a clock."""

    mean: float
    models: list[LossModel]
    begins: list[dict[str, int | str]]
    states: set[int]

    @classmethod
    def of(cls, channel: Channel) -> _Requested:
        """Return those of a channel."""
        models = [model for model in (channel.loss, *channel.later_losses) if model is not None]
        begins = [
            {setting.name: setting.value for setting in netem.loss_settings(model.impairment())}
            for model in models
        ]
        states = {chance_threshold(loss) for model in models for loss in model.state_losses}
        return cls(channel.mean_loss, models, begins, states)


class _ExpectedDrops(NamedTuple):
    """The mean loss of a span, and the least and largest plausible number of drops.

    No number is plausible under a loss that was not requested.
    """

    mean: float
    low: int
    high: int


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each lossy channel in use, and one for all channels without loss.

    A channel that loses packets by their numbers has a check of its own, which is exact.

    If the loss changes during the run, the bed counts packets and drops under each value. Each
    value is judged by itself, because the model does not decide how many packets come under it.
    """
    lossless_drops = lossless_packets = 0
    for number, queue in enumerate(evidence.queues):
        if queue.role != "delay":
            continue
        name = f"{queue.link}:{queue.direction}"
        channel = evidence.channel(name)
        if channel.chosen:
            yield _by_number(name, channel, evidence.chosen.get(name, []))
        samples = evidence.samples(number)
        dropped = evidence.drops(number)
        offered = dropped + (int(samples["packets"][-1] + samples["backlog_packets"][-1]))
        if channel.mean_loss > 0 or (name in evidence.changing and channel.loses):
            yield from _lossy(name, channel, _by_loss(evidence.spans(number)))
        else:
            lossless_drops += dropped
            lossless_packets += offered
    if lossless_packets:
        measured = lossless_drops / lossless_packets
        good = lossless_drops == 0
        detail = f"{lossless_drops} of {lossless_packets} packets on channels without loss"
        yield Check("loss elsewhere", "", 0.0, measured, 0.0, good, detail)


def _by_number(name: str, channel: Channel, lists: list[ChosenLosses]) -> Check:
    """Return the check of the packets that a channel lost by their numbers.

    Of each list, those must be lost that were reached, and no others. A list that was not requested
    fails, and so does a channel without the list with which it should have begun.
    """
    requested = {_identity(packets_to_lose) for packets_to_lose in channel.chosen}
    begun = not channel.begins_with_list or bool(lists)
    expected = lost = packets = chosen_packets = 0
    good = begun
    for losses in lists:
        ranges = chosen.ranges_of(losses.ranges)
        reached = chosen.reached(ranges, losses.packets)
        known = not ranges or (ranges, losses.port > 0, bool(losses.data_only)) in requested
        good = good and known and reached == losses.lost
        expected += reached
        lost += losses.lost
        packets += losses.packets
        chosen_packets += chosen.reached(ranges, chosen.MOST_NUMBER)
    detail = f"{lost} lost of {packets} packets that count"
    if expected < chosen_packets:
        detail += f"; {expected} of the {chosen_packets} chosen packets were reached"
    if not begun:
        detail = "the link had no list"
    return Check(f"loss by number {name}", "packets", expected, lost, 0, good, detail)


def _identity(packets: ChosenPackets) -> tuple[Ranges, bool, bool]:
    """Return what must agree with a list that the test bed reports."""
    return packets.ranges, packets.flow is not None, packets.data_only


def _by_loss(spans: list[NetemSpan]) -> list[NetemSpan]:
    """Return the spans, with those merged that are equal in all that losses depend on."""
    by_settings: dict[str, NetemSpan] = {}
    for span in spans:
        settings = span.of(netem.LOSS_PREFIX) | span.of(netem.DUPLICATION)
        merged = by_settings.setdefault(
            repr(sorted(settings.items())), NetemSpan(settings, 0, 0, 0)
        )
        more = NetemSpan(settings, merged.packets + span.packets, merged.drops + span.drops, 0)
        by_settings[repr(sorted(settings.items()))] = more
    return list(by_settings.values())


def _lossy(name: str, channel: Channel, spans: list[NetemSpan]) -> Iterable[Check]:
    if not spans:
        return
    requested_losses = _Requested.of(channel)
    expected = [_expected(requested_losses, span, CHANCE / len(spans)) for span in spans]
    packets, drops = sum(span.packets for span in spans), sum(span.drops for span in spans)
    means = zip(expected, spans, strict=True)
    requested = sum(drops_range.mean * span.packets for drops_range, span in means) / packets
    low = sum(drops_range.low for drops_range in expected)
    high = sum(drops_range.high for drops_range in expected)
    if len(spans) > MANY:
        # Of independent losses, the sum varies less than with their mean (W. Hoeffding, "On the
        # Distribution of the Number of Successes in Independent Trials", 1956).
        hidden = max(threshold_chance(span.settings.get(netem.DUPLICATION, 0)) for span in spans)
        low = max(low, binomial(packets, requested * (1 - hidden), CHANCE)[0])
        high = min(high, binomial(packets, requested, CHANCE)[1])
    wrong = [
        (drops_range, span)
        for drops_range, span in zip(expected, spans, strict=True)
        if not drops_range.low <= span.drops <= drops_range.high
    ]
    detail = f"{drops} of {packets} packets, expected {low} to {high}"
    if len(spans) > 1:
        detail += f", each of {len(spans)} losses by itself"
    if wrong and len(spans) > 1:
        drops_range, span = wrong[0]
        detail += (
            f"; at {drops_range.mean:.3g}: {span.drops} of {span.packets}, "
            f"expected {drops_range.low} to {drops_range.high}"
        )
    good = not wrong and low <= drops <= high
    tolerance = max(requested - low / packets, high / packets - requested)
    yield Check(f"loss {name}", "", requested, drops / packets, tolerance, good, detail)


def _expected(channel: _Requested, span: NetemSpan, chance: float) -> _ExpectedDrops:
    """Return the plausible drops of a span. netem counts no loss of a packet that it duplicated."""
    hidden = threshold_chance(span.settings.get(netem.DUPLICATION, 0))
    loss = span.of(netem.LOSS_PREFIX)
    number = loss.get(netem.LOSS, 0)
    down = netem.ALWAYS_Q32  # a link that is down loses every packet
    known = loss in channel.begins or number in channel.states or number in (0, down)
    if set(loss) <= {netem.LOSS} and known:  # one state, so not the model's mean
        mean = threshold_chance(number)
        low, _high = binomial(span.packets, mean * (1 - hidden), chance)
        return _ExpectedDrops(mean, low, binomial(span.packets, mean, chance)[1])
    for model, begin in zip(channel.models, channel.begins, strict=True):
        if begin == loss:
            return _ExpectedDrops(model.mean, *model.drops(span.packets, chance, hidden))
    return _ExpectedDrops(channel.mean, span.packets + 1, 0)
