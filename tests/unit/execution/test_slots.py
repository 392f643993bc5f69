"""Slots of runs on this machine: how many beds, on which CPUs, and the order of runs."""

from __future__ import annotations

import contextlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from orchestrator.backends.contract import Slot
from orchestrator.execution.slots import LocalSlots, RunOrder, cpus


@pytest.fixture
def stopping() -> threading.Event:
    return threading.Event()


def given(slots: LocalSlots, held: contextlib.ExitStack, stopping: threading.Event) -> Slot:
    slot = held.enter_context(slots.slot(stopping))
    assert slot is not None
    return slot


def two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {3, 5})


def test_cpus_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    two_cpus(monkeypatch)
    assert sorted(cpus(9)) == [3, 5]
    assert len(cpus(1)) == 1


def test_the_next_run_gets_another_cpu_while_the_last_one_ends(
    monkeypatch: pytest.MonkeyPatch, stopping: threading.Event
) -> None:
    two_cpus(monkeypatch)
    slots = LocalSlots(1)
    with contextlib.ExitStack() as first, contextlib.ExitStack() as second:
        one = given(slots, first, stopping)
        one.leave()
        one.leave()  # it has left: this gives no second place
        other = given(slots, second, stopping)
        assert {one.cpu, other.cpu} == {3, 5}
        first.close()
        other.leave()
        with contextlib.ExitStack() as third:
            assert given(slots, third, stopping).cpu == one.cpu


def test_a_run_takes_the_cpu_whose_bed_ends(
    monkeypatch: pytest.MonkeyPatch, stopping: threading.Event
) -> None:
    two_cpus(monkeypatch)
    slots = LocalSlots(2)
    with contextlib.ExitStack() as held:
        one, other = given(slots, held, stopping), given(slots, held, stopping)
        assert one.cpu != other.cpu
        other.leave()
        assert given(slots, held, stopping).cpu == other.cpu


def test_a_run_waits_until_one_leaves(stopping: threading.Event) -> None:
    slots = LocalSlots(1)
    began = threading.Event()

    def run() -> None:
        with slots.slot(stopping) as slot:
            assert slot is not None
            began.set()

    with ThreadPoolExecutor(1) as pool, slots.slot(stopping) as slot:
        assert slot is not None
        future = pool.submit(run)
        assert not began.wait(0.2)
        slot.leave()
        future.result(10)


def test_a_stopped_plan_gives_no_slot(stopping: threading.Event) -> None:
    slots = LocalSlots(1)
    with slots.slot(stopping) as slot, ThreadPoolExecutor(1) as pool:
        assert slot is not None

        def run() -> None:
            with slots.slot(stopping) as other:
                assert other is None

        future = pool.submit(run)
        stopping.set()
        future.result(10)


def test_runs_begin_and_are_stored_in_the_order_of_the_plan(stopping: threading.Event) -> None:
    order = RunOrder(3, True, stopping)
    begun: list[int] = []
    stored: list[int] = []

    def run(index: int) -> None:
        with order.running(index):
            with order.beginning(index):
                begun.append(index)
            order.await_earlier(index)
            stored.append(index)

    with ThreadPoolExecutor(3) as pool:
        for future in [pool.submit(run, index) for index in (2, 1, 0)]:
            future.result(10)
    assert begun == stored == [0, 1, 2]


def test_several_beds_at_a_time_are_stored_as_they_end(stopping: threading.Event) -> None:
    RunOrder(2, False, stopping).await_earlier(1)  # although the run before has not ended


def test_a_stopped_plan_waits_for_no_run_before(stopping: threading.Event) -> None:
    order = RunOrder(2, True, stopping)
    stopping.set()
    with order.beginning(1):
        order.await_earlier(1)
