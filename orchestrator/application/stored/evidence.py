"""Writes the evidence of one run, or of two that differ: what a maintainer of a TCP stack asks for.

The runs are made again to the bit, with samples every 50 ms and a trace of packets and ACKs.
Nothing is stored with them.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from guest import build
from orchestrator.application import stored_plans
from orchestrator.application.events import Listener, notices
from orchestrator.application.making_runs import RunSettings, execute
from orchestrator.application.stored.plot import PlotRequest, figure_of, plot
from orchestrator.errors import RunError, UsageError
from orchestrator.files.atomic_writes import write_folder
from orchestrator.files.temporary import temporary_folder
from orchestrator.planning import captures
from orchestrator.protocol.reports.trace_records import DEFAULT_LIMIT_BYTES
from orchestrator.recording.trace import Capture
from results.comparison.variants import VariantComparison, compare_variants
from results.evidence import mail, texts
from results.evidence.mail import LETTERS, Side
from results.experiment.experiments import experiments
from results.export import export
from results.export.ss import snapshots
from results.store.store import Store
from results.traces.choice import TraceChoice, trace_with
from results.traces.hosts import ends_at

if TYPE_CHECKING:
    from results.store.stored import StoredRun

EVIDENCE = stored_plans.Asker("evidence", "show", takes_backend=False)

PERIOD_S = 0.05
_PERIOD_NS = round(PERIOD_S * 1e9)
SNAP_BYTES = 116
MAIL = "mail.txt"
SET_UP = "set-up.yaml"
"""The scenario of the one run, as JSON, which is YAML, too."""
MOST_LINES = 8
"""The most flows that the figure shows."""


@dataclass(frozen=True)
class EvidenceRequest:
    """The runs, one or two, the folder, and the window of packets and ACKs in nanoseconds.

    Without a window it is the whole run.
    """

    runs: tuple[str, ...]
    folder: Path
    window_ns: tuple[int, int] | None = None
    limit_bytes: int = DEFAULT_LIMIT_BYTES
    force: bool = False


@dataclass(frozen=True)
class Evidence:
    """The folder that was written, and the runs in it by their letters."""

    folder: Path
    runs: dict[str, str]


def evidence(request: EvidenceRequest, settings: RunSettings, listener: Listener) -> Evidence:
    """Make the runs again, and write the folder.

    Raises:
        UsageError: there is no such run, it cannot be made again to the bit, the folder exists
            (unless ``force``), or the packets of the window are more than the limit.
        RunError: a run failed this time, or its digest differs.
        StoreError: the store cannot be read.
    """
    if request.force and request.folder.exists() and not (request.folder / MAIL).exists():
        raise UsageError(f"{request.folder}: it has no {MAIL}, so it is no evidence to replace")
    with Store.open_existing(settings.db, notices(listener)) as store:
        ids = [store.resolve(run) for run in request.runs]
        if len(set(ids)) != len(ids):
            raise UsageError("evidence: name two different runs")
        if len(names := {store.load(run).row.scenario for run in ids}) > 1:
            raise UsageError(
                f"evidence: the runs are of different scenarios ({', '.join(sorted(names))}); name "
                "two runs of one scenario that differ in one thing"
            )
        comparison = _comparison(store, ids) if len(ids) > 1 else None
        verifications = [
            stored_plans.verification([run], store, settings.backend, EVIDENCE) for run in ids
        ]

    def write(draft: Path) -> None:
        with temporary_folder("evidence") as folder:
            made = replace(settings, db=folder / "evidence.db")
            again = {
                run: _made(each, request, made, listener)
                for run, each in zip(ids, verifications, strict=True)
            }
            with Store.open_read_only(made.db) as store:
                _write(draft, store, again, comparison, listener)

    write_folder(request.folder, MAIL, request.force, write)
    return Evidence(request.folder, dict(zip(LETTERS, ids, strict=False)))


def _comparison(store: Store, ids: Sequence[str]) -> VariantComparison | None:
    """Return the comparison of all repetitions of the runs' variants; None without repetitions."""
    rows = []
    for run_id in ids:
        own = store.load(run_id).row
        of_name = experiments(store, own.experiment)
        (mine,) = (one for one in of_name if any(row.id == run_id for row in one.rows))
        rows += [row for row in mine.counting() if dict(row.variant) == dict(own.variant)]
    return compare_variants(store, list({row.id: row for row in rows}.values()))


def _made(
    verification: stored_plans.Verification,
    request: EvidenceRequest,
    settings: RunSettings,
    listener: Listener,
) -> str:
    """Make a run again with samples and a trace; return its id in the other store."""
    (spec,) = verification.plan.runs
    window_ns = request.window_ns or (0, round(spec.duration_s * 1e9))
    capture = Capture(
        *window_ns, frozenset({"packets", "acks"}), request.limit_bytes, SNAP_BYTES, (), ()
    )
    if problem := captures.window_problem(capture, spec.duration_s):
        raise UsageError(f"evidence: {problem}")
    closer = replace(
        spec,
        capture=capture,
        sample_tcp_s=PERIOD_S,
        sample_queue_s=PERIOD_S,
        sample_counters_s=PERIOD_S,
    )
    plan = replace(verification.plan, runs=[closer])
    (run_id,) = execute(plan, settings, listener, again=True, check=verification.require_kernel)
    ((stored_id, digest),) = verification.stored[0].items()
    with Store.open_read_only(settings.db) as store:
        row = store.load(run_id).row
        if row.status != "ok":
            raise RunError(f"run {stored_id} could not be made again: {row.status}: {row.error}")
        if row.digest != digest:
            raise RunError(f"run {stored_id}: the digest differs, so this is not the same run")
        (head,) = store.traces(run_id)
        trace = store.trace(run_id, head.number)
    if problem := captures.limit_problem(trace, "--window", None, "--limit"):
        raise UsageError(f"evidence: {problem}")
    return run_id


def _write(
    folder: Path,
    store: Store,
    made: Mapping[str, str],
    comparison: VariantComparison | None,
    listener: Listener,
) -> None:
    """Write all files; ``made`` has the run that was made again for each stored one."""
    sides = [
        Side(letter, letter if len(made) > 1 else ".", stored, store.load(run_id))
        for letter, (stored, run_id) in zip(LETTERS, made.items(), strict=False)
    ]
    for side in sides:
        _write_run(folder / side.folder, side.run, side.stored)
        flows = [flow.name for flow in side.run.flows]
        keys = {"flow": flows[:MOST_LINES]} if len(flows) > MOST_LINES else {}
        figure = figure_of("time", "svg", keys)
        drawing = plot(PlotRequest(figure, side.run.id), store.path, listener)
        drawing.write(folder / side.folder / "figure.svg")
    files = [str(Path(side.folder) / SET_UP) for side in sides]
    command = shlex.join(["orchestrator", "run", *files])
    lines = mail.draft(sides, comparison, command)
    (folder / MAIL).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _write_run(folder: Path, run: StoredRun, stored: str) -> None:
    """Write the files of a run as it was made again; ``stored`` is the id of the stored one."""
    folder.mkdir(exist_ok=True)
    (folder / "scenario.yaml").write_text(run.head.scenario_text, encoding="utf-8")
    for place, content in run.files.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    resolved = json.dumps(run.head.resolved, indent=1) + "\n"
    (folder / SET_UP).write_text(resolved, encoding="utf-8")
    _write_lines(folder / "intervals.txt", texts.intervals(run))
    (folder / "sysctls.json").write_text(texts.sysctls(run), encoding="utf-8")
    manifest = run.provenance.get("guest_kernel", {})
    (folder / "kernel.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    inputs = build.inputs_without_compiler(manifest)
    for kernel in build.built():
        if inputs is not None and build.inputs_without_compiler(kernel.manifest) == inputs:
            shutil.copy(kernel.linux.parent / "config", folder / "kernel.config")
            break
    head = trace_with(run, None, "acks")
    trace = run.trace(head.number, ("ends", "acks", "events"))
    memory = texts.SocketMemory(run)
    for host in dict.fromkeys(flow.source for flow in run.flows if flow.transport == "tcp"):
        name = host if len({flow.source for flow in run.flows}) > 1 else ""
        ends = ends_at(run, trace, host)
        blocks = snapshots(trace, ends, _PERIOD_NS, memory.at)
        (folder / _named("ss", name, "txt")).write_text("".join(blocks), encoding="utf-8")
        _write_lines(folder / _named("nstat", name, "txt"), texts.counters(run, host, _PERIOD_NS))
        packets = folder / _named("packets", name, "pcapng")
        export(run, "pcapng", packets, choice=TraceChoice(head.number, host, stored))


def _named(what: str, host: str, ending: str) -> str:
    return f"{what}-{host}.{ending}" if host else f"{what}.{ending}"


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
