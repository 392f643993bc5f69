"""Makes the JSON documents of ``run``, ``show`` and ``runs`` by the models of the contract.

All keys are always there. Unknown values are null, numbers are finite, and names end in SI units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from orchestrator.recording.model import Check
from results.contract import runs as contract
from results.contract.base import SCHEMA
from results.documents import trace_document
from results.records.model import RunEvent, RunRow, Values
from results.runs import result
from results.runs.model import FlowResult, LinkResult, ListedRun, RunResult
from results.runs.programs import FlowFile, FlowNumber, ProgramEnd
from results.store.parts.judgements import Judgement
from results.store.parts.notes import Remarks
from results.store.store import Store

_FIELDS = tuple(contract.RunFields.model_fields)


def of_ids(store: Store, run_ids: Sequence[str]) -> dict[str, Any]:
    """Return the document of ``run`` and ``show``, the runs in the order given."""
    return document(result.of_ids(store, run_ids))


def document(runs: Sequence[RunResult]) -> dict[str, Any]:
    """Return the document of some runs; experiment and scenario are null where they differ."""
    return contract.Run.model_construct(
        schema_=SCHEMA,
        experiment=common(run.row.experiment for run in runs),
        scenario=common(run.row.scenario for run in runs),
        runs=[whole(run) for run in runs],
    ).document()


def list_document(runs: Sequence[ListedRun]) -> dict[str, Any]:
    """Return the document of a list of runs: of flows only names, no links and no checks."""
    return contract.Runs.model_construct(
        schema_=SCHEMA, runs=[listed(run) for run in runs]
    ).document()


def whole(run: RunResult) -> contract.RunDocument:
    """Return one run with its flows, links, windows and checks."""
    return contract.RunDocument.model_construct(
        **_fields(run.row),
        fidelity=_fidelity(run.row, run.judgements),
        metrics=_metrics(run.metrics),
        windows={
            name: contract.Window.model_construct(
                metrics=_metrics(window.metrics), flows=[flow(one) for one in window.flows]
            )
            for name, window in run.windows.items()
        },
        tags=list(run.remarks.tags),
        notes=_notes(run.remarks),
        events=[_event(event) for event in run.events],
        links=[_link(link) for link in run.links],
        flows=[flow(one) for one in run.flows],
        traces=[trace_document.trace(one.head, one.hosts) for one in run.traces],
        programs=[_program(one) for one in run.programs],
        extracted=[_number(one) for one in run.extracted],
        kept_files=[_file(one) for one in run.kept],
    )


def listed(run: ListedRun) -> contract.ListedRun:
    """Return one run of the list."""
    return contract.ListedRun.model_construct(
        **_fields(run.row),
        experiment=run.row.experiment,
        scenario=run.row.scenario,
        started_utc=run.row.started_utc,
        fidelity=contract.ListedFidelity.model_construct(verdict=run.row.verdict),
        metrics=_metrics(run.metrics),
        windows={
            name: contract.ListedWindow.model_construct(metrics=_metrics(metrics))
            for name, metrics in run.windows.items()
        },
        flows=[
            contract.ListedFlow.model_construct(
                name=one.name, entry=one.entry, congestion_control=one.congestion_control
            )
            for one in run.flows
        ],
        tags=list(run.remarks.tags),
        notes=_notes(run.remarks),
    )


def _program(made: ProgramEnd) -> contract.Program:
    return contract.Program.model_construct(**vars(made))


def _number(made: FlowNumber) -> contract.ExtractedNumber:
    return contract.ExtractedNumber.model_construct(
        flow=made.flow, unit=made.metric.unit, **vars(made.number)
    )


def _file(made: FlowFile) -> contract.KeptFile:
    return contract.KeptFile.model_construct(**vars(made.file) | {"flow": made.flow})


def check(made: Check) -> contract.Check:
    """Return a fidelity check."""
    return contract.Check.model_construct(**vars(made))


def flow(made: FlowResult) -> contract.Flow:
    """Return a flow with its metrics."""
    record = made.record
    return contract.Flow.model_construct(
        name=record.name,
        entry=made.entry,
        group=record.group,
        source=record.source,
        sink=record.sink,
        transport=record.transport,
        traffic=record.traffic,
        engine=record.engine,
        congestion_asked=record.congestion_asked,
        congestion_control=record.congestion_control,
        start_s=record.start_s,
        stop_s=record.stop_s,
        outcome=cast(contract.Outcome, record.outcome),
        ended_s=record.ended_s,
        errno=record.errno,
        begun_s=record.begun_s,
        exit_status=record.exit_status,
        base_rtt_s=record.base_rtt_s,
        base_rtt_measured_s=record.base_rtt_measured_s,
    ).beside(made.metrics)


def _link(link: LinkResult) -> contract.Link:
    rates = link.rates
    assert rates.changes is not None, "only a plan has links without it"
    return contract.Link.model_construct(
        name=link.queue.link,
        direction=link.queue.direction,
        bottleneck=link.queue.bottleneck,
        rate_bps=rates.first_bps,
        rate_min_bps=rates.min_bps,
        rate_max_bps=rates.max_bps,
        rate_end_bps=rates.end_bps,
        rate_changes=rates.changes,
    ).beside(link.metrics)


def _fields(row: RunRow) -> Mapping[str, Any]:
    """Return the fields that every document of a run has; their names are those of the row."""
    return {name: getattr(row, name) for name in _FIELDS}


def _metrics(metrics: Values) -> contract.Metrics:
    return contract.Metrics.model_construct().beside(metrics)


def _notes(remarks: Remarks) -> list[contract.Note]:
    return [
        contract.Note.model_construct(number=note.number, noted_at=note.noted_utc, text=note.text)
        for note in remarks.notes
    ]


def _fidelity(row: RunRow, judgements: Sequence[Judgement]) -> contract.Fidelity:
    """Return the latest judgement, and the earlier verdicts, oldest first."""
    latest = judgements[-1] if judgements else None
    return contract.Fidelity.model_construct(
        verdict=row.verdict,
        checks=[check(one) for one in latest.checks] if latest else [],
        checks_version=latest.checks_version if latest else None,
        judged_at=latest.judged_utc if latest else None,
        earlier=[
            contract.Judgement.model_construct(
                verdict=judgement.verdict,
                checks_version=judgement.checks_version,
                judged_at=judgement.judged_utc,
            )
            for judgement in judgements[:-1]
        ],
    )


def _event(event: RunEvent) -> contract.Event:
    assert event.applied_s is not None, "only a plan has events without it"
    times = contract.Event.model_construct(time_s=event.time_s, applied_s=event.applied_s)
    return times.beside(event.requested)


def common(values: Iterable[str]) -> str | None:
    """Return the value that all have, None where they differ."""
    different = set(values)
    return different.pop() if len(different) == 1 else None
