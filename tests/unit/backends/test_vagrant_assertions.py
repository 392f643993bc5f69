"""What the Vagrant machine's tests assert holds of stored runs, and fails for others."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from orchestrator.cli import commands
from results.store.store import Store
from tests.support import traces
from tests.support.fake_bed import bed, kernel, play
from tests.vagrant import assertions, machine

pytestmark = [pytest.mark.slow, pytest.mark.long]

__all__ = ["bed", "kernel"]

FOLDER = Path(assertions.__file__).parent
RECAP = """\
PLAY RECAP *********************************************************************
orchestrator : ok=0 changed=0 unreachable=0 failed=1 skipped=0 rescued=0 ignored=0

PLAY RECAP *********************************************************************
orchestrator               : ok=98   changed=3    unreachable=0    failed=0    skipped=2    rescued=0    ignored=0

"""  # noqa: E501


@pytest.fixture
def stored(
    bed: Path, kernel: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, dict[str, Any]]:
    """A store with one run of a captured bed, and the run's document."""
    document, _watcher = play(bed, kernel, tmp_path, monkeypatch)
    return tmp_path / "runs.db", document


def test_a_stored_run_is_what_the_machine_s_tests_require(
    stored: tuple[Path, dict[str, Any]],
) -> None:
    db, document = stored
    assertions.require_measured(document, "guest")
    assert "modules" in assertions.require_samples(db, document["id"])
    assertions.require_only_run(db, "guest")
    assertions.require_close(assertions.utilisation(document) * 1.04, document)


def test_a_run_without_frames_of_each_captured_host_is_found(
    stored: tuple[Path, dict[str, Any]],
) -> None:
    db, document = stored
    with pytest.raises(AssertionError):
        assertions.require_captures(db, document["id"])
    captured = traces.small()
    with Store(db) as store:
        store.add_trace(document["id"], captured)
    with pytest.raises(AssertionError):
        assertions.require_captures(db, document["id"])
    with Store(db) as store:
        captured.tables["hosts"] = captured.tables["hosts"][:1]
        captured.tables["frames"] = captured.tables["frames"][:1]
        store.add_trace(document["id"], captured)
    assertions.require_captures(db, document["id"])


def lose(document: dict[str, Any]) -> None:
    document["status"] = "failed"


def doubt(document: dict[str, Any]) -> None:
    document["fidelity"]["verdict"] = "doubtful"
    document["fidelity"]["checks"][0]["ok"] = None


@pytest.mark.parametrize("change", [lose, doubt, lambda document: document.update(backend="lab")])
def test_another_run_is_not(
    stored: tuple[Path, dict[str, Any]], change: Callable[[dict[str, Any]], None]
) -> None:
    document = copy.deepcopy(stored[1])
    change(document)
    with pytest.raises(AssertionError):
        assertions.require_measured(document, "guest")


def test_a_machine_that_was_too_slow_may_leave_a_run_in_doubt(
    stored: tuple[Path, dict[str, Any]],
) -> None:
    document = copy.deepcopy(stored[1])
    doubt(document)
    document["fidelity"]["checks"].append({"name": "host_load", "ok": None})
    assertions.require_measured(document, "guest")


def test_samples_that_end_early_are_found(
    stored: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    db, document = stored
    with pytest.raises(AssertionError):
        assertions.require_close(assertions.utilisation(document) * 1.06, document)
    with pytest.raises(AssertionError):
        assertions.require_only_run(db, "local")
    whole = Store.load

    def longer(store: Store, run_id: str) -> Any:
        run = whole(store, run_id)
        run.duration_s *= 1.5
        return run

    monkeypatch.setattr(Store, "load", longer)
    with pytest.raises(AssertionError):
        assertions.require_samples(db, document["id"])


@pytest.mark.parametrize(
    "words", [assertions.RUN_INSIDE, assertions.RUN_FROM_HOST, assertions.RUN_IN_GUEST]
)
def test_the_commands_of_the_machine_s_tests_are_valid(words: tuple[str, ...]) -> None:
    command = commands.get_command(click.Context(commands), words[0])
    assert command is not None
    with command.make_context(words[0], list(words[1:])) as context:
        assert context.params["as_json"]
    assert (machine.PROJECT / assertions.QUICKSTART).is_file()


def test_the_last_recap_counts() -> None:
    counts = machine.recap(RECAP)
    assert (counts["ok"], counts["changed"], counts["failed"]) == (98, 3, 0)


def test_the_machine_s_tests_have_no_sql() -> None:
    """The schema changes more often than they run."""
    for file in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert "sqlite3" not in names, file
