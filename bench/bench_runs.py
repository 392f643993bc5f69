"""Wall time of whole runs, command to stored result, side by side: every case once a round.

    python -m bench.bench_runs [--rounds 3] [--quick] [CASE ...]

A busy machine slows all cases of a round equally. So quote medians, and ratios within one call.
Each case is one `orchestrator run` in a process of its own on one CPU.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

from bench import measuring, tables
from bench.cases import CASES, named
from bench.measuring import Clock, Command, run_words, side_by_side, spread

GOALS_S = {
    "100mbit-2s": 0.8,
    "100mbit-2s-40": 40 * (0.25 + 2 * 0.04),
    "1gbit-10s-real": 2.5,
    "10gbit-4s-real": 6.0,
    "100hosts-30s": 4.0,
    "2000hosts-5s": 25.0,
}
"""Wall times that cases shall have. Of forty runs each shall take 0.25 s beside its traffic, of
which a simulated second takes 40 ms."""

SLOW = ("2000hosts-5s",)
"""Measured once, and with --quick only if named."""


def sampling_cost(seconds: dict[str, list[float]]) -> dict[str, float]:
    """Return what sampling every 10 ms adds, as a part of the time without: medians of pairs."""
    found = {}
    for kind in ("10flows", "10hosts"):
        fine, bare = seconds.get(f"{kind}-10ms"), seconds.get(f"{kind}-bare")
        if fine and bare:
            ratios = [a / b - 1 for a, b in zip(fine, bare, strict=True)]
            found[kind] = round(statistics.median(ratios), 4)
    return found


def main() -> int:
    """Run all cases for the requested number of rounds, keep and print the medians."""
    parser = measuring.parser(__doc__, rounds=3)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(c.name for c in CASES))
    options = parser.parse_args()
    rounds = 1 if options.quick else options.rounds
    clock = Clock()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands = []
        for case in named(CASES, options.cases):
            if options.quick and case.name in SLOW and not options.cases:
                continue
            scenario = folder / f"{case.name}.yaml"
            scenario.write_text(case.scenario(), encoding="utf-8")
            words = run_words(scenario, folder / "bench.db")
            commands.append(Command(case.name, words, 1 if case.name in SLOW else rounds))
        side_by_side(commands)
    seconds = {command.name: command.seconds for command in commands}
    results: dict[str, Any] = {
        "rounds": rounds,
        "rows": [
            {"case": name, "ours_s": spread(values), "goal_s": GOALS_S.get(name)}
            for name, values in seconds.items()
        ],
        "sampling_cost": sampling_cost(seconds),
    }
    clock.keep(options.results, "runs", results)
    print(tables.runs(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
