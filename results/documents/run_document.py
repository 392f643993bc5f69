"""The JSON documents of ``run``, ``show`` and ``runs``: a stable contract.

All keys are always there. Unknown values are null, numbers are finite, and names end in SI units.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.recording.model import Check, FlowRecord
from results.records import columns
from results.records.model import RunEvent, RunRow
from results.runs import result
from results.runs.model import FlowResult, LinkResult, ListedRun, RunResult
from results.store.parts.judgements import Judgement
from results.store.parts.notes import Remarks
from results.store.store import Store

SCHEMA = 1
"""Version of the documents; new keys do not change it."""


def of_ids(store: Store, run_ids: Sequence[str]) -> dict[str, Any]:
    """Return the document of ``run`` and ``show``, the runs in the order given."""
    return document(result.of_ids(store, run_ids))


def document(runs: Sequence[RunResult]) -> dict[str, Any]:
    """Return the document of some runs; experiment and scenario are null where they differ."""
    return {
        "schema": SCHEMA,
        "experiment": common(run.row.experiment for run in runs),
        "scenario": common(run.row.scenario for run in runs),
        "runs": [run_document(run) for run in runs],
    }


def run_document(run: RunResult) -> dict[str, Any]:
    """Return one run with its flows, links, windows and checks."""
    return {
        **_row(run.row),
        "fidelity": {
            "verdict": run.row.verdict,
            "checks": [check_document(check) for check in run.checks],
            **_judgements(run.judgements),
        },
        "metrics": run.metrics,
        "windows": {
            name: {
                "metrics": window.metrics,
                "flows": [flow_document(flow) for flow in window.flows],
            }
            for name, window in run.windows.items()
        },
        **_remarks(run.remarks),
        "events": [_event(event) for event in run.events],
        "links": [_link(link) for link in run.links],
        "flows": [flow_document(flow) for flow in run.flows],
    }


def list_document(runs: Sequence[ListedRun]) -> dict[str, Any]:
    """Return the document of a list of runs: of flows only names, no links and no checks."""
    return {"schema": SCHEMA, "runs": [listed(run) for run in runs]}


def listed(run: ListedRun) -> dict[str, Any]:
    """Return one run of the list."""
    row = run.row
    return {
        **_row(row),
        "experiment": row.experiment,
        "scenario": row.scenario,
        "started_utc": row.started_utc,
        "fidelity": {"verdict": row.verdict},
        "metrics": run.metrics,
        "windows": {name: {"metrics": metrics} for name, metrics in run.windows.items()},
        "flows": [dict(vars(flow)) for flow in run.flows],
        **_remarks(run.remarks),
    }


def _remarks(remarks: Remarks) -> dict[str, object]:
    return {
        "tags": list(remarks.tags),
        "notes": [
            {"number": note.number, "noted_at": note.noted_utc, "text": note.text}
            for note in remarks.notes
        ],
    }


def _judgements(judgements: Sequence[Judgement]) -> dict[str, object]:
    """Return version and time of the latest judgement, and the earlier verdicts, oldest first."""
    latest = judgements[-1] if judgements else None
    return {
        "checks_version": latest and latest.checks_version,
        "judged_at": latest and latest.judged_utc,
        "earlier": [
            {
                "verdict": judgement.verdict,
                "checks_version": judgement.checks_version,
                "judged_at": judgement.judged_utc,
            }
            for judgement in judgements[:-1]
        ],
    }


def check_document(check: Check) -> dict[str, object]:
    """Return a fidelity check with every key of the contract."""
    fields: dict[str, object] = json_ready(vars(check))
    return fields


def json_ready(value: Any) -> Any:
    """Return JSON-ready data with null for every number that is not finite."""
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _row(row: RunRow) -> dict[str, object]:
    shown = {name: getattr(row, name) for name in columns.names(row, columns.SHOWN)}
    fields: dict[str, object] = json_ready({"id": row.id, **shown})
    return fields


def _event(event: RunEvent) -> dict[str, object]:
    return {"time_s": event.time_s, "applied_s": event.applied_s, **event.requested}


def flow_document(flow: FlowResult) -> dict[str, object]:
    """Return a flow with its metrics."""
    return {**_flow(flow.record, flow.entry), **flow.metrics}


def _flow(flow: FlowRecord, entry: str) -> dict[str, object]:
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
        "outcome": flow.outcome,
        "ended_s": flow.ended_s,
        "errno": flow.errno,
        "base_rtt_s": flow.base_rtt_s,
        "base_rtt_measured_s": flow.base_rtt_measured_s,
    }


def _link(link: LinkResult) -> dict[str, object]:
    rates = link.rates
    return {
        "name": link.queue.link,
        "direction": link.queue.direction,
        "bottleneck": link.queue.bottleneck,
        "rate_bps": rates.first_bps,
        "rate_min_bps": rates.min_bps,
        "rate_max_bps": rates.max_bps,
        "rate_end_bps": rates.end_bps,
        "rate_changes": rates.changes,
        **link.metrics,
    }


def common(values: Iterable[str]) -> str | None:
    """Return the value that all have, None where they differ."""
    different = set(values)
    return different.pop() if len(different) == 1 else None
