"""Judges a run that has just ended, and stored runs again, by the checks of this program."""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import orchestrator
from orchestrator import fidelity
from orchestrator.decode import fact_schema
from orchestrator.decode.output import believing_nothing
from orchestrator.decode.ranges import require_checks
from orchestrator.errors import BedError, UsageError
from orchestrator.execution.samples_plan import samples_plan
from orchestrator.fidelity.evidence import SENDER_COLUMNS, Columns, Evidence, FlowColumns
from orchestrator.planning.network import network_json
from orchestrator.planning.network_at_end import network_at_end
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.reports.facts import Fact
from orchestrator.recording.model import SENDER, Check, Recording
from orchestrator.recording.plan import FlowPlan, SamplesPlan, SamplingPlan
from orchestrator.recording.readings import document, from_document
from results.schema.database import utc_now
from results.store.parts.judgements import Judgement, plain_checks
from results.store.store import Store
from results.store.stored import StoredRun

PLAN, NETWORK_AT_END, READINGS = "plan", "network_at_end", "readings"
KERNEL_WARNINGS = "kernel_warnings"
"""Names of the evidence about flows' plans, the network after the last event, and queues; and of
the warnings of a guest's kernel."""

EVIDENCE = ("facts", "network", "windows", PLAN, NETWORK_AT_END)
"""Names of the evidence that is stored to judge a run again, beside flows, queues and samples.
A bed that reads queues has :data:`READINGS`, too, and a guest :data:`KERNEL_WARNINGS`.
"""

JUDGING_SOURCES = (
    "fidelity", "kinds/losses", "kinds/impairments.py", "intervals.py", "network",
    "recording/capacity.py", "recording/plan.py", "recording/readings.py", "recording/verdicts.py",
    "units.py", "protocol/sampling_schedule.py",
    "protocol/links/chosen.py", "protocol/links/frames.py", "protocol/links/netem.py",
    "protocol/links/qdisc.py", "protocol/reports/facts.py", "protocol/units.py",
    "kinds/jitter_tables.py",
)  # fmt: skip
"""Folders and files below ``orchestrator`` on which verdicts depend."""


class CannotJudge(UsageError):
    """A stored run cannot be judged again; the message says why."""

    exit_status = 1


@dataclass(frozen=True)
class CheckChange:
    """A check that differs; None where the check was not made before, or is not made now."""

    name: str
    old: Check | None
    new: Check | None


@dataclass(frozen=True)
class Rejudgement:
    """The previous and the new judgement of a stored run, and the checks that differ."""

    run_id: str
    old: Judgement
    new: Judgement
    changes: list[CheckChange]

    @property
    def same(self) -> bool:
        """Whether verdict and every check are equal."""
        return self.old.verdict == self.new.verdict and not self.changes


@functools.cache
def checks_version() -> str:
    """Return the version of the checks: a number for people, and a digest of their sources."""
    root = Path(orchestrator.__file__).parent
    total = hashlib.sha256()
    for source in JUDGING_SOURCES:
        path = root / source
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        for file in files:
            total.update(f"{file.relative_to(root).as_posix()}\n".encode())
            total.update(hashlib.sha256(file.read_bytes()).digest())
    return f"{fidelity.VERSION}-{total.hexdigest()[:12]}"


def judged(spec: RunSpec, recording: Recording) -> Recording:
    """Return the recording of a run with its verdict and checks.

    Raises:
        BedError: a check gives a number that cannot be stored.
    """
    verdict, checks = fidelity.judge(
        Evidence(
            spec.network, recording.facts, recording.flows, recording.queues,
            _as_stored(recording.queue_samples), recording.windows, samples_plan(spec),
            _recorded(_of_senders(recording.tcp)), _recorded(recording.datagrams),
            recording.readings, network_at_end(spec), recording.kernel_warnings,
        )
    )  # fmt: skip
    require_checks(checks)
    return replace(recording, verdict=verdict, checks=checks, checks_version=checks_version())


def evidence_document(spec: RunSpec, recording: Recording) -> dict[str, Any]:
    """Return the evidence for judging the run again, JSON-ready, for ``Store.finish``."""
    warnings = recording.kernel_warnings
    return {
        "facts": recording.facts,
        "network": network_json.encode(spec.network),
        "windows": recording.windows,
        PLAN: samples_plan(spec),
        NETWORK_AT_END: network_json.encode(network_at_end(spec)),
        **({} if recording.readings is None else {READINGS: document(recording.readings)}),
        **({} if warnings is None else {KERNEL_WARNINGS: list(warnings)}),
    }


def judge_again(store: Store, run: str) -> Rejudgement:
    """Judge a stored run by the checks of this program, and store the judgement.

    Nothing is stored where version, verdict and checks are those of the latest judgement.

    Raises:
        CannotJudge: the run has no verdict, or what the checks need was not stored.
        StoreError: the run is damaged.
    """
    stored = store.load(run)
    evidence = _evidence(stored)
    try:
        with believing_nothing():
            verdict, checks = fidelity.judge(evidence)
            require_checks(checks)
    except BedError as error:
        raise CannotJudge(f"run {stored.id} cannot be judged again: {error}") from error
    plain = [Check(**fields) for fields in plain_checks(checks)]
    old = stored.judgements[-1]
    new = Judgement(verdict, plain, checks_version(), utc_now())
    result = Rejudgement(stored.id, old, new, _changes(old.checks, plain))
    if not result.same or old.checks_version != new.checks_version:
        store.add_judgement(stored.id, new)
    return result


def _evidence(run: StoredRun) -> Evidence:
    if run.status != "ok":
        raise CannotJudge(f"run {run.id} cannot be judged again: it is {run.status}")
    found = run.evidence
    missing = [name for name in EVIDENCE if name not in found]
    if missing:
        raise CannotJudge(
            f"run {run.id} cannot be judged again: it was stored without its {', '.join(missing)}"
        )
    try:
        return Evidence(
            network_json.decode(found["network"]),
            _facts(found["facts"]),
            run.flows,
            run.queues,
            run.queue_array(),
            _windows(found["windows"]),
            _plan(found[PLAN], len(run.flows)),
            lambda flow, names: run.tcp(flow, SENDER, names),
            run.datagrams,
            from_document(found[READINGS], len(run.queues)) if READINGS in found else None,
            network_json.decode(found[NETWORK_AT_END]),
            _kernel_warnings(found.get(KERNEL_WARNINGS)),
        )
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError) as error:
        raise CannotJudge(f"run {run.id} cannot be judged again: {error}") from error


def _facts(facts: object) -> list[Fact]:
    if not isinstance(facts, list):
        raise ValueError("the stored facts are no list")
    if not all(isinstance(fact, dict) for fact in facts):
        raise ValueError("a stored fact is no object")
    for fact in facts:
        if wrong := fact_schema.problem(fact):
            raise ValueError(wrong)
    return facts


def _kernel_warnings(form: object) -> tuple[int, str] | None:
    if form is None:
        return None
    match form:
        case [int(count), str(first)] if not isinstance(count, bool) and 0 <= count < 2**63:
            return count, first
    raise ValueError("the stored warnings of the kernel have another form")


def _windows(windows: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    by_name = {}
    for flow, (requested, advertised) in windows.items():
        if type(requested) is not int or type(advertised) is not int:
            raise ValueError(f"the window of {flow!r:.80} is no number of bytes")
        by_name[flow] = (requested, advertised)
    return by_name


def _plan(form: Any, flows: int) -> SamplesPlan:
    """Return the plan from its stored form. ValueError: a value has another type."""
    period_ns = form["sampling"].get("readings_ns")
    sampling: SamplingPlan = {
        "duration_ns": _whole(form["sampling"]["duration_ns"]),
        "tcp_ns": _whole(form["sampling"]["tcp_ns"], least=1),
        "queue_ns": _whole(form["sampling"]["queue_ns"], least=1),
        "readings_ns": (None if period_ns is None else _whole(period_ns, least=1)),
        "edges_ns": [_whole(edge) for edge in form["sampling"]["edges_ns"]],
    }
    if len(form["flows"]) != flows:
        raise ValueError("the stored plan has another number of flows")
    return {"sampling": sampling, "flows": [_flow_plan(each) for each in form["flows"]]}


def _flow_plan(form: Any) -> FlowPlan:
    open_until_ns = form["open_until_ns"]
    planned: FlowPlan = {
        "one_connection": bool(form["one_connection"]),
        "open_until_ns": None if open_until_ns is None else _whole(open_until_ns),
        "least_rtt_ns": _whole(form["least_rtt_ns"]),
        "window_limited": bool(form["window_limited"]),
    }
    if "window_least_bytes" in form:
        planned["window_least_bytes"] = _whole(form["window_least_bytes"])
    if "subflow_of" in form:
        planned["subflow_of"] = _whole(form["subflow_of"])
        planned["backup"] = bool(form["backup"])
    return planned


def _whole(value: object, least: int = 0) -> int:
    if type(value) is not int or not least <= value < 2**63:
        raise ValueError(f"{value!r:.80} in the stored plan is no number of nanoseconds or bytes")
    return value


def _of_senders(tcp: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Return the columns that checks use, of the senders' samples."""
    senders: npt.NDArray[np.void] = tcp[list(SENDER_COLUMNS)][tcp["endpoint"] == SENDER]
    return senders


def _recorded(samples: npt.NDArray[np.void]) -> FlowColumns:
    """Return a function that gives columns of one flow's samples in the order of time."""
    order = np.lexsort((samples["time_ns"], samples["flow"]))
    flows: npt.NDArray[np.int32] = samples["flow"][order]

    def columns(flow: int, names: Sequence[str]) -> Columns:
        first, last = np.searchsorted(flows, [flow, flow + 1])
        chosen = order[first:last]
        return {name: samples[name][chosen].astype(np.int64) for name in names}

    return columns


def _as_stored(samples: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Return samples of qdiscs as the store returns them: one for each time, the last one."""
    ordered = samples[np.lexsort((samples["time_ns"], samples["queue"]))]
    if not len(ordered):
        return ordered
    last = np.ones(len(ordered), bool)
    keys = ordered[["queue", "time_ns"]]
    last[:-1] = keys[1:] != keys[:-1]
    kept: npt.NDArray[np.void] = ordered[last]
    return kept


def _changes(old: list[Check], new: list[Check]) -> list[CheckChange]:
    before, after = _by_name(old), _by_name(new)
    return [
        CheckChange(key[0], before.get(key), after.get(key))
        for key in {**before, **after}
        if before.get(key) != after.get(key)
    ]


def _by_name(checks: list[Check]) -> dict[tuple[str, int], Check]:
    """Return checks by name and number, which distinguishes checks of equal names."""
    seen: Counter[str] = Counter()
    by_name = {}
    for check in checks:
        by_name[check.name, seen[check.name]] = check
        seen[check.name] += 1
    return by_name
