"""Completion of commands, options, files and ids in shells."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from orchestrator.backends import MODULES
from orchestrator.cli import commands
from orchestrator.protocol.reports.trace_records import ENQUEUED
from orchestrator.recording.extracted import ExtractedNumber, document
from results.export import FORMATS
from results.metrics import METRICS
from results.store.store import Store
from tests.support import traced_frames
from tests.support.recordings import head, whole

ROOT = Path(__file__).parents[4]
PROGRAM = Path(sys.executable).parent / "orchestrator"
SHELLS = {
    "bash": (["bash", "--norc", "-i"], 'eval "$(_ORCHESTRATOR_COMPLETE=bash_source orchestrator)"'),
    "zsh": (
        ["zsh", "-f", "-i"],
        "autoload -Uz compinit; compinit -u -D; "
        'eval "$(_ORCHESTRATOR_COMPLETE=zsh_source orchestrator)"',
    ),
    "fish": (["fish", "--private"], "_ORCHESTRATOR_COMPLETE=fish_source orchestrator | source"),
}
"""By shell: how it is started, and the line that docs/installing.md gives for it."""


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of two runs of a store that ORCHESTRATOR_DB names."""
    monkeypatch.setenv("ORCHESTRATOR_DB", str(tmp_path / "runs.db"))
    with Store(tmp_path / "runs.db") as store:
        first = store.begin(head(experiment="buffers"))
        store.finish(first, whole(), 1.0)
        return [first, store.begin(head(experiment="other"))]


def complete(*words: str) -> list[str]:
    """Return what completes the last word."""
    shell = ShellComplete(commands, {}, "orchestrator", "_ORCHESTRATOR_COMPLETE")
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


def test_commands_and_options_are_completed() -> None:
    assert complete("va") == ["validate"]
    assert {"run", "runs", "init", "web"} <= set(complete(""))
    assert complete("run", "--ver") == ["--verify"]
    assert complete("guest", "bu") == ["build"]


def test_ids_of_runs_are_completed_newest_first(stored: list[str]) -> None:
    first, second = stored
    for words in (["show"], ["rm"], ["judge"], ["compare", first]):
        assert complete(*words, "") == [second, first, "last"], words
    assert complete("show", first[:-1]) == [first]
    assert complete("show", "la") == ["last"]
    for words in (["export"], ["plot", "metric"], ["run", "--verify"]):  # experiments, too
        assert complete(*words, "") == ["", "other", "buffers", second, first, "last"], words
    assert complete("show", "x") == []


def test_the_store_of_the_command_line_counts(stored: list[str], tmp_path: Path) -> None:
    Store(tmp_path / "empty.db").close()
    assert complete("show", "--db", str(tmp_path / "empty.db"), "") == []


@pytest.mark.parametrize("content", [None, b"no store"])
def test_without_a_store_nothing_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    path = tmp_path / "none.db"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("ORCHESTRATOR_DB", str(path))
    assert complete("show", "") == []
    assert path.exists() == (content is not None)


def test_names_are_completed(stored: list[str]) -> None:
    assert complete("summary", "buf") == ["buf", "buffers"]  # the first stands for files
    assert complete("runs", "--experiment", "") == ["other", "buffers"]
    assert complete("run", "--backend", "") == list(MODULES)
    assert complete("doctor", "--backend", "gu") == ["guest"]
    assert complete("export", "last", "--format", "") == [*FORMATS, "rocrate", "kept"]
    assert complete("summary", "x", "--metric", "good") == sorted(
        {name for name, _ in METRICS if name.startswith("good")}
    )


def test_numbers_of_programs_are_completed_by_the_experiment(
    stored: list[str], tmp_path: Path
) -> None:
    recorded = whole()
    number = ExtractedNumber("program_page_s", 0.5, 1, 1)
    numbers = document({recorded.flows[0].name: [number]})
    with Store(tmp_path / "runs.db") as store:
        run = store.begin(head(experiment="web"))
        provenance = recorded.provenance | {"extracted": numbers}
        store.finish(run, replace(recorded, provenance=provenance), 1.0)
    for words in (["summary"], ["report"], ["summary", "web"], ["report", "buffers", "web"]):
        assert complete(*words, "--metric", "program_") == [number.metric], words
    assert complete("summary", "web", "--metric", "p")[-1] == number.metric
    assert number.metric not in complete("summary", "web", "--metric", "good")
    assert complete("summary", "buffers", "--metric", "program_") == []
    (tmp_path / "runs.db").write_bytes(b"no store")
    assert complete("summary", "--metric", "program_") == []


def test_traces_of_a_run_and_their_places_are_completed(stored: list[str], tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        seen = [traced_frames.sent(1, 1), traced_frames.at_queue(2, ENQUEUED, 1)]
        both = [traced_frames.trace(seen), traced_frames.trace(seen[1:])]
        run = traced_frames.run_with(store, *both).id
    queue = "bottleneck:forward:in"
    assert complete("export", run, "--trace", "") == ["2", "1"]
    assert complete("export", run, "--at", "") == [queue, "all"]
    assert complete("export", run, "--trace", "1", "--at", "") == ["s", queue, "all"]
    assert complete("export", run, "--at", "s") == []
    for other in (stored[0], "none", "buffers"):
        assert complete("export", other, "--trace", "") == []
        assert complete("export", other, "--at", "") == []


@pytest.mark.slow
def test_papers_claims_and_statements_are_completed(tmp_path: Path) -> None:
    assert complete("reproduce", "west") == ["westwoodplus"]
    assert complete("reproduce", "westwoodplus:W2") == [
        "westwoodplus:W2", "westwoodplus:W2.1", "westwoodplus:W2.2", "westwoodplus:W2.3",
    ]  # fmt: skip
    (tmp_path / "broken.yaml").write_text("title: [")
    assert complete("reproduce", "--claims", str(tmp_path), "w") == []


def test_a_wrong_command_completes_without_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    complete("nonsense", "")
    complete("plot", "nonsense", "")
    assert capsys.readouterr() == ("", "")


@contextmanager
def terminal(words: list[str], folder: Path) -> Iterator[int]:
    """Start a shell on a terminal of its own, in a folder, and yield the terminal."""
    pid, line = pty.fork()
    if pid == 0:  # the shell
        try:
            os.chdir(folder)
            os.execvpe(words[0], words, environment(folder))
        finally:
            os._exit(127)
    try:
        yield line
    finally:
        os.close(line)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a shell that finds the program and no user's settings."""
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "TERM": "vt100", "HOME": str(folder)}


def shown(line: int, wanted: str, within_s: float = 60.0) -> str:
    """Return what a terminal shows until it has shown the wanted text."""
    text, end = "", time.monotonic() + within_s
    while wanted not in text and time.monotonic() < end:
        if select.select([line], [], [], 0.1)[0]:
            text += os.read(line, 65536).decode(errors="replace")
    return text


@pytest.mark.parametrize("shell", SHELLS)
def test_the_documents_have_the_line_of_each_shell(shell: str) -> None:
    documented = (ROOT / "docs" / "installing.md").read_text("utf-8").replace("\\|", "|")
    assert f"`{SHELLS[shell][1].rpartition('; ')[2]}`" in documented


TYPED = [
    ("orchestrator vali", "date"), ("unmis", "takable.yaml"), ("--redu", "ced"),
    ("\x15orchestrator compa", "re"), ("la", "st"), ("--js", "on"),
    ("\x15orchestrator summa", "ry"), ("buf", "fers"),
]  # fmt: skip
"""What is typed into a shell, and what completes it. The first character of a new line, Ctrl-U,
removes the line before it."""


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", pytest.param("zsh", marks=pytest.mark.long)])
def test_a_shell_completes_what_is_typed(shell: str, tmp_path: Path, stored: list[str]) -> None:
    words, source = SHELLS[shell]
    (tmp_path / "unmistakable.yaml").write_text("")
    with terminal(words, tmp_path) as line:
        os.write(line, f"{source}; echo so''urced\n".encode())
        assert "sourced" in shown(line, "sourced")
        for start, rest in TYPED:
            shown(line, "nothing", within_s=0.5)
            os.write(line, start.encode())
            shown(line, start[-3:], within_s=2.0)
            os.write(line, b"\t")
            assert rest in shown(line, rest), start


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("vali", "validate"),
        ("validate unmis", "unmistakable.yaml"),
        ("validate --redu", "--reduced"),
        ("compare la", "last"),
        ("summary buf", "buffers"),
    ],
)
def test_fish_completes_what_is_typed(
    typed: str, completed: str, tmp_path: Path, stored: list[str]
) -> None:
    words, source = SHELLS["fish"]
    (tmp_path / "unmistakable.yaml").write_text("")
    said = subprocess.run(
        [*words, "--command", f"{source}; complete --do-complete 'orchestrator {typed}'"],
        cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert completed in [each.partition("\t")[0] for each in said.stdout.splitlines()]
