"""The JSON documents of ``run``, ``show`` and ``runs``: a stable contract.

All keys are always there. Unknown values are null, numbers are finite, and names end in SI units.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.recording.model import Check, FlowRecord, QueueRecord
from results import columns, metrics
from results.metrics import METRICS
from results.model import WHOLE, RunRow, Values, WindowMetrics
from results.notes import Remarks
from results.stored import StoredRun

SCHEMA = 1
"""Version of the documents; new keys do not change it."""


def document(runs: Sequence[StoredRun]) -> dict[str, Any]:
    """Return the document of some runs; experiment and scenario are null where they differ."""
    return {
        "schema": SCHEMA,
        "experiment": _common(run.row.experiment for run in runs),
        "scenario": _common(run.row.scenario for run in runs),
        "runs": [run_document(run) for run in runs],
    }


def run_document(run: StoredRun) -> dict[str, Any]:
    """Return one run with its flows, links, windows and checks."""
    by_window = run.metrics()
    return {
        **_row(run.row),
        "fidelity": {
            "verdict": run.row.verdict,
            "checks": [check_document(check) for check in run.checks],
            **_judgements(run),
        },
        "metrics": by_window[WHOLE].run,
        "windows": {
            window.name: {
                "metrics": by_window[window.name].run,
                "flows": _flows(run, by_window[window.name]),
            }
            for window in run.windows
        },
        **_remarks(run.remarks),
        "events": run.provenance.get("events", []),
        "links": _links(run, by_window[WHOLE]),
        "flows": _flows(run, by_window[WHOLE]),
    }


def listed(
    row: RunRow,
    values: Mapping[str, Values],
    flows: Sequence[Mapping[str, Any]] = (),
    remarks: Remarks | None = None,
) -> dict[str, Any]:
    """Return one run of the list: its row, its own metrics by window name, flows, notes, tags."""

    def complete(window: str) -> Values:
        known = values.get(window, {})
        return {name: known.get(name) for name, scope in METRICS if scope == "run"}

    return {
        **_row(row),
        "experiment": row.experiment,
        "scenario": row.scenario,
        "started_utc": row.started_utc,
        "fidelity": {"verdict": row.verdict},
        "metrics": complete(WHOLE),
        "windows": {window.name: {"metrics": complete(window.name)} for window in row.windows},
        "flows": [dict(flow) for flow in flows],
        **_remarks(remarks or Remarks()),
    }


def listed_flow(name: str, entry: str, congestion_control: str | None) -> dict[str, Any]:
    """Return one flow of a run of the list; TypeError when the control cannot be that of one."""
    if not isinstance(congestion_control, str | None):
        raise TypeError(f"congestion_control is {congestion_control!r:.80}")
    return {"name": name, "entry": entry, "congestion_control": congestion_control}


def _remarks(remarks: Remarks) -> dict[str, Any]:
    return {
        "tags": list(remarks.tags),
        "notes": [
            {"number": note.number, "noted_at": note.noted_utc, "text": note.text}
            for note in remarks.notes
        ],
    }


def _judgements(run: StoredRun) -> dict[str, Any]:
    """Return version and time of the latest judgement, and the earlier verdicts, oldest first."""
    each = [
        {
            "verdict": one.verdict,
            "checks_version": one.checks_version,
            "judged_at": one.judged_utc,
        }
        for one in run.judgements
    ]
    latest = each[-1] if each else {"checks_version": None, "judged_at": None}
    return {
        "checks_version": latest["checks_version"],
        "judged_at": latest["judged_at"],
        "earlier": each[:-1],
    }


def check_document(check: Check) -> dict[str, Any]:
    """Return a fidelity check with every key of the contract."""
    fields: dict[str, Any] = json_ready(vars(check))
    return fields


def json_ready(value: Any) -> Any:
    """Return JSON-ready data with null for every number that is not finite."""
    if isinstance(value, Mapping):
        return {str(key): json_ready(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _row(row: RunRow) -> dict[str, Any]:
    shown = {name: getattr(row, name) for name in columns.names(row, columns.SHOWN)}
    fields: dict[str, Any] = json_ready({"id": row.id, **shown})
    return fields


def _flows(run: StoredRun, window: WindowMetrics) -> list[dict[str, Any]]:
    return [
        {**_flow(flow, entry), **values}
        for flow, entry, values in zip(run.flows, run.entries, window.flows, strict=True)
    ]


def _flow(flow: FlowRecord, entry: str) -> dict[str, Any]:
    return {
        "name": flow.name,
        "entry": entry,
        "group": flow.group,
        "source": flow.source,
        "sink": flow.sink,
        "transport": flow.transport,
        "traffic": flow.traffic,
        "engine": flow.engine,
        "congestion_asked": flow.congestion_asked,
        "congestion_control": flow.congestion_control,
        "start_s": flow.start_s,
        "stop_s": flow.stop_s,
        "base_rtt_s": flow.base_rtt_s,
        "base_rtt_measured_s": flow.base_rtt_measured_s,
    }


def _links(run: StoredRun, window: WindowMetrics) -> list[dict[str, Any]]:
    return [
        {
            "name": queue.link,
            "direction": queue.direction,
            "bottleneck": queue.bottleneck,
            "rate_bps": queue.rate_bps,
            **_rates(queue),
            **window.links[name],
        }
        for name, index in metrics.link_indices(run).items()
        for queue in [run.queues[index]]
    ]


def _rates(queue: QueueRecord) -> dict[str, Any]:
    """Return the smallest, largest and last rate of a link, and the number of changes."""
    steps: list[int | None] = [rate_bps for _time, rate_bps in queue.rate_steps]
    rates_bps = steps or [queue.rate_bps]
    known = [rate_bps for rate_bps in rates_bps if rate_bps is not None]
    return {
        "rate_min_bps": min(known, default=None),
        "rate_max_bps": max(known, default=None),
        "rate_end_bps": rates_bps[-1],
        "rate_changes": len(rates_bps) - 1,
    }


def _common(values: Iterable[str]) -> str | None:
    different = set(values)
    return different.pop() if len(different) == 1 else None
