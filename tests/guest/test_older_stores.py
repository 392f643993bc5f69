"""What earlier versions of the program stored is run again, to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from guest.build import GuestKernel
from orchestrator.cli import commands
from results import integrity
from results.store import Store
from tests.unit.stores import restore

pytestmark = pytest.mark.guest


@pytest.mark.parametrize("version", [1, 4])
def test_a_run_of_an_earlier_version_is_verified(
    kernel: GuestKernel, tmp_path: Path, version: int
) -> None:
    path = restore(f"schema-{version}.sql", tmp_path / "runs.db")
    with Store.open_read_only(path) as store:
        # The last that ended ok; at schema 4 it has TCP, UDP, transfers and an event.
        last = [row for row in store.list_runs() if row.status == "ok"][-1]
    result = CliRunner().invoke(
        commands, ["--debug", "run", "--verify", last.id, "--db", str(path), "--quiet"]
    )
    assert result.exit_code == 0, result.stderr
    assert f"the same digest as {last.id} ({last.digest})" in result.stderr
    found = integrity.examine(path)
    assert found.ok
    assert (found.counts["ok"], found.runs[-1].state) == (1, "ok")
