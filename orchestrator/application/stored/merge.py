"""Takes the runs of other results databases into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.application.events import Listener, notices
from orchestrator.errors import StoreError, UsageError
from results.contract import housekeeping as contract
from results.contract.base import SCHEMA
from results.store.upkeep import merging
from results.store.upkeep.merging import MergedSource


@dataclass(frozen=True)
class RefusedRun:
    """A run of another store that has values which cannot have been measured."""

    source: Path
    run_id: str
    reason: str


@dataclass(frozen=True)
class MergedStores:
    """What became of the runs of each source."""

    sources: Sequence[MergedSource]

    @property
    def refused(self) -> list[RefusedRun]:
        """The runs that were refused, of all sources."""
        return [
            RefusedRun(source.source, run_id, reason)
            for source in self.sources
            for run_id, reason in source.refused.items()
        ]

    @property
    def status(self) -> int:
        """1 if a run was refused, else 0."""
        return StoreError.exit_status if self.refused else 0

    def document(self) -> dict[str, Any]:
        """Return the JSON contract."""
        return contract.Merge.model_construct(
            schema_=SCHEMA, stores=[_source(source) for source in self.sources]
        ).document()


def _source(source: MergedSource) -> contract.MergedSource:
    return contract.MergedSource.model_construct(
        source=str(source.source),
        taken=list(source.taken),
        there=list(source.there),
        removed=list(source.removed),
        running=list(source.running),
        refused=dict(source.refused),
    )


def merge(stores: Sequence[Path], db: Path, listener: Listener) -> MergedStores:
    """Take the runs of other stores into ``db``, all or none of those that are sound.

    Raises:
        UsageError: none is named, one is ``db`` itself, or has another run with the id of one.
        NotAStoreError: one is no store, damaged, or of another schema.
        StoreError: the store cannot be written.
    """
    if not stores:
        raise UsageError("name at least one results database")
    return MergedStores(merging.merge(db, stores, notices(listener)))
