"""Compares runs: their metrics, and the settings that differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from orchestrator.errors import UsageError
from results import columns, metrics
from results.documents import SCHEMA, check_document, json_ready
from results.metrics import METRICS
from results.metrics.base import Scope
from results.model import WHOLE, Number, RunRow, Values, WindowMetrics
from results.stored import StoredRun

_MEASURED = ("cost", "engines", "origin_ns", "round_trips_ns")
"""Parts of the provenance that are measured in the run, and no settings."""

_COUNTERS = (
    "granted", "bypass", "rx_packets", "rx_dropped", "tx_dropped", "applied_s", "time_ns",
    "wall_clock_s", "build_s",
)  # fmt: skip
"""Counters and times of the run between the settings of its provenance."""


def compare(runs: Sequence[StoredRun]) -> dict[str, Any]:
    """Return a comparison of two or more runs as JSON-ready data.

    ``values`` always has one entry a run, null where a run has none; ``differences`` and
    ``ratios`` are against the first run. Flows and links are matched by name. ``differs`` holds,
    by part, the paths (as of ``--set``) whose values are not the same in all runs. Digests of
    different versions cannot be compared, so only their versions are listed there. Counters and
    times, which a run's provenance keeps beside its settings, are not compared.

    Raises:
        UsageError: there are fewer than two runs.
    """
    if len(runs) < 2:
        raise UsageError("compare needs two runs or more")
    windows = list(dict.fromkeys(name for run in runs for name in run.metrics() if name != WHOLE))
    return {
        "schema": SCHEMA,
        "runs": [_summary(run) for run in runs],
        "metrics": _window(runs, WHOLE),
        "windows": {name: _window(runs, name) for name in windows},
        "flows": _subjects(runs, "flow", _flows),
        "links": _subjects(runs, "link", _bottlenecks),
        "differs": {
            "run": _differing_fields(runs),
            "scenario": _differing([run.head.resolved for run in runs]),
            "provenance": _differing([_settings(run.provenance) for run in runs]),
            "checks": _differing_checks(runs),
        },
    }


def _summary(run: StoredRun) -> dict[str, Any]:
    row = run.row
    return {
        "id": row.id,
        "experiment": row.experiment,
        "scenario": row.scenario,
        "variant": json_ready(row.variant),
        "repetition": row.repetition,
        "seed": row.seed,
        "status": row.status,
        "digest": row.digest,
        "digest_version": row.digest_version,
        "link_model": row.link_model,
        "verdict": row.verdict,
    }


def _differing_fields(runs: Sequence[StoredRun]) -> list[dict[str, Any]]:
    """Return the fields that differ; of digests of several versions only their versions."""
    names = columns.names(RunRow, columns.COMPARED)
    if len({run.row.digest_version for run in runs}) > 1:
        names.remove("digest")
    return _differing([{name: getattr(run.row, name) for name in names} for run in runs])


def _window(runs: Sequence[StoredRun], window: str) -> list[dict[str, Any]]:
    return _table("run", [run.metrics().get(window, WindowMetrics()).run for run in runs])


def _table(scope: Scope, columns: Sequence[Values]) -> list[dict[str, Any]]:
    """Return a line for each metric of the scope that any run has a value of."""
    lines = []
    for one in METRICS.values():
        values = [column.get(one.name) for column in columns]
        if one.scope == scope and any(value is not None for value in values):
            first, others = values[0], values[1:]
            lines.append(
                {
                    "name": one.name,
                    "unit": one.unit,
                    "values": values,
                    "differences": [None, *(_difference(first, other) for other in others)],
                    "ratios": [None, *(_ratio(first, other) for other in others)],
                }
            )
    return lines


def _difference(first: Number | None, other: Number | None) -> Number | None:
    return None if first is None or other is None else other - first


def _ratio(first: Number | None, other: Number | None) -> Number | None:
    return None if other is None or not first else other / first


def _subjects(
    runs: Sequence[StoredRun], scope: Scope, of: Callable[[StoredRun], dict[str, Values]]
) -> list[dict[str, Any]]:
    found = [of(run) for run in runs]
    names = dict.fromkeys(name for subjects in found for name in subjects)
    return [
        {"name": name, "metrics": _table(scope, [subjects.get(name, {}) for subjects in found])}
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
        return {name: _settings(one) for name, one in value.items() if name not in left}
    return [_settings(one) for one in value] if isinstance(value, list) else value


def _differing_checks(runs: Sequence[StoredRun]) -> list[dict[str, Any]]:
    found = [{check.name: check_document(check) for check in run.checks} for run in runs]
    return _lines(found)


def _differing(values: Sequence[Any]) -> list[dict[str, Any]]:
    return _lines([dict(_leaves(json_ready(value))) for value in values])


def _lines(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    lines = []
    for path in dict.fromkeys(path for leaves in found for path in leaves):
        values = [leaves.get(path) for leaves in found]
        if any(value != values[0] for value in values):
            lines.append({"path": path, "values": values})
    return lines


def _leaves(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Yield (path, value) of everything that is not a mapping or a list of named mappings."""
    parts: Mapping[str, Any] | None = None
    if isinstance(value, Mapping):
        parts = value
    elif isinstance(value, list) and value:
        names = [one.get("name") if isinstance(one, Mapping) else None for one in value]
        named = None not in names and len(set(names)) == len(names)
        parts = {str(name if named else at): one
                 for at, (name, one) in enumerate(zip(names, value, strict=True))}  # fmt: skip
    if not parts:
        yield path, value
        return
    for key, part in parts.items():
        yield from _leaves(part, f"{path}.{key}" if path else key)
