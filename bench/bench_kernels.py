"""Wall time of whole runs on a kernel that can hold its processes by seccomp, with and without it.

    python -m bench.bench_kernels [--rounds 3] [--quick] [CASE ...]

Each round has every case by ptrace and by seccomp, one after the other. So a busy machine slows
both, and the median of the rounds' ratios counts.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import measuring, tables
from bench.cases import CASES, named
from bench.measuring import Clock, Command, run_words, side_by_side, spread
from orchestrator.backends.guest import stubs

KERNEL = "7.3"
NAMES = ("100mbit-30s", "1gbit-10s", "10flows-10ms", "10hosts-10ms", "60hosts-2s")
"""The cases of ``bench.bench_runs`` that are measured, unless the command names others."""
_SWITCHES = {"ptrace": f"{stubs.SWITCH}=off", "seccomp": f"{stubs.SWITCH}="}


def rows(seconds: Mapping[tuple[str, str], Sequence[float]]) -> list[dict[str, Any]]:
    """Return a row for each case, of wall times in s by the case and by what held the processes."""
    found = []
    for case in dict.fromkeys(case for case, _held_by in seconds):
        ptrace, seccomp = (seconds[case, held_by] for held_by in _SWITCHES)
        saved = [1 - fast / slow for slow, fast in zip(ptrace, seccomp, strict=True)]
        found.append(
            {
                "case": case,
                "ptrace_s": spread(ptrace),
                "seccomp_s": spread(seccomp),
                "saved": round(statistics.median(saved), 4),
            }
        )
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
        commands = {}
        for case in named(CASES, options.cases or NAMES):
            scenario = folder / f"{case.name}.yaml"
            scenario.write_text(case.scenario(), encoding="utf-8")
            run = run_words(scenario, folder / "bench.db", "--kernel", KERNEL)
            for held_by, switch in _SWITCHES.items():
                words = ["env", switch, *run]
                commands[case.name, held_by] = Command(f"{case.name} {held_by}", words, rounds)
        side_by_side([*commands.values()])
    results = {
        "rounds": rounds,
        "kernel": KERNEL,
        "rows": rows({place: command.seconds for place, command in commands.items()}),
    }
    clock.keep(options.results, "kernels", results)
    print(tables.kernels(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
