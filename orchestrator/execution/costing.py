"""What a run keeps for estimates of later ones, and estimates from what a store has kept.

The provenance ``cost`` of a run has the version of the model, the processor's name, the parts of
``orchestrator.planning.costs.estimate.Costs``, and how long the bed waited for a processor.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

from orchestrator.errors import NotAStoreError
from orchestrator.planning.costs.estimate import Costs, costs
from orchestrator.planning.costs.learning import EarlierRun, Estimator
from orchestrator.planning.runspec import RunSpec
from results.store import history
from results.store.store import Store

MODEL = 2
"""Version of ``Costs``; runs of another one are not compared."""

MOST_S = 1e7
"""No part of a run takes longer, so a larger value is none of ours."""


def recorded(run: RunSpec, waited_s: float | None) -> dict[str, Any]:
    """Return what the run's provenance keeps, JSON-ready."""
    parts = {name: round(value, 4) for name, value in asdict(costs(run)).items()}
    waited = None if waited_s is None else round(waited_s, 3)
    return {"model": MODEL, "processor": processor(), "parts": parts, "waited_s": waited}


@cache
def processor(file: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name, or the architecture where Linux does not tell it."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _colon, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def estimator(db: Path, kernel_sha256: str | None) -> Estimator:
    """Return an estimator that knows the runs of a store on this machine with this guest kernel.

    Without a store, without a kernel or without such runs it has the constants alone.

    Raises:
        StoreError: the file exists and cannot be read.
    """
    if kernel_sha256 is None or not db.exists():
        return Estimator()
    try:
        with Store.open_read_only(db) as store:
            return Estimator(_usable(history.runs(store, kernel_sha256)))
    except NotAStoreError:
        return Estimator()


def _is_time(value: object) -> TypeGuard[float]:
    """Whether a value is a time in s; stores of other people may have anything there."""
    return isinstance(value, int | float) and 0 <= value < MOST_S


def _usable(runs: list[history.RunCost]) -> Iterator[EarlierRun]:
    """Yield the runs of this machine whose costs this program can read."""
    names = {field.name for field in fields(Costs)}
    for run in runs:
        cost = run.cost
        parts, waited_s = cost.get("parts"), cost.get("waited_s")
        if cost.get("model") != MODEL or cost.get("processor") != processor():
            continue
        if not isinstance(parts, dict) or parts.keys() != names:
            continue
        if (
            not _is_time(waited_s)
            or not all(map(_is_time, parts.values()))
            or not any(parts.values())
        ):
            continue
        identity = run.experiment_sha256, repr(sorted(run.variant.items()))
        yield EarlierRun(run.scenario, identity, Costs(**parts), run.wall_s - waited_s)
