"""What traces cost: runs without one beside those of an earlier program, and a traced window.

    python -m bench.bench_traces [--rounds 10] [--quick] [--before PROGRAM]

``--before`` names an ``orchestrator`` of an earlier checkout. Both programs make the same run, one
after the other, in each round. Then ``zoom`` traces a window of 1 s of the run with all traces,
another window in each round.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import measuring, tables
from bench.cases import Case
from bench.measuring import ORCHESTRATOR, Clock, Command, run_words, side_by_side, spread

CASE = Case("100mbit-12s", 100e6, 12)
FIRST_WINDOW_S = 1


def zoom_words(run: str, window_s: int, db: Path) -> list[str]:
    """Return the command that traces one second of a run, with all traces."""
    window = f"{window_s}s..{window_s + 1}s"
    return [
        str(ORCHESTRATOR),
        "zoom",
        run,
        "--window",
        window,
        "--quiet",
        "--json",
        "--db",
        str(db),
    ]


def ratios(seconds: Sequence[float], others_s: Sequence[float]) -> dict[str, Any]:
    """Return how many times as long each command took as the other of its round."""
    return spread([a / b for a, b in zip(seconds, others_s, strict=True)])


def main() -> int:
    """Run all commands for the requested number of rounds, keep and print the medians."""
    parser = measuring.parser(__doc__, rounds=10)
    parser.add_argument("--before", type=Path, metavar="PROGRAM", help="one of an earlier checkout")
    options = parser.parse_args()
    rounds = 2 if options.quick else options.rounds
    if not 1 <= rounds < CASE.duration_s - FIRST_WINDOW_S:
        parser.error(f"--rounds: 1 to {CASE.duration_s - FIRST_WINDOW_S - 1:g}, a window for each")
    clock = Clock()
    traces: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        scenario, db = Path(name) / "traces.yaml", Path(name) / "bench.db"
        scenario.write_text(CASE.scenario(), encoding="utf-8")
        stored: list[str] = []
        run = Command("run", run_words(scenario, db), rounds, kept=stored.append)
        programs = [run]
        if options.before is not None:
            words = run_words(scenario, Path(name) / "before.db")
            programs.append(Command("before", [str(options.before), *words[1:]], rounds))
        side_by_side(programs)
        traced = json.loads(stored[0])["runs"][0]["id"]
        zooms = [
            Command(f"window {number}", zoom_words(traced, FIRST_WINDOW_S + number, db), 1,
                    kept=lambda said: traces.append(json.loads(said)["trace"]), cold=True)
            for number in range(rounds)
        ]  # fmt: skip
        again = Command("run beside zoom", run.words, rounds)
        for zoom in zooms:
            zoom.run()
            again.run()
    zoom_s = [zoom.seconds[0] for zoom in zooms]
    results: dict[str, Any] = {
        "rounds": rounds,
        "run_s": spread(run.seconds),
        "zoom_s": spread(zoom_s),
        "zoom_times": ratios(zoom_s, again.seconds),
        "events": round(statistics.median(sum(trace["rows"].values()) for trace in traces)),
        "stored_bytes": max(trace["stored_bytes"] for trace in traces),
    }
    if options.before is not None:
        results["before_s"] = spread(programs[1].seconds)
        results["run_times"] = ratios(run.seconds, programs[1].seconds)
    clock.keep(options.results, "traces", results)
    print(tables.traces(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
