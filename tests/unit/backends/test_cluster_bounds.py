"""How many runs a cluster has under way, and how many answers are in memory at a time."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.backends.cluster import guest as cluster_guest
from orchestrator.backends.cluster import wire
from orchestrator.backends.cluster.guest import ClusterGuest
from orchestrator.backends.cluster.wire import OrderResult
from orchestrator.backends.contract import Report, RunContext
from orchestrator.backends.guest import Guest
from orchestrator.errors import MachineError
from orchestrator.execution.runner import RunOptions, run_plan
from results.store.store import Store
from tests.support.hostile_texts import (
    Watcher,
    build_nothing,
    captured_files,
    captured_plan,
    fake_kernel,
)


class Played:
    """A cluster that counts. It answers when ``expected`` orders are under way, or have been."""

    def __init__(self, threads: int, expected: int = 1) -> None:
        self.present = threads
        self.expected, self.full = expected, threading.Event()
        self.lock = threading.Lock()
        self.under_way = self.in_memory = 0
        self.most = [0, 0]
        self.attempts = 0

    def open(self) -> str:
        return ""

    def examine(self, unconfined: bool) -> None:
        assert unconfined

    def threads(self) -> int:
        return self.present

    def close(self) -> None:
        pass

    def count(self, index: int, by: int) -> None:
        with self.lock:
            if index == 0:
                self.under_way += by
            else:
                self.in_memory += by
            now = (self.under_way, self.in_memory)
            self.most = [max(pair) for pair in zip(self.most, now, strict=True)]
            if self.under_way >= self.expected:
                self.full.set()

    @contextlib.contextmanager
    def computed(self, order: bytes, context: RunContext, report: Report) -> Iterator[RunContext]:
        self.attempts += 1
        self.count(0, 1)
        assert self.full.wait(30)
        time.sleep(0.02)  # more of them would come now
        report("traffic", 1.0)
        yield context
        self.count(0, -1)

    def answer(self, context: RunContext) -> bytes:
        self.count(1, 1)
        context.held.callback(self.count, 1, -1)
        return OrderResult("ok", "here", "", wire.packed(captured_files())).to_bytes()


def spread(
    cluster: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, jobs: int | None = None
) -> ClusterGuest:
    build_nothing(folder, monkeypatch)
    kernel = fake_kernel(folder)
    kernel.linux.write_bytes(b"kernel")
    return ClusterGuest(Guest(kernel, unconfined=True), cluster, jobs)


@pytest.mark.slow
def test_runs_under_way_follow_the_workers_and_few_answers_are_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Played(8, 8 + 1 + 1)
    backend = spread(cluster, tmp_path, monkeypatch)
    options = RunOptions(tmp_path / "runs.db", backend, slots=backend)
    ids = run_plan(captured_plan("repetitions=24"), options, Watcher())
    with Store.open_read_only(options.db) as store:
        assert {store.load(run_id).status for run_id in ids} == {"ok"}
    assert cluster.under_way == cluster.in_memory == 0
    assert cluster.most == [8 + 1 + 1, cluster_guest.MOST_COLLECTED]


@pytest.mark.slow
def test_jobs_limit_the_runs_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Played(8, 3)
    backend = spread(cluster, tmp_path, monkeypatch, jobs=3)
    options = RunOptions(tmp_path / "runs.db", backend, slots=backend)
    run_plan(captured_plan("repetitions=6"), options, Watcher())
    assert cluster.most[0] == 3


def test_a_stopped_plan_begins_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = spread(Played(-1), tmp_path, monkeypatch)
    stopping = threading.Event()
    threading.Timer(0.1, stopping.set).start()
    with backend.slot(stopping) as slot:
        assert slot is None


@pytest.mark.slow
def test_a_lost_scheduler_ends_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lost(Played):
        @contextlib.contextmanager
        def computed(
            self, order: bytes, context: RunContext, report: Report
        ) -> Iterator[RunContext]:
            self.attempts += 1
            if self.attempts > 2:
                raise MachineError("the connection was lost", "start it again")
            yield context

    cluster = Lost(1)
    backend = spread(cluster, tmp_path, monkeypatch, jobs=1)
    options = RunOptions(tmp_path / "runs.db", backend, slots=backend)
    with pytest.raises(MachineError, match="was lost"):
        run_plan(captured_plan("repetitions=50"), options, Watcher())
    with Store.open_read_only(options.db) as store:
        statuses = [row.status for row in store.list_runs()]
    assert statuses[:3] == ["ok", "ok", "failed"]
    assert len(statuses) < 10, "the others were never begun"


@pytest.mark.slow
def test_a_worker_that_never_has_the_kernel_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Without(Played):
        sent = 0

        def answer(self, context: RunContext) -> bytes:
            return OrderResult("kernel", "there").to_bytes()

        def send_kernel(self, _future: object, content: bytes, identity: str) -> None:
            assert b"kernel" in content
            assert len(identity) == 64
            self.sent += 1

    cluster = Without(1)
    backend = spread(cluster, tmp_path, monkeypatch)
    options = RunOptions(tmp_path / "runs.db", backend, slots=backend)
    (run_id,) = run_plan(captured_plan(), options, Watcher())
    with Store.open_read_only(options.db) as store:
        row = store.load(run_id).row
    assert row.status == "failed"
    assert "no worker could run it in 5 attempts" in str(row.error)
    assert cluster.sent == cluster_guest.ATTEMPTS
