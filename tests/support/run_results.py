"""Runs with their metrics that are made up, without a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from orchestrator.recording.model import Check
from results.metrics import of_scope
from results.records.model import RunRow, Values
from results.runs.model import FlowResult, LinkResult, ListedFlow, ListedRun, RunResult
from results.store.parts.judgements import Judgement
from results.store.parts.notes import Remarks
from tests.support import recordings


def check(name: str = "base RTT", ok: bool | None = True) -> Check:
    """A fidelity check."""
    return Check(name, "s", 0.1, 0.1004, 0.001, ok)


def row(**changes: Any) -> RunRow:
    """The row of a run of a minute that ended well."""
    base = RunRow(
        experiment="quickstart",
        scenario="quickstart",
        description="",
        variant={},
        repetition=0,
        seed=1,
        backend="guest",
        duration_s=60.0,
        warmup_s=10.0,
        windows=(),
        scenario_sha256="5a",
        link_model=2,
        digest_version=2,
        digest_depends_on_sampling=False,
        id="20261120-1",
        status="ok",
        error=None,
        kernel="6.12",
        started_utc="2026-11-20T10:00:00.000+00:00",
        finished_utc=None,
        wall_s=2.5,
        simulated_s=60.0,
        digest="d",
        kernel_warnings=0,
        verdict="faithful",
    )
    return replace(base, **changes)


_OF_ROW = set(vars(row())) - {"windows"}


def flow(name: str, congestion: str | None, **changes: Any) -> FlowResult:
    """A flow with its metrics; ``changes`` are of its record."""
    metrics: Values = {
        "goodput_bps": 4_750_000.4, "rtt_mean_s": 0.15432, "rtt_p95_s": None, "rtt_max_s": 0.2,
        "retransmitted_segments": 1234,
    }  # fmt: skip
    record = recordings.flow(name, congestion_control=congestion, **changes)
    return FlowResult(record, name, metrics)


def link(metrics: Values | None = None, **changes: Any) -> LinkResult:
    """A bottleneck with its metrics; ``changes`` are of its queue."""
    usual: Values = {
        "utilisation": 0.953, "drops_packets": 12, "queue_delay_mean_s": 0.05,
        "queue_delay_p95_s": 0.1,
    }  # fmt: skip
    return LinkResult(recordings.queue(**changes), usual | (metrics or {}))


def result(checks: Sequence[Check] | None = None, **changes: Any) -> RunResult:
    """A run of two flows; ``changes`` are of the run, or of its row."""
    of_row = {name: changes.pop(name) for name in set(changes) & _OF_ROW}
    made = row(**of_row)
    checks = [check(), check("loss")] if checks is None else checks
    judged = Judgement(made.verdict or "faithful", list(checks), None, "")
    base = RunResult(
        made,
        {"rtt_mean_s": 0.15, "utilisation": 0.953, "jain_index": 0.99, "loss_ratio": None},
        {},
        [flow("westwood", "westwood"), flow("reno", None)],
        [link(), link({"utilisation": None}, direction="reverse")],
        [],
        [judged],
        Remarks(),
    )
    return replace(base, **changes)


def listed(controls: Sequence[str | None] = ("cubic",), **changes: Any) -> ListedRun:
    """A run in the list with a flow for each control; ``changes`` are of the run, or of its row."""
    of_row = {name: changes.pop(name) for name in set(changes) & _OF_ROW}
    metrics: Values = {one.name: None for one in of_scope("run")}
    metrics |= changes.pop("metrics", {})
    flows = [ListedFlow(f"f[{i}]", "f", control) for i, control in enumerate(controls)]
    base = ListedRun(row(**of_row), metrics, {}, flows, Remarks())
    return replace(base, **changes)
