"""The JSON document of an examined results database, by the models of the contract."""

from __future__ import annotations

from typing import Any

from results.contract import housekeeping as contract
from results.store.parts.integrity import Integrity, RunState


def document(integrity: Integrity) -> dict[str, Any]:
    """Return the JSON contract of ``doctor --store``."""
    return contract.StoreIntegrity.model_construct(
        ok=integrity.ok,
        schema_=integrity.schema,
        problems=list(integrity.problems),
        counts=dict(integrity.counts),
        runs=[_run(run) for run in integrity.runs],
    ).document()


def _run(run: RunState) -> contract.RunIntegrity:
    return contract.RunIntegrity.model_construct(
        id=run.id,
        state=run.state,
        damage=[
            contract.Damage.model_construct(table=damage.table, problem=damage.problem)
            for damage in run.damage
        ],
    )
