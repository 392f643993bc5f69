"""Wall time of one plan with `--jobs 2` against `--jobs 1`, in turn.

    python -m bench.bench_jobs [--rounds 2] [--quick]

The plan has forty runs of one flow, so that the start of workers is a small part. `--quick` has
eight. Both executors are measured: this program, and two Dask workers of this machine
(`--executor dask=local`), if Dask is installed.
"""

from __future__ import annotations

import importlib.util
import tempfile
from dataclasses import replace
from pathlib import Path

from bench import measuring, tables
from bench.cases import JOBS
from bench.measuring import Clock, Command, run_words, side_by_side, spread

GOAL = 1.8
"""How many times faster two runs at a time shall be than one."""


def main() -> int:
    """Measure the plan, keep the results and print a table."""
    options = measuring.parser(__doc__, rounds=2).parse_args()
    rounds = 1 if options.quick else options.rounds
    case = replace(JOBS, repetitions=8) if options.quick else JOBS
    executors = ["local"]
    if importlib.util.find_spec("distributed") is not None:
        executors.append("dask=local")
    clock = Clock()
    pairs: dict[str, tuple[Command, Command]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scenario = folder / "jobs.yaml"
        scenario.write_text(case.scenario(), encoding="utf-8")
        for where in executors:
            one, two = (
                Command(
                    f"{where} --jobs {jobs}",
                    run_words(
                        scenario, folder / "bench.db", "--executor", where, "--jobs", str(jobs)
                    ),
                    rounds,
                    cold=True,
                )
                for jobs in (1, 2)
            )
            pairs[where] = (one, two)
        side_by_side([command for pair in pairs.values() for command in pair])
    results = {
        "rounds": rounds,
        "runs": case.repetitions,
        "goal": GOAL,
        "rows": [
            {
                "executor": where,
                "one_s": spread(one.seconds),
                "two_s": spread(two.seconds),
                "times": spread([a / b for a, b in zip(one.seconds, two.seconds, strict=True)]),
            }
            for where, (one, two) in pairs.items()
        ],
    }
    clock.keep(options.results, "jobs", results)
    print(tables.jobs(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
