"""Wall times and costs of the newest runs of a store, for estimates of later ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from results.records import typed
from results.records.model import Variant
from results.schema.access_errors import reading
from results.store.store import Store

MOST_RUNS = 500
"""The newest runs that count; older ones say less about the machine of now."""


@dataclass(frozen=True)
class RunCost:
    """A run that ended ok: what it was, its wall time in seconds, and its provenance ``cost``."""

    scenario: str
    experiment_sha256: str
    variant: Variant
    wall_s: float
    cost: Mapping[str, Any]


def runs(store: Store, kernel_sha256: str) -> list[RunCost]:
    """Return the newest runs of the back end ``guest`` with this kernel, newest first.

    Runs of workers of a cluster are left out, as are those without stored costs. So is a row that
    is not what this program writes: an estimate can do without.
    """
    with reading(store.path):
        rows = store.connection.execute(
            "SELECT scenario, experiment_sha256, variant, wall_s, cost.value, kernel.value "
            "FROM runs JOIN provenance AS cost ON cost.run = runs.run AND cost.key = 'cost' "
            "JOIN provenance AS kernel ON kernel.run = runs.run AND kernel.key = 'guest_kernel' "
            "WHERE status = 'ok' AND backend = 'guest' AND NOT EXISTS (SELECT 1 FROM provenance "
            "AS place WHERE place.run = runs.run AND place.key = 'worker') "
            "ORDER BY runs.run DESC LIMIT ?",
            (MOST_RUNS,),
        ).fetchall()
    costs = []
    for scenario, sha256, variant, wall_s, cost, kernel in rows:
        try:
            values, about, machine = json.loads(variant), json.loads(cost), json.loads(kernel)
            if machine["linux_sha256"] == kernel_sha256 and isinstance(about, dict):
                costs.append(RunCost(scenario, sha256 or "", dict(values), float(wall_s), about))
        except typed.DECODING_ERRORS:
            continue
    return costs
