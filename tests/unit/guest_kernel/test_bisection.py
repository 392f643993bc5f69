"""The search for the first bad commit, in histories of small git repositories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from guest import bisection, git_source
from guest.bisection import Verdict
from orchestrator.errors import MachineError
from tests.support.history import History

COUNT = 64


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    made = History(tmp_path_factory.mktemp("linux"))
    for number in range(COUNT):
        made.commit("net/tcp.c" if number % 4 else "docs/x", f"change {number}")
    return made


def oracle(history: History, first_bad: int, broken: set[int]) -> tuple[
    Callable[[str, int], Verdict], list[int]
]:  # fmt: skip
    tested: list[int] = []

    def test(commit: str, _suspects: int) -> Verdict:
        number = history.commits.index(commit)
        tested.append(number)
        return "skip" if number in broken else "bad" if number >= first_bad else "good"

    return test, tested


@pytest.mark.slow
@pytest.mark.parametrize("first_bad", [1, 2, 31, 32, 40, 62, 63])
def test_a_planted_commit_is_found_in_few_tests(history: History, first_bad: int) -> None:
    test, tested = oracle(history, first_bad, set())
    found = bisection.bisect(history.path, history.commits[0], history.commits[-1], (), test)
    assert found.first_bad == history.commits[first_bad]
    assert history.commits[first_bad - 1] in found.last_good
    assert len(tested) <= 6
    assert len(set(tested)) == len(tested)


@pytest.mark.slow
def test_broken_commits_are_passed_over(history: History) -> None:
    for broken in ({31, 32}, {39, 41}, {30, 31, 32, 33}):
        test, _tested = oracle(history, 40, broken)
        found = bisection.bisect(history.path, history.commits[0], history.commits[-1], (), test)
        assert found.first_bad == history.commits[40] or 39 in broken
        if 39 in broken:
            assert found.first_bad is None
            assert set(found.suspects) == {history.commits[39], history.commits[40]}


@pytest.mark.slow
def test_only_commits_that_change_the_paths_are_tested(history: History) -> None:
    test, tested = oracle(history, 41, set())
    bad = git_source.last_change(history.path, history.commits[-1], ("docs",))
    assert bad == history.commits[60]
    found = bisection.bisect(history.path, history.commits[0], bad, ("docs",), test)
    assert found.first_bad == history.commits[44], "the first of those after it"
    assert all(number % 4 == 0 for number in tested)


@pytest.mark.slow
def test_a_history_that_branches_is_searched(tmp_path: Path) -> None:
    made = History(tmp_path)
    made.commit("a", "root")
    made.git("checkout", "--quiet", "-b", "side")
    side = [made.commit("b", f"side {number}") for number in range(5)]
    made.git("checkout", "--quiet", "main")
    for number in range(5):
        made.commit("a", f"main {number}")
    made.git("merge", "--quiet", "--no-edit", "side")
    head = made.git("rev-parse", "HEAD")
    culprit = side[2]

    def test(commit: str, _suspects: int) -> Verdict:
        return "bad" if git_source.is_ancestor(tmp_path, culprit, commit) else "good"

    assert bisection.bisect(tmp_path, made.commits[0], head, (), test).first_bad == culprit
    assert git_source.described(tmp_path, culprit) == ("a", "side 2")


def test_what_git_refuses_is_said(history: History) -> None:
    with pytest.raises(MachineError, match=r"git rev-list .* failed"):
        git_source.commits_between(history.path, [], "0" * 40)
