"""The command line as a whole: help, errors as text, exit statuses."""

from __future__ import annotations

import importlib
import inspect
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from orchestrator import __version__, cli
from orchestrator.cli import commands
from orchestrator.errors import (
    Fault,
    MachineError,
    OrchestratorError,
    RunError,
    ScenarioError,
    Unfaithful,
    UsageError,
)
from orchestrator.execution.commit import git_commit

PROMISED = {
    "compare", "doctor", "experiments", "export", "gc", "guest", "init", "judge", "kmods", "merge",
    "note", "plan", "plot", "report", "reproduce", "rm", "run", "runs", "schema", "show", "summary",
    "tag", "validate", "web",
}  # fmt: skip
"""Commands that users' scripts may call. A new command need not be listed here."""


def run(*args: str) -> Result:
    return CliRunner().invoke(commands, args)


NO_STORES = ("text.db", "photos.db", "missing.db")


@pytest.mark.parametrize("name", NO_STORES)
@pytest.mark.parametrize(
    "words",
    ["runs", "show last", "compare last last", "export last -o out.csv", "judge last", "web",
     "doctor --store"],
)  # fmt: skip
def test_a_database_that_is_no_store_is_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, name: str
) -> None:
    served: list[object] = []
    monkeypatch.setattr("web.serve", lambda *what: served.append(what))
    path = tmp_path / name
    if name == "photos.db":
        with closing(sqlite3.connect(path)) as photos:
            photos.execute("CREATE TABLE photos (name)")
    elif name == "text.db":
        path.write_bytes(b"my notes\n")
    result = run(*words.split(), "--db", str(path))
    if (words, name) == ("web", "missing.db"):  # the first run makes it
        assert (result.exit_code, len(served)) == (0, 1)
        return
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {path}: ")
    assert served == []


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let ``orchestrator schema`` raise that."""

    @click.command()
    def command() -> None:
        raise error

    module = importlib.import_module("orchestrator.cli.schema")
    monkeypatch.setattr(module, "command", command)


def test_every_file_is_a_command_and_is_listed_in_the_help() -> None:
    result = run("--help")
    assert result.exit_code == 0
    listed = result.stdout.partition("Commands:")[2].partition("Exit status")[0]
    names = [line.split()[0] for line in listed.splitlines() if line[:2] == "  " and line.strip()]
    files = Path(cli.__file__).parent.glob("[!_]*.py")
    assert names == sorted(file.stem for file in files)
    gone = PROMISED - set(names)
    assert not gone, f"scripts call the commands {sorted(gone)}: keep them"


@pytest.mark.parametrize("name", commands.list_commands(click.Context(commands)))
def test_every_command_explains_itself(name: str) -> None:
    result = run(name, "--help")
    assert result.exit_code == 0
    assert len(result.stdout) > 150


def test_the_package_is_the_command_too() -> None:
    words = [sys.executable, "-m", "orchestrator"]
    for given, status in (("--version", 0), ("nonsense", 2)):
        done = subprocess.run([*words, given], capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr
        assert "orchestrator" in (done.stdout if status == 0 else done.stderr)


def test_version_prints_version_and_commit() -> None:
    said = run("--version").stdout.strip()
    commit = git_commit()
    assert said == f"orchestrator, version {__version__}" + (
        f" (commit {commit})" if commit else ""
    )


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_needs_none_of_the_heavy_libraries(word: str) -> None:
    code = (
        "import sys\nfrom orchestrator.cli import main\ntry:\n    main()\nexcept SystemExit:\n"
        "    names = {'numpy', 'pydantic', 'rich', 'ruamel', 'flask', 'sqlite3'}\n"
        "    names |= {'matplotlib', 'pyarrow'}\n"
        "    heavy = names & set(sys.modules)\n"
        "    sys.exit(str(sorted(heavy)) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, word], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_list_of_commands_has_their_help_and_imports_none_of_them() -> None:
    context = click.Context(commands)
    for name in commands.list_commands(context):
        command = commands.get_command(context, name)
        assert command is not None
        assert cli._help(name) == inspect.cleandoc(command.help or "")
    code = (
        "import sys\nfrom orchestrator.cli import Commands, commands, main\nimport click\n"
        "found = commands.shell_complete(click.Context(commands), 'ru')\n"
        "assert [each.value for each in found] == ['run', 'runs'], found\n"
        "assert found[1].help.startswith('List '), found\n"
        "try: main()\nexcept SystemExit: pass\n"
        "names = commands.list_commands(None)\n"
        "sys.exit(str([each for each in names if f'orchestrator.cli.{each}' in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=False
    )
    assert done.stderr == "[]\n"
    assert "List " in done.stdout


@pytest.mark.slow
def test_no_command_starts_a_thread_for_numpy() -> None:
    code = (
        "import os, orchestrator.cli\n"
        "try: orchestrator.cli.main()\n"
        "finally:\n"
        "    import numpy; print(len(os.listdir('/proc/self/task')), end='')"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            code,
            "validate",
            str(Path(__file__).parents[3] / "scenarios/quickstart.yaml"),
        ],
        capture_output=True,
        text=True,
        check=True,
        env={name: text for name, text in os.environ.items() if "THREADS" not in name},
    )
    assert done.stdout.endswith("\n1")


def test_the_error_for_a_wrong_command_lists_all() -> None:
    result = run("rnu")
    assert result.exit_code == 2
    assert "did you mean 'run'? available: bisect, compare, diff, doctor" in result.stderr
    assert result.stdout == ""


def test_a_wrong_option_is_a_usage_error() -> None:
    result = run("schema", "--jsno")
    assert result.exit_code == 2
    assert "--jsno" in result.stderr


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OrchestratorError("no"), 1),
        (RunError("no"), 1),
        (UsageError("no"), 2),
        (Unfaithful("no"), 3),
        (MachineError("no", "apt-get install it"), 4),
        (KeyboardInterrupt(), 130),
        (SystemExit(5), 5),
    ],
)
def test_errors_become_a_message_and_a_status(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int
) -> None:
    fail_with(monkeypatch, error)
    result = run("schema")
    assert result.exit_code == status
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    if isinstance(error, OrchestratorError):
        assert result.stderr == f"error: {error}\n"


def test_every_fault_of_a_scenario_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    faults = [Fault("a.yaml", 7, 3, "second"), Fault("a.yaml", 2, 1, "first")]
    fail_with(monkeypatch, ScenarioError(faults))
    result = run("schema")
    assert result.exit_code == 2
    assert result.stderr.splitlines() == ["a.yaml:2:1: first", "a.yaml:7:3: second"]


def test_an_unexpected_exception_is_one_line_and_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, ZeroDivisionError("division by zero"))
    result = run("schema")
    assert result.exit_code == 1
    assert "unexpected ZeroDivisionError: division by zero" in result.stderr
    assert "--debug" in result.stderr
    assert "Traceback" not in result.stderr

    result = run("--debug", "schema")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr


@pytest.mark.parametrize(
    ("error", "said", "fix"),
    [
        (OSError(28, "No space left on device", "/x/y"), "`/x/y`: No space left", "free some"),
        (OSError(27, "File too large"), "File too large: its file system has", "`ulimit -f`"),
        (PermissionError(13, "Permission denied", b"/x"), "`/x`: Permission denied", "access"),
        (OSError(24, "Too many open files"), "Too many open files", "`ulimit -n`"),
        (MemoryError(), "no more memory", "`ulimit -v`"),
        (RuntimeError("can't start new thread"), "cannot start a thread", "`ulimit -u`"),
    ],
)
def test_an_error_of_the_system_is_no_bug(
    monkeypatch: pytest.MonkeyPatch, error: Exception, said: str, fix: str
) -> None:
    fail_with(monkeypatch, error)
    result = run("schema")
    assert result.exit_code == 4
    assert result.stderr.startswith("error: ")
    assert said in result.stderr
    assert fix in result.stderr
    assert "bug" not in result.stderr


def test_a_folder_that_was_removed_is_no_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    fail_with(monkeypatch, FileNotFoundError(2, "No such file or directory"))
    result = run("schema")
    monkeypatch.chdir(tmp_path)
    assert result.exit_code == 4
    assert "the current folder was removed" in result.stderr


def test_debug_shows_where_a_deliberate_error_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, UsageError("no"))
    assert "Traceback" in run("--debug", "schema").stderr


def test_sigterm_unwinds_the_program() -> None:
    code = (
        "import sys, time, click\nfrom orchestrator.cli import commands\n"
        "@commands.command()\n"
        "def stay():\n"
        "    try:\n        print('ready', flush=True); time.sleep(60)\n"
        "    finally:\n        print('tidied', flush=True)\n"
        "type(commands).get_command = lambda *_: stay\n"
        "type(commands).list_commands = lambda *_: ['stay']\n"
        "commands.main(['stay'])\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "tidied\n"
        assert process.wait(10) == 143
