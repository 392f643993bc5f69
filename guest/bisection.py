"""Finds the first bad commit of a git repository by tests that the caller makes of commits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from guest import git_source

Verdict = Literal["good", "bad", "skip"]
Test = Callable[[str, int], Verdict]
"""Called with a commit, and how many may be the first bad one."""


@dataclass(frozen=True)
class Bisection:
    """What was found: the first bad commit, or those of which one is, as none could be told apart.

    ``last_good`` are the good commits that bound it.
    """

    first_bad: str | None
    suspects: Sequence[str]
    last_good: Sequence[str] = field(default_factory=tuple)


def bisect(repository: Path, good: str, bad: str, paths: Sequence[str], test: Test) -> Bisection:
    """Return the first bad commit between a good one and a bad one, which are known to be so.

    A history that branches is searched, too. A commit that is skipped is never the first bad one
    unless nothing else is left.

    Raises:
        MachineError: git fails.
    """
    goods: list[str] = [good]
    skipped: set[str] = set()
    while True:
        suspects = git_source.commits_between(repository, goods, bad, paths)
        open_ones = [commit for commit in suspects if commit != bad and commit not in skipped]
        if not open_ones:
            left = [commit for commit in suspects if commit != bad]
            if left:  # all of them were skipped
                return Bisection(None, [*left, bad], goods)
            return Bisection(bad, [bad], goods)
        commit = open_ones[0]
        verdict = test(commit, len(suspects))
        if verdict == "good":
            goods.append(commit)
        elif verdict == "bad":
            bad = commit
        else:
            skipped.add(commit)
