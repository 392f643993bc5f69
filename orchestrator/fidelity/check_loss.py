"""Random loss: what a lossy channel dropped, against the model of loss that was asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from orchestrator.fidelity.evidence import Evidence
from orchestrator.intervals import binomial
from orchestrator.recording import Check
from orchestrator.units import chance_threshold, threshold_chance
from topologies.model import Channel

CHANCE = 1e-6
"""A faithful run fails this check with at most this probability, on each side."""

Loss = dict[str, int]
"""Settings of a loss as netem has them, by name."""


class _Span(NamedTuple):
    """Packets that netem decided over, and dropped, while it was set to one loss."""

    loss: Loss
    packets: int
    drops: int


class _Judged(NamedTuple):
    """What a span has as a mean and may have dropped; nothing at all under a loss not asked for."""

    mean: float
    low: int
    high: int


_DOWN = 2**32 - 1
"""netem's number for losing everything, which is how a link is down."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each lossy channel in use, and one for all that should lose nothing.

    Where the loss changes in time the bed has counted packets and drops under each of its values,
    and each must have the drops that it is good for: which packets come when is not the model's.
    """
    changing = {
        channel: spans
        for fact in evidence.all("timeline")
        for channel, spans in fact["losses"].items()
    }
    lossless_drops = lossless_packets = 0
    for number, queue in enumerate(evidence.queues):
        if queue.role != "delay":
            continue
        name = f"{queue.link}:{queue.direction}"
        channel = evidence.channel(name)
        samples = evidence.samples(number)
        dropped = int(samples["drops"][-1]) if len(samples) else 0
        offered = dropped + (int(samples["packets"][-1] + samples["backlog_packets"][-1]))
        if name in changing:
            yield from _lossy(name, channel, [_Span(*span) for span in changing[name]])
        elif channel.loss is not None and channel.mean_loss > 0:
            yield from _lossy(name, channel, [_Span(_settings(channel), offered, dropped)])
        else:
            lossless_drops += dropped
            lossless_packets += offered
    if lossless_packets:
        measured = lossless_drops / lossless_packets
        good = lossless_drops == 0
        detail = f"{lossless_drops} of {lossless_packets} packets on channels without loss"
        yield Check("loss elsewhere", "", 0.0, measured, 0.0, good, detail)


def _settings(channel: Channel) -> Loss:
    """Return the channel's loss as the run begins."""
    settings = channel.loss.netem() if channel.loss is not None else ()
    return {setting.name: int(setting.value) for setting in settings}


def _lossy(name: str, channel: Channel, spans: list[_Span]) -> Iterable[Check]:
    spans = [span for span in spans if span.packets]
    if not spans:
        return
    found = [_judged(channel, span, CHANCE / len(spans)) for span in spans]
    packets, drops = sum(span.packets for span in spans), sum(span.drops for span in spans)
    means = zip(found, spans, strict=True)
    asked = sum(one.mean * span.packets for one, span in means) / packets
    low, high = sum(one.low for one in found), sum(one.high for one in found)
    wrong = [
        (one, span)
        for one, span in zip(found, spans, strict=True)
        if not one.low <= span.drops <= one.high
    ]
    detail = f"{drops} of {packets} packets, expected {low} to {high}"
    if len(spans) > 1:
        detail += f", each of {len(spans)} losses by itself"
    if wrong and len(spans) > 1:
        one, span = wrong[0]
        detail += (
            f"; at {one.mean:.3g}: {span.drops} of {span.packets}, expected {one.low} to {one.high}"
        )
    tolerance = max(asked - low / packets, high / packets - asked)
    yield Check(f"loss {name}", "", asked, drops / packets, tolerance, not wrong, detail)


def _judged(channel: Channel, span: _Span, chance: float) -> _Judged:
    """Return what a span may have dropped. netem counts no loss of a packet it had duplicated."""
    hidden = channel.duplication
    models = [model for model in (channel.loss, *channel.later_losses) if model is not None]
    begins = [{setting.name: setting.value for setting in model.netem()} for model in models]
    states = {chance_threshold(loss) for model in models for loss in model.state_losses}
    number = span.loss.get("loss_q32", 0)
    known = span.loss in begins or number in {*states, 0, _DOWN}
    if set(span.loss) <= {"loss_q32"} and known:  # of that state alone, whatever the model's mean
        mean = threshold_chance(number)
        low, _high = binomial(span.packets, mean * (1 - hidden), chance)
        return _Judged(mean, low, binomial(span.packets, mean, chance)[1])
    for model, begin in zip(models, begins, strict=True):
        if begin == span.loss:
            return _Judged(model.mean, *model.drops(span.packets, chance, hidden))
    return _Judged(channel.mean_loss, span.packets + 1, 0)
