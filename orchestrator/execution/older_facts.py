"""Brings facts that earlier versions stored into the present form, to judge runs again.

Up to link model 1 (protocol/version.py) a channel was a token bucket with the queue, and a netem.
Probe packets were full frames, timed where they left the queue, and echoes were small. Packets are
timed where they leave the link now, and probes have two lengths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.protocol.frames import ECHO_FRAME_BYTES, FRAME_BYTES

_FRAME_BIT_NS = FRAME_BYTES * 8 * 10**9


def in_present_form(facts: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return a run's stored facts in the present form; those that have it are unchanged.

    Values are not checked here: see decode/fact_schema.py. A fact with values of wrong types stays
    as it is.
    """
    facts = list(facts)
    late_ns = max((_whole(fact.get("late_timers_ns")) for fact in facts), default=0)
    return [_in_present_form(fact, late_ns) for fact in facts]


def _in_present_form(fact: Mapping[str, Any], late_ns: int) -> Mapping[str, Any]:
    channels = fact.get("channels")
    if fact.get("fact") == "channels" and isinstance(channels, dict):
        return {**fact, "channels": {name: _channel(one) for name, one in channels.items()}}
    if fact.get("fact") == "burst" and "behind_ns" not in fact:
        # A bucket held a frame, and what its rate sends while a timer is late.
        frames = -(-late_ns * _whole(fact.get("rate_bps")) // _FRAME_BIT_NS)
        return {**fact, "frame_bytes": FRAME_BYTES, "behind_ns": 0, "at_once": 1 + frames}
    if fact.get("fact") == "policer":
        return {"frame_bytes": FRAME_BYTES, **fact}
    if fact.get("fact") in ("round_trip", "round_trip_after"):
        return {"frame_bytes": ECHO_FRAME_BYTES, **fact}
    return fact


def _channel(channel: Any) -> Any:
    if not isinstance(channel, dict) or not {"rate", "queue", "delay"} <= channel.keys():
        return channel
    present = {name: value for name, value in channel.items() if name not in ("rate", "delay")}
    rate = channel["rate"]
    # Where a channel had no token bucket, not even an empty kind was stored.
    link = {"kind": "", **rate} if isinstance(rate, dict) else rate
    return {"link": link, **present, "netem": channel["delay"]}


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
