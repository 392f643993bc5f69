"""``python -m tests.faults``: tries of every kind of fault, with a table at the end.

Without ``--tries`` as many of each kind as fit into five minutes. It runs in a mount namespace of
its own, so its small file systems are never seen outside and end with it.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.faults.campaign import Campaign, Outcome, faults

_INSIDE = "ORCHESTRATOR_FAULTS_INSIDE"
_BUDGET_S = 290.0
_LINE = "{:44} {:>5} {:>5} {:>8} {:>6} {:>11} {:>9}"


def main() -> int:
    """Run the campaign; return 1 when something did not hold."""
    if _INSIDE not in os.environ:
        words = ["unshare", "--mount", *(["--user", "--map-root-user"] if os.geteuid() else [])]
        words += [sys.executable, "-m", "tests.faults", *sys.argv[1:]]
        os.execvpe("unshare", words, {**os.environ, _INSIDE: "1"})
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--tries", type=int)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--only", metavar="KIND,...", help="only these kinds of fault")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        campaign = Campaign(Path(folder), asked.seed)
        kinds = faults(campaign)
        if asked.only:
            kinds = {kind: kinds[kind] for kind in asked.only.split(",")}
        return _report(kinds, asked.tries)


def _report(kinds: Mapping[str, Callable[[], Outcome]], tries: int | None) -> int:
    done = dict.fromkeys(kinds, 0)
    statuses: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    late: Counter[str] = Counter()
    problems: list[str] = []
    deadline = time.monotonic() + _BUDGET_S
    round_s = 0.0
    while time.monotonic() + round_s < deadline if tries is None else min(done.values()) < tries:
        began = time.monotonic()
        for kind, one_try in kinds.items():
            outcome = one_try()
            done[kind] += 1
            late[kind] += outcome.late
            statuses[kind] += outcome.statuses
            new = [f"{kind}, try {done[kind]}: {problem}" for problem in outcome.problems]
            problems += new
            print(*new, sep="\n", end="\n" if new else "", flush=True)
        round_s = time.monotonic() - began
    print(_LINE.format("fault", "tries", "late", "runs ok", "failed", "interrupted", "problems"))
    for kind, count in done.items():
        states = [statuses[kind][state] for state in ("ok", "failed", "interrupted")]
        found = sum(problem.startswith(f"{kind}, try") for problem in problems)
        print(_LINE.format(kind, count, late[kind], *states, found))
    if not problems:
        print(f"{sum(done.values())} tries: all resumed to equal digests, and nothing was left")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
