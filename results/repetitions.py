"""How many repetitions a variant needs by the scenario's rule, from the runs that there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.suggestions import suggest
from results.metrics import METRICS
from results.model import WHOLE
from results.statistics.stein import Rule, required_repetitions
from results.statistics.stein import stein as estimate
from results.store import Store
from results.stored import StoredRun
from results.values import RunValues, Subject


def require_metric(rule: Mapping[str, Any]) -> None:
    """Check that the metric of a rule exists for the run or for flows.

    Raises:
        UsageError: it does not.
    """
    scope = "run" if rule["flow"] is None else "flow"
    if (rule["metric"], scope) not in METRICS:
        valid = [name for name, each in METRICS if each == scope]
        of = "of a run" if scope == "run" else "of a flow"
        raise UsageError(
            f"repetitions.until: there is no metric {rule['metric']} {of}"
            f"{suggest(rule['metric'], valid)}; they are {', '.join(valid)}"
        )


@dataclass(frozen=True)
class Required:
    """The number of repetitions that a variant needs in all.

    ``narrow_enough`` tells whether the interval of the mean is as narrow as the rule asks for.
    """

    repetitions: int
    narrow_enough: bool


def required(store: Store, runs: Sequence[str], rule: Mapping[str, Any]) -> Required:
    """Return how many repetitions the rule asks for, from the runs of one variant in their order.

    A run that failed, is unfaithful or has no value of the metric is replaced by a further one.
    """
    values = [value for run in runs if (value := _value(store.load(run), rule)) is not None]
    stein = Rule(rule["interval"], rule["least"], rule["most"])
    missing = max(0, required_repetitions(values, stein) - len(values))
    found = estimate(values, stein)
    narrow = found is not None and (found.half_width or 0.0) <= stein.share * abs(found.mean)
    return Required(int(min(rule["most"], len(runs) + missing)), narrow)


def _value(run: StoredRun, rule: Mapping[str, Any]) -> float | None:
    if not run.row.counts:
        return None
    return RunValues(run, rule["window"] or WHOLE).value(Subject(flow=rule["flow"]), rule["metric"])
