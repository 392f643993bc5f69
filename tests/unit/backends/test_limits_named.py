"""A bed that could not get memory or processes says which limits it had."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.backends.contract import RunContext
from orchestrator.backends.process import require_done
from orchestrator.errors import BedError

LIMITS = "its limits: 1.0 GiB of address space a process, 5 processes"


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("OSError: [Errno 12] Cannot allocate memory: 'ovsdb-server'", True),
        ("BlockingIOError: [Errno 11] Resource temporarily unavailable", True),
        ("ValueError: no such thing", False),
    ],
)
def test_a_want_of_memory_or_processes_names_the_limits(
    tmp_path: Path, said: str, named: bool
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "failure").write_text(said)
    (tmp_path / "out" / "progress").write_text("setup 0")
    (tmp_path / "console").write_text("")
    context = RunContext(tmp_path, 0, lambda _group: None, lambda _group: None)
    with pytest.raises(BedError) as raised:
        require_done(context, 1.0, "the guest", explained=LIMITS)
    assert said in str(raised.value)
    assert (LIMITS in str(raised.value)) == named
