"""The values that a rule for the number of repetitions looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.suggestions import suggest
from results.metrics import METRICS
from results.model import WHOLE
from results.statistics.stein import Rule, wanted
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
class Demand:
    """How many repetitions of a variant there should be, and whether its mean is known then."""

    repetitions: int
    known: bool


def demand(store: Store, runs: Sequence[str], rule: Mapping[str, Any]) -> Demand:
    """Return what the rule asks for, from the runs of one variant in their order.

    Runs that failed or are unfaithful, and those without the value, are made up for by others.
    """
    values = [value for run in runs if (value := _value(store.load(run), rule)) is not None]
    stein = Rule(rule["interval"], rule["least"], rule["most"])
    missing = max(0, wanted(values, stein) - len(values))
    found = estimate(values, stein)
    known = found is not None and (found.half_width or 0.0) <= stein.share * abs(found.mean)
    return Demand(int(min(rule["most"], len(runs) + missing)), known)


def _value(run: StoredRun, rule: Mapping[str, Any]) -> float | None:
    if not run.row.counts:
        return None
    return RunValues(run, rule["window"] or WHOLE).value(Subject(flow=rule["flow"]), rule["metric"])
