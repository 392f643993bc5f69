"""``runs``, ``show``, ``compare`` and ``export`` of what ``run`` has stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.planning.plan import repetition_seed
from tests.support import golden
from tests.support.run import FakeRunner, fake, orchestrator, run_ids

__all__ = ["fake"]

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("command", ["runs", "compare"])
def test_a_command_reads_as_its_golden_file(fake: FakeRunner, command: str) -> None:
    orchestrator("run", "pair.yaml")
    orchestrator("run", "pair.yaml", "--set", "seed=2")
    words = {"runs": [], "compare": run_ids()}[command]
    result = orchestrator(command, *words)
    assert (result.exit_code, result.stderr) == (0, "")
    golden.check(GOLDEN / f"{command}.txt", result.stdout)


@pytest.mark.parametrize(
    "words",
    [
        ["export", "TEXT", "-o", "x.csv"], ["export", "TEXT", "--format", "rocrate", "-o", "x"],
        ["run", "--verify", "TEXT"], ["plot", "time", "TEXT", "-o", "x.svg"],
        ["plot", "metric", "TEXT", "--metric", "goodput_bps", "-o", "x.svg"], ["summary", "TEXT"],
        ["report", "TEXT", "-o", "x"], ["runs", "--experiment", "TEXT"],
        ["rm", "--experiment", "TEXT", "--yes"],
    ],
)  # fmt: skip
def test_an_unknown_experiment_is_answered_with_those_there(
    fake: FakeRunner, words: list[str]
) -> None:
    """``export`` and ``run --verify`` knew of runs only."""
    orchestrator("run", "pair.yaml")
    for text, there in (("none", "there are pair"), ("pair@0123", "there are pair@")):
        refused = orchestrator(*(text if word == "TEXT" else word for word in words))
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert refused.stderr.startswith(f"error: there is no experiment {text} in ")
        assert f"; {there}" in refused.stderr


@pytest.mark.parametrize(
    "words",
    [["show"], ["compare", "last"], ["judge"], ["rm", "--yes"], ["tag", "good"], ["note", "fine"]],
)
def test_a_command_of_runs_says_that_a_name_is_an_experiment(
    fake: FakeRunner, words: list[str]
) -> None:
    orchestrator("run", "pair.yaml")
    refused = orchestrator(words[0], "pair", *words[1:])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert " is an experiment; `orchestrator runs --experiment pair` lists" in refused.stderr
    assert "there is no run none in " in orchestrator(words[0], "none", *words[1:]).stderr


def test_runs_show_compare_and_export(fake: FakeRunner) -> None:
    orchestrator("run", "pair.yaml")
    orchestrator("run", "pair.yaml", "--set", "seed=2")
    first, second = run_ids()
    listing: dict[str, Any] = json.loads(orchestrator("runs", "--json").stdout)
    assert [run["id"] for run in listing["runs"]] == [first, second]
    assert orchestrator("runs").stdout.splitlines()[3].split()[0] == second
    named = orchestrator("runs", "--experiment", "pair", "--json")
    assert [run["id"] for run in json.loads(named.stdout)["runs"]] == [first, second]
    assert "the runs are of 2 experiments of this name: pair@" in named.stderr
    labels = [
        f"{experiment['name']}@{experiment['identity'][:8]}"
        for experiment in json.loads(orchestrator("experiments", "--json").stdout)["experiments"]
    ]
    for label, run_id in zip(labels, (first, second), strict=True):
        one = orchestrator("runs", "--experiment", label, "--json")
        assert [run["id"] for run in json.loads(one.stdout)["runs"]] == [run_id]
    for unknown, valid in (("none", "there are pair"), ("pair@0123", ", ".join(labels))):
        refused = orchestrator("runs", "--experiment", unknown)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert f"there is no experiment {unknown} in " in refused.stderr
        assert valid in refused.stderr
    refused = orchestrator("report", first, "-o", "report")
    assert refused.exit_code == 2
    assert f"is a run; its experiment is {labels[0]}" in refused.stderr

    shown = orchestrator("show", first).stdout
    assert "base_rtt" in shown
    assert "kernel: Linux 6.12.7\nkernel check: not checked\n" in shown
    assert orchestrator("show", "last", "--console").stdout == "Linux booted\n"
    assert orchestrator("show", "last", "--log").stdout == "bed\n"

    text = orchestrator("compare", first, "last").stdout
    assert ["seed", "1", "2"] in [line.split() for line in text.splitlines()]
    compared = json.loads(orchestrator("compare", first, "last", "--json").stdout)
    assert [run["id"] for run in compared["runs"]] == [first, second]
    assert orchestrator("compare", first).exit_code == 2

    result = orchestrator("export", "last", "-o", "run.json")
    assert result.stdout == "run.json\n"
    assert json.loads(Path("run.json").read_text())["runs"][0]["id"] == second
    assert orchestrator("export", "last", "-o", "run.json").exit_code == 2
    assert orchestrator("export", "last", "-o", "run.json", "--force").exit_code == 0
    result = orchestrator("export", "last", "-o", "run.xls")
    assert result.exit_code == 2
    assert "choose one of csv, flent, json" in result.stderr


def listed(*words: str) -> list[int]:
    """The repetitions of the runs that the list has with these options."""
    document = json.loads(orchestrator("runs", *words, "--json").stdout)
    return [run["repetition"] for run in document["runs"]]


def test_the_list_can_be_selected_and_sorted(fake: FakeRunner) -> None:
    fake.failed = {1}
    fake.verdict = {repetition_seed(1, 2): "unfaithful"}
    orchestrator("run", "pair.yaml", "--set", "repetitions=4")
    assert listed() == [0, 1, 2, 3]
    assert listed("--status", "failed") == [0]
    assert listed("--status", "failed", "--status", "ok") == [0, 1, 2, 3]
    assert listed("--where", "congestion=reno and not verdict=unfaithful") == [1, 3]
    assert listed("--where", "repetition>=2", "--status", "ok") == [2, 3]
    assert listed("--sort", "-repetition") == [3, 2, 1, 0]
    assert listed("--sort", "wall_s") == [1, 2, 3, 0]  # the failed run has none
    assert listed("--sort", "-wall_s") == [1, 2, 3, 0]
    assert listed("--since", "2d") == [0, 1, 2, 3]
    assert listed("--since", "2000-01-01") == [0, 1, 2, 3]
    assert listed("--since", "2100-01-01T10:00+01:00") == []
    lines = orchestrator("runs", "--status", "failed").stdout.splitlines()
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--where", "verdict=fine"], "--where: column 9: a verdict is one of faithful"),
        (["--sort", "nothing"], "--sort nothing: there is no `nothing`"),
        (["--status", "broken"], "is not one of 'running', 'ok'"),
        (["--since", "2days"], "unknown unit `days`; valid units: s, min, h, d, w"),
        (["--since", "2m"], "unknown unit `m`"),
        (["--since", "yesterday"], "write an age such as 30min, 12h or 2d, or a time in UTC"),
        (["--since", "9999999w"], "write an age"),
    ],
)
def test_a_wrong_selection_is_a_usage_error(fake: FakeRunner, words: list[str], said: str) -> None:
    orchestrator("run", "pair.yaml")
    result = orchestrator("runs", *words)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr


@pytest.mark.parametrize("words", [["runs"], ["show", "last"], ["compare", "a", "b"]])
def test_without_a_store_the_error_says_how_to_get_one(fake: FakeRunner, words: list[str]) -> None:
    result = orchestrator(*words)
    assert result.exit_code == 2
    assert "orchestrator run" in result.stderr
    assert not Path("results").exists()
