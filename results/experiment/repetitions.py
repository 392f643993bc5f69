"""How many repetitions a variant needs by the scenario's rule, from the runs that there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.errors import UsageError
from orchestrator.repetitions import RepetitionRule
from orchestrator.suggestions import suggest
from results.experiment.values import RunValues, Subject
from results.metrics import METRICS, Scope, find
from results.records.model import WHOLE
from results.statistics.stein import StoppingRule, required_repetitions
from results.statistics.stein import stein as estimate
from results.store.store import Store
from results.store.stored import StoredRun


def require_metric(rule: RepetitionRule) -> None:
    """Check that the metric of a rule exists for the run or for flows.

    Raises:
        UsageError: it does not.
    """
    scope: Scope = "run" if rule.flow is None else "flow"
    if find(rule.metric, scope) is None:
        valid = [name for name, known_scope in METRICS if known_scope == scope]
        of = "of a run" if scope == "run" else "of a flow"
        raise UsageError(
            f"repetitions.until: there is no metric {rule.metric} {of}"
            f"{suggest(rule.metric, valid)}; they are {', '.join(valid)}"
        )


@dataclass(frozen=True)
class RequiredRepetitions:
    """The number of repetitions that a variant needs in all.

    ``narrow_enough`` tells whether the interval of the mean is as narrow as the rule asks for.
    ``without_value`` counts the runs so far that failed, are unfaithful or lack the metric.
    ``hopeless`` tells that all of the first ``least`` runs are such, so that none is added.
    """

    repetitions: int
    narrow_enough: bool
    without_value: int
    hopeless: bool


def required(store: Store, runs: Sequence[str], rule: RepetitionRule) -> RequiredRepetitions:
    """Return how many repetitions the rule asks for, from the runs of one variant in their order.

    There are ``least`` runs at least. One without a value is replaced by a further one.
    """
    run_values = [_value(store.load(run), rule) for run in runs]
    values = [value for value in run_values if value is not None]
    without = len(run_values) - len(values)
    if all(value is None for value in run_values[: rule.least]):
        return RequiredRepetitions(len(runs), False, without, hopeless=True)
    stein = StoppingRule(rule.interval, rule.least, rule.most)
    missing = max(0, required_repetitions(values, stein) - len(values))
    mean = estimate(values, stein)
    narrow = mean is not None and (mean.half_width or 0.0) <= stein.share * abs(mean.mean)
    return RequiredRepetitions(min(rule.most, len(runs) + missing), narrow, without, hopeless=False)


def _value(run: StoredRun, rule: RepetitionRule) -> float | None:
    if not run.row.counts:
        return None
    return RunValues(run, rule.window or WHOLE).value(Subject(flow=rule.flow), rule.metric)
