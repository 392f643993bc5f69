"""Cause faults of every kind by ``python -m tests.faults``, and print a table at the end.

Without ``--tries`` as many of each kind as fit into five minutes. Kinds that
need small file systems run in a mount namespace of their own, so they are never seen outside.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from orchestrator.backends.kernels import ensure
from tests.faults.campaign import KINDS, MOUNTING, Campaign, Outcome, faults

_INSIDE = "ORCHESTRATOR_FAULTS_INSIDE"
_BUDGET_S = 290.0
_LINE = "{:44} {:>5} {:>5} {:>8} {:>6} {:>11} {:>9}"


def main() -> int:
    """Run the campaign; return 1 when a condition did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--tries", type=int)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--only", metavar="KIND,...", help="only these kinds of fault")
    asked = parser.parse_args()
    kinds = asked.only.split(",") if asked.only else list(KINDS)
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        parser.error(f"there is no {unknown}; there are: {', '.join(KINDS)}")
    if _INSIDE in os.environ:
        return _campaign(kinds, asked.tries, asked.seed)
    if os.geteuid() == 0:
        return _unshared(["unshare", "--mount"], kinds, asked.tries, asked.seed)
    # An ordinary user may mount in a user namespace only, where all files of others are nobody's.
    mounting = [kind for kind in kinds if kind in MOUNTING]
    others = [kind for kind in kinds if kind not in MOUNTING]
    failed = _campaign(others, asked.tries, asked.seed) if others else 0
    if mounting:
        with tempfile.TemporaryDirectory(prefix="faults-cache-") as cache:
            kernel = ensure().linux.parent
            shutil.copytree(kernel, Path(cache) / "guest" / kernel.name, symlinks=True)
            os.environ["ORCHESTRATOR_CACHE"] = cache
            words = ["unshare", "--user", "--map-root-user", "--mount"]
            failed |= _unshared(words, mounting, asked.tries, asked.seed)
    return failed


def _unshared(words: Sequence[str], kinds: Sequence[str], tries: int | None, seed: int) -> int:
    """Run the campaign with namespaces of its own; return its status."""
    campaign = [sys.executable, "-m", "tests.faults", "--seed", str(seed), "--only"]
    campaign += [",".join(kinds), *(() if tries is None else ("--tries", str(tries)))]
    environment = {**os.environ, _INSIDE: "1"}
    return subprocess.run([*words, *campaign], env=environment, check=False).returncode


def _campaign(kinds: Sequence[str], tries: int | None, seed: int) -> int:
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        Path(folder).chmod(0o755)  # a guest of root's runs as another user, and passes through
        campaign = Campaign(Path(folder), seed)
        return _report({kind: faults(campaign)[kind] for kind in kinds}, tries)


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
