"""What earlier versions of the program stored is run again, as a new run."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from guest.build import GuestKernel
from orchestrator.cli import commands
from orchestrator.protocol.version import DIGEST_VERSION, LINK_MODEL
from results import integrity
from results.store import Store
from tests.unit.stores import restore

pytestmark = pytest.mark.guest


@pytest.mark.parametrize("version", [1, 4])
def test_the_scenario_of_an_earlier_version_makes_a_new_run(
    kernel: GuestKernel, tmp_path: Path, version: int
) -> None:
    path = restore(f"schema-{version}.sql", tmp_path / "runs.db")
    with Store.open_read_only(path) as store:
        # The last that ended ok; at schema 4 it has TCP, UDP, transfers and an event.
        last = [row for row in store.list_runs() if row.status == "ok"][-1]
        scenario = store.load(last.id).head.scenario_text
    words = ["--debug", "run", "--db", str(path), "--quiet"]
    refused = CliRunner().invoke(commands, [*words, "--verify", last.id])
    assert (refused.exit_code, "digest version 1" in refused.stderr) == (2, True), refused.stderr

    (tmp_path / "older.yaml").write_text(scenario)
    result = CliRunner().invoke(commands, [*words, str(tmp_path / "older.yaml")])
    assert result.exit_code == 0, result.stderr
    with Store.open_read_only(path) as store:
        new = store.list_runs()[-1]
    assert (new.link_model, new.digest_version) == (LINK_MODEL, DIGEST_VERSION)
    verified = CliRunner().invoke(commands, [*words, "--verify", new.id])
    assert (verified.exit_code, "the same digest as" in verified.stderr) == (0, True)
    found = integrity.examine(path)
    assert found.ok
    assert found.runs[-1].state == "ok"
