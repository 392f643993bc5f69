"""Large and hostile scenarios: the work of checking them grows with their length only."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.errors import MOST_SHOWN, ScenarioError
from orchestrator.scenario import load
from orchestrator.scenario.loader import MAX_BYTES

QUICKSTART = (Path(__file__).parents[3] / "scenarios" / "quickstart.yaml").read_text()
SIZE = 10_000
"""Bytes of what is added, at first."""


def many(line: Callable[[int], str], size: int) -> str:
    return "".join(line(number) for number in range(size // len(line(100_000))))


def added(line: Callable[[int], str], before: str = "", after: str = "") -> Callable[[int], str]:
    return lambda size: QUICKSTART + before + many(line, size) + after


def inserted(
    line: Callable[[int], str], before: str = "sample:", head: str = "", after: str = "sample:"
) -> Callable[[int], str]:
    return lambda size: QUICKSTART.replace(before, head + many(line, size) + after)


def entries(key: str, line: Callable[[int], str]) -> Callable[[int], str]:
    """A matrix with a combination and an entry for each 40 bytes."""

    def text(size: int) -> str:
        number = size // 40
        lines = "".join(f"  - {line(entry)}\n" for entry in range(number))
        return f"version: 1\nmatrix:\n  seed: {list(range(number))}\n  {key}:\n{lines}"

    return text


WORST: dict[str, Callable[[int], str]] = {
    "unknown": added(lambda n: f"k{n}: 1\n"),
    "near": added(lambda n: f"duration{n}: 1s\n"),
    "inside": inserted(
        lambda n: f"  tcp{n}: 1ms\n", "sample: {tcp: 100ms, queue: 100ms}", "sample:\n", ""
    ),
    "below": added(lambda n: f"k{n}:\n" + "".join(f"  k{one}: 1\n" for one in range(16))),
    "twice": added(lambda n: "k: 1\n"),
    "anchors": added(lambda n: f"k{n}: &a{n} 1\n"),
    "anchor": added(lambda n: "a", "k: &", " 1\n"),
    "aliases": added(lambda n: "*a,", "a: &a [1]\nb: [", "1]\n"),
    "nested": added(lambda n: "[", "k: ", "\n"),
    "mappings": added(lambda n: "{a: ", "k: ", "\n"),
    "text": added(lambda n: "a", "k: ", "\n"),
    "number": added(lambda n: "1", "k: ", "\n"),
    "items": added(lambda n: "-\n", "k:\n"),
    "halves": added(lambda n: f'k{n}: "\\ud83d"\n'),
    "events": added(lambda n: f"- {{at: 1s, lnk: x{n}}}\n", "events:\n"),
    "groups": inserted(lambda n: f"  - {{name: f{n}, group: ab{n}}}\n"),
    "controls": inserted(lambda n: f"  - {{name: f{n}, group: a, congestion: renn{n}}}\n"),
    "axes": added(lambda n: f"  k{n}: [1]\n", "matrix:\n"),
    "lists": added(lambda n: f"  flows.f{n}: {list(range(1000))}\n", "matrix:\n"),
    "values": added(lambda n: "7,", "matrix:\n  seed: [", "7]\n"),
    "exclude": entries("exclude", lambda n: f"{{seed: {n}}}"),
    "include": entries("include", lambda n: f"{{seed: {n}, warmup: x}}"),
    "large": lambda size: (
        f"version: 1\nmatrix: {{seed: {list(range(size // 40))}, name: [{'a' * size}]}}\n"
    ),
    "reduced": added(lambda n: f"  k{n}: 1\n", "reduced:\n"),
    "variants": lambda size: added(
        lambda n: "- {at: 1s, link: bottleneck, rate: 5mbit}\n",
        f"matrix: {{seed: {list(range(9000))}}}\nevents:\n",
    )(2 * size),  # fewer events and variants together are allowed
}


def refused(file: Path, reduced: bool) -> tuple[ScenarioError, int]:
    """Return the error of a file, and how many functions were called to find it."""
    calls = itertools.count()

    def count(_frame: object, event: str, _argument: object) -> None:
        if event in ("call", "c_call"):
            next(calls)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        load(file, reduced=reduced)
    except ScenarioError as error:
        return error, next(calls)
    finally:
        sys.setprofile(before)
    raise AssertionError("it is valid")


@pytest.mark.slow
@pytest.mark.parametrize("name", WORST)
def test_the_worst_texts_are_refused_with_few_words_and_work_in_proportion(
    tmp_path: Path, name: str
) -> None:
    file = tmp_path / "worst.yaml"
    called = []
    for size in (SIZE, 4 * SIZE):
        file.write_text(WORST[name](size))
        error, calls = refused(file, name == "reduced")
        called.append(calls)
        lines = str(error).splitlines()
        faults = len(error.faults)
        assert len(lines) == min(faults, MOST_SHOWN + 1)
        assert max(map(len, lines)) < 1000
        if faults > MOST_SHOWN:
            assert lines[-1] == f"and {faults - MOST_SHOWN} more"
    assert called[1] < 5 * called[0], called


def test_a_scenario_may_have_4_mb_and_no_more(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    filling = "# a comment\n" * ((MAX_BYTES - len(QUICKSTART)) // 12)
    file.write_text(QUICKSTART + filling)
    assert load(file).scenario.name == "quickstart"
    file.write_text(QUICKSTART + filling + "# a comment\n")
    with pytest.raises(ScenarioError, match="is larger than 4000000 bytes"):
        load(file)
