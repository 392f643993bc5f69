"""Tells which stored traces can be removed, because their runs can be made again to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from guest import build
from orchestrator import backends
from orchestrator.application import stored_plans
from orchestrator.errors import MachineError, UsageError
from results.store.store import Store


@dataclass(frozen=True)
class SpareTraces:
    """Runs whose traces `zoom` can make again, and those whose traces stay.

    ``stored_bytes`` is what the traces of ``runs`` take. Those of ``kept`` have a note or a tag, or
    cannot be made again by this program and its kernel.
    """

    runs: Sequence[str]
    stored_bytes: int
    kept: Sequence[str]


def spare_traces(store: Store) -> SpareTraces:
    """Return which traces of a store can be removed.

    Raises:
        UsageError: there are traces, but no guest kernel with which they could be made again.
        StoreError: the store cannot be read.
    """
    remarks = store.remarks()
    traced = {row.id: heads for row in store.list_runs() if (heads := store.traces(row.id))}
    if traced and not build.built():
        raise UsageError(
            "--traces: the guest kernel is not built, so no trace could be made again\n"
            "  fix: orchestrator guest build"
        )
    spare, kept, stored_bytes = [], [], 0
    for run_id, heads in traced.items():
        if run_id in remarks or not _can_be_made_again(store, run_id):
            kept.append(run_id)
        else:
            spare.append(run_id)
            stored_bytes += sum(head.stored_bytes for head in heads)
    return SpareTraces(spare, stored_bytes, kept)


def _can_be_made_again(store: Store, run_id: str) -> bool:
    try:
        again = stored_plans.verification([run_id], store, backends.DEFAULT, stored_plans.ZOOM)
        kernel = build.find(again.plan.runs[0].kernel)
    except (UsageError, MachineError):
        return False
    return kernel is not None and not any(
        stored_plans.other_kernel(each, theirs, commit, kernel)
        for each, (theirs, commit) in again.kernels.items()
    )
