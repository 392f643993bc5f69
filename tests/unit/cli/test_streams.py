"""Standard input, output and error that are closed, full, or not read any more."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.cli import _streams
from orchestrator.errors import ReaderGone
from tests.support.stores import restore

ROOT = Path(__file__).parents[3]
PROGRAM = [sys.executable, "-c", "from orchestrator.cli import main; main()"]
NOTHING = "0<&- 1>&- 2>&-"


def call(redirections: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell with these redirections; what is redirected reads as empty."""
    line = f"{shlex.join([*PROGRAM, *words])} {redirections}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=cwd, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "bug" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done


@pytest.mark.slow
@pytest.mark.parametrize(
    ("redirections", "status", "said"),
    [
        ("", 0, ""),
        ("1>&-", 0, f"{_streams.CLOSED}\n"),
        ("2>&-", 0, ""),
        ("0<&-", 0, ""),
        (NOTHING, 0, ""),
        ("2>/dev/full", 0, ""),
        ("1>/dev/full", 1, "error: standard output cannot be written: No space left on device"),
        ("1</dev/null", 1, "error: standard output cannot be written: Bad file descriptor"),
        ("1>/dev/full 2>/dev/full", 1, ""),
        ("| true", ReaderGone.exit_status, ""),
        ("2>&1 | true", ReaderGone.exit_status, ""),
    ],
)
def test_a_stream_that_cannot_be_used(
    tmp_path: Path, redirections: str, status: int, said: str
) -> None:
    done = call(redirections, "schema", cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert done.stderr.startswith(said)
    assert bool(done.stderr) == bool(said)
    if redirections in ("", "2>&-", "0<&-", "2>/dev/full"):
        assert "properties" in json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("redirections", ["2>&-", "2>/dev/full", NOTHING])
def test_a_message_that_cannot_be_written_changes_no_status(
    tmp_path: Path, redirections: str
) -> None:
    assert call(redirections, "show", "last", cwd=tmp_path).returncode == 2


def test_a_file_is_not_opened_in_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    code = (
        "from orchestrator.cli import _streams; _streams.prepare(); "
        "file = open('data', 'w'); print('printed'); assert file.fileno() > 2"
    )
    line = f"{shlex.join([sys.executable, '-c', code])} {NOTHING}"
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    subprocess.run(["bash", "-c", line], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "data").read_text() == ""


def test_what_an_encoding_lacks_is_escaped_as_in_json() -> None:
    _streams.prepare_escapes()
    text = "5 × µ😀\udcff"
    escaped = text.encode("ascii", _streams.ESCAPED)
    assert escaped == b"5 \\u00d7 \\u00b5\\ud83d\\ude00\\udcff"
    assert json.loads(b'"' + escaped + b'"') == text


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, results/runs.db, and a scenario, mine.yaml."""
    folder = tmp_path_factory.mktemp("there")
    (folder / "results").mkdir()
    restore(folder / "results" / "runs.db")
    (folder / "mine.yaml").write_bytes((ROOT / "scenarios/quickstart.yaml").read_bytes())
    return folder


@pytest.mark.build
@pytest.mark.parametrize(
    "words",
    ["runs", "show last --json", "plan mine.yaml", "--help", "--version",
     *(pytest.param(words, marks=pytest.mark.long) for words in (
         "runs --json", "show last", "experiments", "compare 20261125-172405 20261125-172412",
         "doctor --store", "validate mine.yaml", "schema --markdown", "judge --all",
         "export last -o out.json --force"))],
)  # fmt: skip
def test_every_command_says_that_it_cannot_print(store: Path, words: str) -> None:
    full = call("1>/dev/full", *words.split(), cwd=store)
    assert "standard output cannot be written" in full.stderr
    assert full.returncode == 1
    assert call(NOTHING, *words.split(), cwd=store).returncode == 0
