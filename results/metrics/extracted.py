"""Numbers that a scenario takes from the output of its programs, as metrics of flows.

They are no members of ``METRICS``, because each scenario names its own. A name says all that is
declared of such a metric; see ``orchestrator.recording.extracted``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.recording.extracted import PREFIX, parts_of
from results.metrics.base import (
    METRICS,
    Metric,
    RunData,
    Scope,
    Span,
    extracted_in,
    format_of,
    of_scope,
)
from results.records.model import Number, Values


def find(name: str, scope: Scope) -> Metric | None:
    """Return the metric of that name at a scope, also one of a program's output."""
    return METRICS.get((name, scope)) or (_extracted(name) if scope == "flow" else None)


def scopes_of(name: str) -> list[Scope]:
    """Return the scopes at which there is a metric of that name; none if there is no such."""
    registered = [scope for known, scope in METRICS if known == name]
    return registered or (["flow"] if is_extracted(name) else [])


def any_scope(name: str) -> Metric:
    """Return the metric of that name at the first scope that it has.

    Raises:
        KeyError: there is none.
    """
    scopes = scopes_of(name)
    found = find(name, scopes[0]) if scopes else None
    if found is None:
        raise KeyError(name)
    return found


def is_extracted(name: str) -> bool:
    """Tell whether a metric of that name is a number of a program's output."""
    return parts_of(name) is not None


def of_values(scope: Scope, subjects: Iterable[Values]) -> list[Metric]:
    """Return the metrics of a scope, and behind them those that only these subjects have."""
    if scope != "flow":
        return of_scope(scope)
    names = dict.fromkeys(name for values in subjects for name in values if name.startswith(PREFIX))
    return [*of_scope(scope), *(one for name in names if (one := _extracted(name)) is not None)]


def _extracted(name: str) -> Metric | None:
    parts = parts_of(name)
    if parts is None:
        return None
    short, stored = parts

    def function(data: RunData, flows: Sequence[int], span: Span) -> Number | None:
        return extracted_in(data, flows[0], span).get(name)

    unit = "" if stored.unit == "1" else f" in {stored.unit}"
    return Metric(
        name,
        "flow",
        stored.unit,
        "flow",
        function,
        f"The number ``{short}``{unit}, which the scenario takes from what the flow's client\n"
        "program prints, if the client ended within the span.\n\n"
        "None where its pattern found no number.",
        title=short.replace("_", " ").capitalize(),
        format="percent" if stored.share else format_of(stored.unit),
        least=None,
    )
