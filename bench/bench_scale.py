"""Wall time of whole runs over flows, rate, hops, sampling and hosts.

    python -m bench.bench_scale [--rounds 3] [--quick] [SCALE ...]

Each scale varies one thing and keeps the others. Every case is one `orchestrator run`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench import measuring, tables
from bench.cases import SCALES
from bench.measuring import Clock, Command, run_words, side_by_side, spread

SLOW = ("rate-10gbit", "hosts-500", "hosts-1000")
"""Cases that take a large part of a minute: measured once, and not with --quick."""


def main() -> int:
    """Measure the scales, keep the results and print tables."""
    parser = measuring.parser(__doc__, rounds=3)
    parser.add_argument("scales", nargs="*", metavar="SCALE", help=", ".join(SCALES))
    options = parser.parse_args()
    for name in options.scales:
        if name not in SCALES:
            parser.error(f"there is no scale {name}; valid: {', '.join(SCALES)}")
    wanted = options.scales or list(SCALES)
    rounds = 1 if options.quick else options.rounds
    clock = Clock()
    commands: dict[str, list[Command]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for scale in wanted:
            commands[scale] = []
            for case in SCALES[scale]:
                if options.quick and case.name in SLOW:
                    continue
                scenario = folder / f"{case.name}.yaml"
                scenario.write_text(case.scenario(), encoding="utf-8")
                words = run_words(scenario, folder / "bench.db")
                slow = case.name in SLOW
                commands[scale].append(Command(case.name, words, 1 if slow else rounds, cold=True))
        side_by_side([one for each in commands.values() for one in each])
    results = {
        "rounds": rounds,
        "scales": {
            scale: [{"case": one.name, "ours_s": spread(one.seconds)} for one in each]
            for scale, each in commands.items()
        },
    }
    clock.keep(options.results, "scale", results)
    print(tables.scale(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
