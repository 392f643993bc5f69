"""The events of a run and their effects, for its recording."""

from __future__ import annotations

from typing import Any

from orchestrator.compile.netem import channels, rate_seed
from orchestrator.network import Trace
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.links.frames import OPPORTUNITY_BYTES
from orchestrator.protocol.reports.facts import Timeline

TRACE_BIN_MS = 20

Steps = tuple[tuple[float, int], ...]
"""(seconds since the start of traffic, bit/s from then on)."""


def rate_steps(run: RunSpec) -> dict[str, Steps]:
    """Return the rates of each channel whose rate changes, from time 0 on.

    Those of a trace are its means over TRACE_BIN_MS.
    """
    by_channel: dict[str, Steps] = {}
    drawn: dict[str, list[tuple[float, int | None]]] = {}
    for name, channel, number, _direction in channels(run):
        if channel.trace is not None:
            if channel.trace.constant:
                continue
            by_channel[name] = _trace_steps(channel.trace, round(run.duration_s * 1000))
            continue
        drawn[name] = [(0.0, channel.rate_bps)]
        if channel.rate_model is not None:
            seed = rate_seed(run.seed, number)
            drawn[name] += channel.rate_model.rates(seed, run.duration_s)
    for event in run.events:
        for name, state in event.channels.items():
            if name in drawn:
                rate_bps = 0 if state.state == "hold" else state.channel.rate_bps
                drawn[name].append((event.time_ns / 1e9, rate_bps))
    for name, rates in drawn.items():
        steps: dict[float, int] = {}
        last = None
        for time_s, rate_bps in rates:
            if rate_bps is not None and rate_bps != last:
                steps[time_s] = last = rate_bps
        if len(steps) > 1:
            by_channel[name] = tuple(steps.items())
    return by_channel


def _trace_steps(trace: Trace, duration_ms: int) -> Steps:
    frames = [0] * -(-duration_ms // TRACE_BIN_MS)
    for time_ms, number in trace.until(duration_ms):
        # An opportunity sends what has come in the time before it. That at the end sends nothing.
        if time_ms < duration_ms:
            frames[max(time_ms - 1, 0) // TRACE_BIN_MS] += number
    steps: list[tuple[float, int]] = []
    for bin_number, number in enumerate(frames):
        bin_ms = min(TRACE_BIN_MS, duration_ms - bin_number * TRACE_BIN_MS)
        rate_bps = number * OPPORTUNITY_BYTES * 8 * 1000 // bin_ms
        if not steps or steps[-1][1] != rate_bps:
            steps.append((bin_number * TRACE_BIN_MS / 1000, rate_bps))
    return tuple(steps)


def event_provenance(run: RunSpec, timeline: Timeline) -> list[dict[str, Any]]:
    """Return each event with its requested and its actual time in seconds since traffic started.

    An event that changes nothing takes place at its requested time.
    """
    done_ns = dict(timeline["events"])
    return [
        {
            "time_s": event.time_ns / 1e9,
            "applied_s": done_ns.get(number, event.time_ns) / 1e9,
            **event.requested,
        }
        for number, event in enumerate(run.events)
    ]
