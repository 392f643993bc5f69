"""Judges stored runs again by the checks of this program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.application.events import Listener, notices
from orchestrator.errors import StoreError, Unfaithful, UsageError
from orchestrator.execution.judging import CannotJudge, CheckChange, Rejudgement, judge_again
from results.contract import outcomes as contract
from results.contract.base import SCHEMA
from results.documents import run_document
from results.store.store import Store


@dataclass(frozen=True)
class JudgeRequest:
    """The runs to judge: ids, unique starts of them or "last"; or else ``every`` stored run."""

    runs: Sequence[str] = ()
    every: bool = False


@dataclass(frozen=True)
class NotJudged:
    """A run that was not judged, and why."""

    run_id: str
    reason: str


@dataclass(frozen=True)
class JudgedAgain:
    """The new judgements, and the runs without one.

    ``refused`` runs cannot be judged, as something was not stored with them. ``damaged`` runs
    cannot be read. ``every`` is as in the request.
    """

    every: bool
    judged: list[Rejudgement] = field(default_factory=list)
    refused: list[NotJudged] = field(default_factory=list)
    damaged: list[NotJudged] = field(default_factory=list)

    @property
    def status(self) -> int:
        """1 if a run is damaged or a named one was refused, 3 if one is unfaithful, else 0."""
        if self.damaged:
            return StoreError.exit_status
        if self.refused and not self.every:
            return CannotJudge.exit_status
        unfaithful = any(rejudgement.new.verdict == "unfaithful" for rejudgement in self.judged)
        return Unfaithful.exit_status if unfaithful else 0

    def document(self) -> dict[str, Any]:
        """Return the JSON contract: the runs with a new judgement first."""
        return contract.Judged.model_construct(
            schema_=SCHEMA,
            runs=[
                *(_judged(rejudgement) for rejudgement in self.judged),
                *(
                    contract.JudgedRun.model_construct(id=run.run_id, error=run.reason)
                    for run in (*self.refused, *self.damaged)
                ),
            ],
        ).document()


def _judged(rejudgement: Rejudgement) -> contract.JudgedRun:
    old, new = rejudgement.old, rejudgement.new
    return contract.JudgedRun.model_construct(
        id=rejudgement.run_id,
        same=rejudgement.same,
        verdict=new.verdict,
        checks_version=new.checks_version,
        earlier=contract.EarlierVerdict.model_construct(
            verdict=old.verdict, checks_version=old.checks_version
        ),
        changes=[_change(change) for change in rejudgement.changes],
        error=None,
    )


def _change(change: CheckChange) -> contract.CheckChange:
    return contract.CheckChange.model_construct(
        check=change.name,
        old=None if change.old is None else run_document.check(change.old),
        new=None if change.new is None else run_document.check(change.new),
    )


def judge(request: JudgeRequest, db: Path, listener: Listener) -> JudgedAgain:
    """Judge stored runs again, and store each judgement that differs from the latest one.

    Raises:
        UsageError: runs are named and every run is asked for, or neither; or there is no such run.
        StoreError: the store cannot be read or written.
    """
    if request.every == bool(request.runs):
        raise UsageError("name stored runs, or give --all")
    results = JudgedAgain(request.every)
    with Store.open_existing(db, notices(listener)) as store:
        ids = (
            [row.id for row in store.list_runs()]
            if request.every
            else [store.resolve(run) for run in request.runs]
        )
        for run_id in ids:
            try:
                results.judged.append(judge_again(store, run_id))
            except CannotJudge as error:
                results.refused.append(NotJudged(run_id, str(error)))
            except StoreError as error:
                results.damaged.append(NotJudged(run_id, str(error)))
    return results
