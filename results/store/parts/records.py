"""Makes records of a run from the fields of their stored rows.

Raises what ``results.records.typed.DECODING_ERRORS`` names where a value cannot have been stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.recording.model import Check, FlowRecord, QueueRecord
from results.records import typed
from results.records.model import RunEvent


def flow(row: Mapping[str, Any]) -> FlowRecord:
    """Return a flow."""
    slots = json.loads(row["congestion_fields"])
    decoded = {
        "path": tuple(json.loads(row["path"])),
        "congestion_fields": tuple((name, unit) for name, unit in slots),
        "failed_s": tuple(json.loads(row["failed_s"])),
    }
    return typed.make(FlowRecord, {**row, **decoded})


def queue(row: Mapping[str, Any]) -> QueueRecord:
    """Return a qdisc or a policer."""
    decoded = {
        "bottleneck": bool(row["bottleneck"]),
        "statistics": tuple((name, unit) for name, unit in json.loads(row["statistics"])),
        "rate_steps": tuple((at, rate) for at, rate in json.loads(row["rate_steps"])),
    }
    return typed.make(QueueRecord, {**row, **decoded})


def check(row: Mapping[str, Any]) -> Check:
    """Return a check of the run's first judgement."""
    return typed.make(Check, {**row, "ok": None if row["ok"] is None else bool(row["ok"])})


def event(stored: Mapping[str, Any]) -> RunEvent:
    """Return an event of the scenario, as the provenance has it."""
    times = {name: stored[name] for name in ("time_s", "applied_s")}
    requested = {name: value for name, value in stored.items() if name not in times}
    return typed.make(RunEvent, {**times, "requested": requested})


def index(item: int | str, names: list[str], what: str) -> int:
    """Return the index of a flow or queue of that name or index; UsageError if there is none."""
    if isinstance(item, int):
        if 0 <= item < len(names):
            return item
    elif item in names:
        return names.index(item)
    raise UsageError(f"the run has no {what} {item}; there are {', '.join(names) or 'none'}")
