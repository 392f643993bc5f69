"""Runs on the workers of a Dask cluster have the digests of runs on this machine."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from multiprocessing import resource_tracker
from pathlib import Path

import pytest

from guest.build import GuestKernel
from orchestrator.backends.cluster import wire
from orchestrator.backends.cluster.address import ClusterAddress
from orchestrator.backends.cluster.guest import ClusterGuest
from orchestrator.backends.guest import Guest
from orchestrator.execution.runner import Progress, RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from results.store.parts import integrity
from results.store.store import Store
from tests.guest.conftest import Quiet

pytestmark = [
    pytest.mark.guest,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]

SCENARIO = """\
version: 1
name: spread
seed: 1
duration: 1s
start_jitter: 100ms
topology:
  kind: dumbbell
  bottleneck: {rate: 2mbit, delay: 5ms, queue: {kind: droptail, limit: 20p}}
  groups:
    - {name: a, access: {rate: 100mbit, delay: 5ms}}
flows:
  - {name: one, group: a, congestion: westwood}
  - {name: two, group: a, congestion: cubic}
matrix:
  topology.bottleneck.queue.limit: [10p, 20p]
sample: {tcp: 1s, queue: 1s}
"""
RUNS = 40


def descendants(pid: int) -> Iterator[int]:
    """Yield all processes below one."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(c) for task in tasks for c in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return
    for child in children:
        yield child
        yield from descendants(child)


def digests(db: Path) -> dict[tuple[str, int], str | None]:
    """Return the digests of all runs, each of which is ok and stored once."""
    found: dict[tuple[str, int], str | None] = {}
    with Store.open_read_only(db) as store:
        for row in store.list_runs():
            assert row.status == "ok", row.error
            place = (json.dumps(row.variant), row.repetition)
            assert place not in found
            found[place] = row.digest
    return found


class KillsWorker(Quiet):
    """An observer that kills a worker with its guest when half of the runs are stored."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[int] = set()
        self.killed: list[int] = []

    def progress(self, progress: Progress) -> None:
        super().progress(progress)
        self.seen |= set(descendants(os.getpid()))
        if self.killed or self.phases.count("ok") < RUNS // 2:
            return
        for pid in list(self.seen):
            busy = any("/bed/linux" in words_of(below) for below in descendants(pid))
            if busy and "multiprocessing.spawn" in words_of(pid):
                self.seen |= set(descendants(pid))
                os.kill(pid, signal.SIGKILL)
                self.killed.append(pid)
                return


def words_of(pid: int) -> str:
    """Return the command line of a process, empty when it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.fixture(autouse=True)
def no_process_left() -> Iterator[None]:
    """End the process of Python's that stays after a cluster of this process, until its end."""
    yield
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


def spread(kernel: GuestKernel, workers: int, **environment: str) -> ClusterGuest:
    from orchestrator.backends.cluster.connection import Cluster

    cluster = Cluster(ClusterAddress(None, None), workers, environment=environment)
    return ClusterGuest(Guest(kernel, jobs=workers), cluster, workers + 1)


@pytest.mark.long
def test_a_worker_without_the_kernel_is_sent_it_and_gives_the_same_digests(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    (tmp_path / "spread.yaml").write_text(SCENARIO)
    planned = plan(load(tmp_path / "spread.yaml"))
    here, there, cache = tmp_path / "here.db", tmp_path / "there.db", tmp_path / "cache"
    run_plan(planned, RunOptions(here, Guest(kernel)), Quiet())
    backend = spread(kernel, 1, ORCHESTRATOR_CACHE=str(cache))
    ids = run_plan(planned, RunOptions(there, backend, slots=backend), Quiet())
    assert digests(there) == digests(here)
    (sent,) = (cache / "sent").iterdir()
    assert sent.name == wire.kernel_identity(kernel)
    with Store.open_read_only(there) as store:
        for run_id in ids:
            assert store.load(run_id).provenance["worker"] == os.uname().nodename


@pytest.mark.long
@pytest.mark.all_cpus
def test_forty_runs_survive_the_death_of_a_worker(kernel: GuestKernel, tmp_path: Path) -> None:
    (tmp_path / "spread.yaml").write_text(SCENARIO)
    planned = plan(load(tmp_path / "spread.yaml", [f"repetitions={RUNS // 2}"]))
    here, there = tmp_path / "here.db", tmp_path / "there.db"
    run_plan(planned, RunOptions(here, Guest(kernel)), Quiet())
    backend, watcher = spread(kernel, 2), KillsWorker()
    ids = run_plan(planned, RunOptions(there, backend, slots=backend), watcher)
    assert len(watcher.killed) == 1
    assert len(ids) == len(set(ids)) == len(digests(there)) == RUNS
    assert digests(there) == digests(here)
    assert integrity.examine(there).ok
    left = [words_of(pid) for pid in watcher.seen if words_of(pid)]
    assert all("resource_tracker" in words for words in left), left
