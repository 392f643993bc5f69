"""Whether there is the memory that guests may come to use."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.backends.guest import memory
from orchestrator.backends.guest.memory import (
    available_bytes,
    boot_memory_bytes,
    fits,
    memory_bytes,
    require_memory,
)
from orchestrator.errors import MachineError
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario import load

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
LIMITS = "matrix={topology.bottleneck.queue.limit: [100p, 1000000p, 2000000p]}"


def runs() -> list[RunSpec]:
    return plan(load(QUICKSTART, [LIMITS])).runs


@pytest.mark.parametrize(
    ("jobs", "largest", "said"),
    [
        (1, [2], "the guest may need 16.0 GiB"),
        (2, [1, 2], "2 guests at a time may need 24.4 GiB"),
        (9, [0, 1, 2], "3 guests at a time may need 25.2 GiB"),
    ],
)
def test_the_largest_guests_that_run_at_a_time_must_fit(
    jobs: int, largest: list[int], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = runs()
    needed = sum(memory_bytes(planned[number]) for number in largest)
    monkeypatch.setattr(memory, "available_bytes", lambda: needed)
    require_memory(planned, jobs)
    monkeypatch.setattr(memory, "available_bytes", lambda: needed - 1)
    with pytest.raises(MachineError, match=said) as caught:
        require_memory(planned, jobs)
    assert ("fewer --jobs" in caught.value.fix) == (jobs > 1)
    assert caught.value.exit_status == 4


def test_a_further_guest_boots_ahead_only_where_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = runs()
    needed = sum(memory_bytes(planned[number]) for number in (1, 2))
    monkeypatch.setattr(memory, "available_bytes", lambda: needed)
    assert fits(planned, 2)
    assert not fits(planned, 3)


def test_a_guest_of_many_hosts_has_memory_for_them_that_its_run_does_not_see() -> None:
    few, many = (
        plan(load(QUICKSTART, [f"topology.groups.a.hosts={number}"])).runs[0]
        for number in (10, 900)
    )
    assert boot_memory_bytes(few) == memory_bytes(few)
    hosts = len(many.network.hosts)
    assert boot_memory_bytes(many) - memory_bytes(many) == (hosts - 100) * 2**19


def test_the_kernel_tells_what_is_available(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "meminfo"
    told.write_text("MemTotal:       24634068 kB\nMemAvailable:   23000000 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", told)
    assert available_bytes() == 23_000_000 * 1024
    told.write_text("MemTotal:       24634068 kB\n")
    with pytest.raises(MachineError, match="has no value for"):
        available_bytes()
