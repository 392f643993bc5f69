"""Compares runs: their metrics, and the settings that differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.recording.model import Check
from results import metrics
from results.contract.base import json_ready
from results.documents import run_document
from results.metrics import of_values
from results.metrics.base import Scope
from results.records import columns
from results.records.model import WHOLE, Number, RunRow, Values, WindowMetrics
from results.store.stored import StoredRun

_MEASURED = ("cost", "counters", "engines", "origin_ns", "round_trips_ns")
"""Parts of the provenance that are measured in the run, and no settings."""

_COUNTERS = (
    "granted", "bypass", "rx_packets", "rx_dropped", "tx_dropped", "applied_s", "time_ns",
    "wall_clock_s", "build_s",
)  # fmt: skip
"""Counters and times of the run between the settings of its provenance."""


@dataclass(frozen=True)
class MetricComparison:
    """A metric of several runs; None where a run has none.

    ``differences`` and ``ratios`` are against the first run, whose own are None.
    """

    name: str
    unit: str
    values: Sequence[Number | None]
    differences: Sequence[Number | None]
    ratios: Sequence[Number | None]


@dataclass(frozen=True)
class SubjectComparison:
    """The metrics of the flows, or of the links, that have one name."""

    name: str
    metrics: Sequence[MetricComparison]


@dataclass(frozen=True)
class DifferingValue:
    """A path as of ``--set`` at which runs differ, with the value of each; None where it has none.

    The values are JSON-ready.
    """

    path: str
    values: Sequence[object]


@dataclass(frozen=True)
class DifferingCheck:
    """A fidelity check that differs between runs; None where a run has none."""

    name: str
    checks: Sequence[Check | None]


@dataclass(frozen=True)
class Differences:
    """In what runs differ: fields of the run, settings, what the bed read back, and checks.

    Digests of different versions cannot be compared, so only their versions are listed. Counters
    and times, which a run's provenance keeps beside its settings, are not compared. A run that did
    not end ok has no value of much that is known at the end only; that is no difference.
    """

    run: Sequence[DifferingValue]
    scenario: Sequence[DifferingValue]
    provenance: Sequence[DifferingValue]
    checks: Sequence[DifferingCheck]


@dataclass(frozen=True)
class RunComparison:
    """Runs beside each other; ``windows`` have the runs' metrics by name.

    Flows and links are matched by name.
    """

    rows: Sequence[RunRow]
    metrics: Sequence[MetricComparison]
    windows: Mapping[str, Sequence[MetricComparison]]
    flows: Sequence[SubjectComparison]
    links: Sequence[SubjectComparison]
    differs: Differences


def compare(runs: Sequence[StoredRun]) -> RunComparison:
    """Return a comparison of two or more runs.

    Raises:
        UsageError: there are fewer than two runs.
    """
    if len(runs) < 2:
        raise UsageError("compare needs two runs or more")
    windows = list(dict.fromkeys(name for run in runs for name in run.metrics() if name != WHOLE))
    return RunComparison(
        [run.row for run in runs],
        _window(runs, WHOLE),
        {name: _window(runs, name) for name in windows},
        _subjects(runs, "flow", _flows),
        _subjects(runs, "link", _bottlenecks),
        Differences(
            _differing_fields(runs),
            differing([run.head.resolved for run in runs]),
            _known(runs, [_settings(run.provenance) for run in runs]),
            _differing_checks(runs),
        ),
    )


def _check_document(check: Check) -> dict[str, object]:
    return run_document.check(check).document()


def _differing_fields(runs: Sequence[StoredRun]) -> list[DifferingValue]:
    """Return the fields that differ; of digests of several versions only their versions."""
    names = columns.names(RunRow, columns.COMPARED)
    if len({run.row.digest_version for run in runs}) > 1:
        names.remove("digest")
    return _known(runs, [{name: getattr(run.row, name) for name in names} for run in runs])


def _known(runs: Sequence[StoredRun], values: Sequence[Any]) -> list[DifferingValue]:
    """Return what differs, by what is known: what a run that is not ok lacks is unknown."""
    return [each for each in differing(values) if not _are_equal(runs, each.values)]


def _are_equal(runs: Sequence[StoredRun], values: Sequence[object]) -> bool:
    """Tell whether values are equal but for those that runs lack which are not ok."""
    known = [value for run, value in zip(runs, values, strict=True)
             if run.status == "ok" or value not in (None, {})]  # fmt: skip
    return all(value == known[0] for value in known)


def _window(runs: Sequence[StoredRun], window: str) -> list[MetricComparison]:
    return _table("run", [run.metrics().get(window, WindowMetrics()).run for run in runs])


def _table(scope: Scope, columns: Sequence[Values]) -> list[MetricComparison]:
    """Return a line for each metric of the scope that any run has a value of."""
    lines = []
    for metric in of_values(scope, columns):
        values = [column.get(metric.name) for column in columns]
        if any(value is not None for value in values):
            first, others = values[0], values[1:]
            lines.append(
                MetricComparison(
                    metric.name,
                    metric.unit,
                    values,
                    [None, *(_difference(first, other) for other in others)],
                    [None, *(_ratio(first, other) for other in others)],
                )
            )
    return lines


def _difference(first: Number | None, other: Number | None) -> Number | None:
    return None if first is None or other is None else other - first


def _ratio(first: Number | None, other: Number | None) -> Number | None:
    return None if other is None or not first else other / first


def _subjects(
    runs: Sequence[StoredRun], scope: Scope, of: Callable[[StoredRun], dict[str, Values]]
) -> list[SubjectComparison]:
    by_run = [of(run) for run in runs]
    names = dict.fromkeys(name for subjects in by_run for name in subjects)
    return [
        SubjectComparison(name, _table(scope, [subjects.get(name, {}) for subjects in by_run]))
        for name in names
    ]


def _flows(run: StoredRun) -> dict[str, Values]:
    names = [flow.name for flow in run.flows]
    return dict(zip(names, run.metrics()[WHOLE].flows, strict=True))


def _bottlenecks(run: StoredRun) -> dict[str, Values]:
    return {
        metrics.channel(queue): run.metrics()[WHOLE].links[metrics.channel(queue)]
        for queue in run.queues
        if queue.role == "queue" and queue.bottleneck
    }


def _settings(value: Any) -> Any:
    """Return provenance without what was counted or timed in the run."""
    if isinstance(value, Mapping):
        left = (*_MEASURED, *_COUNTERS, "clock")
        return {name: _settings(setting) for name, setting in value.items() if name not in left}
    return [_settings(setting) for setting in value] if isinstance(value, list) else value


def _differing_checks(runs: Sequence[StoredRun]) -> list[DifferingCheck]:
    # NaN differs from itself, so checks are compared as their JSON.
    found = [{check.name: _check_document(check) for check in run.checks} for run in runs]
    unequal = [differing.path for differing in _unequal(found)]
    by_name = [{check.name: check for check in run.checks} for run in runs]
    return [
        DifferingCheck(name, [checks.get(name) for checks in by_name])
        for name in unequal
        if not _are_equal(runs, [checks.get(name) for checks in found])
    ]


def differing(values: Sequence[Any]) -> list[DifferingValue]:
    """Return the paths (as of ``--set``) whose values are not the same in all, with the values."""
    return _unequal([dict(leaves(json_ready(value))) for value in values])


def _unequal(found: Sequence[Mapping[str, object]]) -> list[DifferingValue]:
    """Return the paths of these leaves whose values are not the same in all."""
    unequal = []
    for path in dict.fromkeys(path for leaves in found for path in leaves):
        values = [leaves.get(path) for leaves in found]
        if any(value != values[0] for value in values):
            unequal.append(DifferingValue(path, values))
    return unequal


def leaves(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Yield (path, value) of everything that is not a mapping or a list of named mappings."""
    parts = parts_of(value)
    if not parts:
        yield path, value
        return
    for key, part in parts.items():
        yield from leaves(part, f"{path}.{key}" if path else key)


def parts_of(value: Any) -> Mapping[str, Any] | None:
    """Return the parts of a JSON-ready value by their names in paths; None for single values."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, list):
        return None
    names = [item.get("name") if isinstance(item, Mapping) else None for item in value]
    named = None not in names and len(set(names)) == len(names)
    return {str(name if named else at): item
            for at, (name, item) in enumerate(zip(names, value, strict=True))}  # fmt: skip
