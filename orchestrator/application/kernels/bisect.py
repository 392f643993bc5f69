"""Finds the commit of a kernel's history that changed what a scenario measures."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guest import bisection, git_source
from guest.bisection import Verdict
from guest.choice import KernelChoice
from orchestrator.application import outcomes
from orchestrator.application.events import Listener, Preparing
from orchestrator.application.making_runs import RunSettings, make_runs
from orchestrator.backends import kernels
from orchestrator.errors import KernelBuildError, MachineError, UsageError
from orchestrator.planning.plan import plan
from orchestrator.scenario.loader import load, load_values
from results.contract import kernels as contract
from results.contract.base import SCHEMA
from results.experiment.expectations import ExpectationResult, evaluate
from results.experiment.experiments import of_runs
from results.store.store import Store

if TYPE_CHECKING:
    from orchestrator.planning.plan import Plan

_PROBE = {
    "version": 1,
    "name": "bisect-probe",
    "seed": 1,
    "duration": "2s",
    "topology": {
        "kind": "dumbbell",
        "bottleneck": {
            "rate": "10mbit", "delay": "10ms", "queue": {"kind": "droptail", "limit": "50p"},
        },
        "groups": [{"name": "a", "access": {"rate": "100mbit", "delay": "5ms"}}],
    },
    "flows": [
        {"name": "probe", "group": "a",
         "traffic": {"kind": "cbr", "rate": "8mbit", "packet_size": "1000B"}},
    ],
}  # fmt: skip
"""A flow of UDP, which a change of TCP does not touch."""


@dataclass(frozen=True)
class BisectRequest:
    """What is searched: a scenario's expectation, and the commits between a good and a bad one.

    ``expect`` decides, in texts as of a scenario's `expect`, and without any the scenario's own.
    ``paths`` are those that a commit must change. A commit gets ``least`` seeds, and up to ``most``
    until it is decided.
    """

    file: Path
    tree: Path
    good: str
    bad: str
    expect: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    least: int = 3
    most: int = 24


@dataclass(frozen=True)
class BisectStep:
    """A commit that was tested. ``results`` are of all expectations; a skipped one has none."""

    commit: str
    subject: str
    verdict: Verdict
    suspects: int
    runs: Sequence[str]
    results: Sequence[ExpectationResult]
    reason: str
    wall_s: float


@dataclass(frozen=True)
class BisectResult:
    """All steps, and the first bad commit with its author, or None and the ``suspects``.

    ``sides`` are runs of the last good and of the first bad commit with equal seeds.
    """

    steps: Sequence[BisectStep]
    first_bad: str | None
    author: str
    subject: str
    suspects: Sequence[str]
    sides: tuple[str, str] | None

    def document(self) -> dict[str, Any]:
        """Return the JSON contract of ``bisect``."""
        return contract.Bisection.model_construct(
            schema_=SCHEMA,
            first_bad=self.first_bad,
            author=self.author,
            subject=self.subject,
            suspects=list(self.suspects),
            good_run=self.sides[0] if self.sides else None,
            bad_run=self.sides[1] if self.sides else None,
            steps=[_step(step) for step in self.steps],
        ).document()


def _step(step: BisectStep) -> contract.BisectStep:
    return contract.BisectStep.model_construct(
        commit=step.commit,
        subject=step.subject,
        verdict=step.verdict,
        suspects=step.suspects,
        runs=list(step.runs),
        reason=step.reason,
        wall_s=round(step.wall_s, 1),
        results=[outcomes.expectation(one) for one in step.results],
    )


def bisect(
    request: BisectRequest,
    settings: RunSettings,
    listener: Listener,
    tell: Callable[[BisectStep], None],
) -> BisectResult:
    """Search the commits; each step is told as it ends.

    Kernels are built as they are needed, and stored runs are used again, so a search that was
    interrupted goes on where it was.

    Raises:
        UsageError: nothing is expected, a revision is not there, or the good commit is not good or
            the bad one not bad.
        MachineError: this machine cannot build or run guests.
    """
    if request.least > request.most:
        raise UsageError(f"bisect: --least {request.least} is more than --most {request.most}")
    good, bad = (_commit(request.tree, name) for name in (request.good, request.bad))
    if good == bad:
        raise UsageError(f"bisect: {request.good} and {request.bad} are the same commit")
    if not git_source.is_ancestor(request.tree, good, bad):
        raise UsageError(f"bisect: {request.good} is not in the history of {request.bad}")
    tester = _Tester(request, settings, listener)
    if not tester.expected:
        raise UsageError(
            f"bisect: {request.file} expects nothing\n"
            "  fix: give --expect '{metric: goodput_bps, flow: FLOW, above: 5mbit}', or `expect:` "
            "in the scenario"
        )
    if request.paths:
        try:
            changed = git_source.last_change(request.tree, bad, request.paths)
        except MachineError as error:
            raise UsageError(f"bisect: --path: {str(error).splitlines()[0]}") from None
        if changed is None or git_source.is_ancestor(request.tree, changed, good):
            raise UsageError("bisect: no commit in between changes what --path names")
        bad_end = changed
    else:
        bad_end = bad
    steps: list[BisectStep] = []

    def test(commit: str, suspects: int) -> Verdict:
        step = tester.test(commit, suspects)
        steps.append(step)
        tell(step)
        return step.verdict

    between = len(git_source.commits_between(request.tree, [good], bad_end, request.paths))
    for commit, name, wanted in ((good, request.good, "good"), (bad_end, request.bad, "bad")):
        if (verdict := test(commit, between)) != wanted:
            raise UsageError(f"bisect: {name} is {verdict}, not {wanted}: {steps[-1].reason}")
    found = bisection.bisect(request.tree, good, bad_end, request.paths, test)
    if found.first_bad is None:
        return BisectResult(steps, None, "", "", found.suspects, None)
    author, subject = git_source.described(request.tree, found.first_bad)
    by_commit = {step.commit: step for step in steps}
    sides = by_commit[found.last_good[-1]].runs, by_commit[found.first_bad].runs
    pair = (sides[0][0], sides[1][0]) if sides[0] and sides[1] else None
    return BisectResult(steps, found.first_bad, author, subject, [found.first_bad], pair)


def _commit(tree: Path, revision: str) -> str:
    """Return the commit of a revision; UsageError where there is none."""
    try:
        return git_source.commit_of(tree, revision)
    except MachineError as error:
        raise UsageError(f"bisect: {str(error).splitlines()[0]}") from None


class _Tester:
    """Builds the kernel of a commit, and runs the scenario on it until its verdict is known."""

    def __init__(self, request: BisectRequest, settings: RunSettings, listener: Listener) -> None:
        self._request, self._settings, self._listener = request, settings, listener
        own = (f"expect=[{', '.join(request.expect)}]",) if request.expect else ()
        self._overrides = (*request.overrides, *own)
        self.expected = tuple(load(request.file, self._overrides).scenario.expect)

    def test(self, commit: str, suspects: int) -> BisectStep:
        """Test one commit."""
        began = time.monotonic()
        _author, subject = git_source.described(self._request.tree, commit)
        verdict, runs, results, reason = self._verdict(commit)
        wall_s = time.monotonic() - began
        return BisectStep(commit, subject, verdict, suspects, runs, results, reason, wall_s)

    def _verdict(
        self, commit: str
    ) -> tuple[Verdict, Sequence[str], Sequence[ExpectationResult], str]:
        choice = KernelChoice(str(self._request.tree), self._request.tree, commit)

        def progress(step: str, fraction: float | None) -> None:
            self._listener(Preparing(step, fraction))

        try:
            kernels.ensure(progress, choice, self._settings.unconfined)
        except KernelBuildError as error:
            return "skip", (), (), f"it does not build: {str(error).splitlines()[0]}"
        probe = plan(load_values(_PROBE, {}, "probe"))
        probed = replace(probe, runs=[replace(spec, kernel=choice) for spec in probe.runs])
        if problem := self._problem(self._made(probed)):
            return "skip", (), (), f"the probe without TCP: {problem}"
        return self._measured(commit)

    def _measured(
        self, commit: str
    ) -> tuple[Verdict, Sequence[str], Sequence[ExpectationResult], str]:
        """Run the scenario with more and more seeds until the expectations decide."""
        number = self._request.least
        while True:
            kernel = json.dumps({"source": str(self._request.tree.absolute()), "revision": commit})
            words = (*self._overrides, f"kernel={kernel}", f"repetitions={number}")
            ids = self._made(plan(load(self._request.file, words)))
            if problem := self._problem(ids):
                return "skip", ids, (), f"a run failed: {problem}"
            with Store.open_read_only(self._settings.db) as store:
                results = evaluate(store, of_runs(store, ids), self.expected)
            unmet = [one for one in results if not one.met]
            if not unmet:
                return "good", ids, results, ""
            if certain := [one for one in unmet if one.contradicted]:
                return "bad", ids, results, str(certain[0].reason)
            if number >= self._request.most:
                return "skip", ids, results, f"{number} runs do not decide: {unmet[0].reason}"
            number = min(2 * number, self._request.most)

    def _made(self, planned: Plan) -> list[str]:
        return make_runs(planned, True, self._settings, self._listener)

    def _problem(self, ids: Sequence[str]) -> str:
        """Return why a run does not count, an empty text where all do."""
        with Store.open_read_only(self._settings.db) as store:
            for run_id in ids:
                row = store.load(run_id).row
                if row.status != "ok":
                    return str(row.error or row.status).splitlines()[0]
                if row.verdict == "unfaithful":
                    return "the run is unfaithful"
        return ""
