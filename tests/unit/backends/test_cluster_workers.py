"""A Dask cluster on this machine: where it listens, and what bad workers can do to a plan."""

from __future__ import annotations

import functools
import os
from multiprocessing import resource_tracker
from pathlib import Path

import pytest

from orchestrator.backends.cluster import wire
from orchestrator.backends.cluster.address import ClusterAddress
from orchestrator.backends.cluster.guest import ClusterGuest
from orchestrator.errors import MachineError
from orchestrator.execution.runner import RunOptions, run_plan
from results.documents import run_document
from results.store.store import Store
from tests.support.cluster_workers import descendants, listening
from tests.support.fake_bed import DIGEST
from tests.support.hostile_texts import Watcher, build_nothing, captured_plan, fake_kernel
from tests.unit.backends import cluster_tasks

BAD = {
    "garbage": "malformed output",
    "an object": "malformed output",
    "a bomb": "malformed output",
    "a link": "not a regular file",
    "an escape": "not a regular file",
    "half a record": "ends in the middle of a record",
    "an error": r"ValueError: \x1b[31mred",
}


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_bad_workers_fail_their_runs_alone_and_all_listen_on_loopback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from orchestrator.backends.cluster.connection import Cluster
    from orchestrator.backends.guest import Guest

    kinds = ["good", *BAD, "a death", "good"]
    planned = captured_plan(f"repetitions={len(kinds)}")
    seeds = {run.seed: kind for run, kind in zip(planned.runs, kinds, strict=True)}
    assert len(seeds) == len(kinds)
    build_nothing(tmp_path, monkeypatch)
    kernel = fake_kernel(tmp_path)
    kernel.linux.write_bytes(b"kernel")
    heard: set[tuple[str, int]] = set()
    (tmp_path / "marks").mkdir()

    class Watching(Cluster):
        def examine(self, unconfined: bool) -> None:
            super().examine(unconfined)
            heard.update(listening(set(descendants(os.getpid()))))
            monkeypatch.setattr(wire, "code_identity", lambda: "f" * 64)
            with pytest.raises(MachineError, match="the controller's ffffffff"):
                super().examine(unconfined)

    cluster = Watching(
        ClusterAddress(None, None),
        2,
        functools.partial(cluster_tasks.play, seeds, str(tmp_path / "marks")),
    )
    before = set(descendants(os.getpid()))
    spread = ClusterGuest(Guest(kernel, unconfined=True, jobs=2), cluster, 3)
    options = RunOptions(tmp_path / "runs.db", spread, slots=spread)
    ids = run_plan(planned, options, Watcher())

    assert {host for host, _port in heard} == {"127.0.0.1"}
    assert len(heard) >= 4, "scheduler, dashboard and workers"
    with Store.open_read_only(options.db) as store:
        runs = run_document.of_ids(store, ids)["runs"]
        consoles = [store.load(run_id).artefact("console") for run_id in ids]
    for kind, run, console in zip(kinds, runs, consoles, strict=True):
        if kind in BAD:
            assert run["status"] == "failed", kind
            assert BAD[kind] in run["error"], kind
        else:
            assert run["status"] == "ok", run["error"]
            assert run["digest"] == DIGEST
            assert console == "a console\n"
    assert len(list((tmp_path / "marks").iterdir())) == 1, "a worker died and its run was repeated"
    assert not list(tmp_path.rglob("escaped"))
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]
    assert set(descendants(os.getpid())) <= before
