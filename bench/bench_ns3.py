"""Wall time of whole commands beside ns-3 3.44, with CUBIC over the same dumbbell.

    make bench THEMES=ns3
    python -m bench.bench_ns3 [--rounds 3] [--quick] [CASE ...]

Both write samples of all flows and queues every 100 ms. This program writes them into its database,
ns-3 into a text file. ns-3 is the compiled library of the package ns3 on PyPI, used from C++
(ns3/dumbbell.cc). `ns-3` leaves what the scenario does not say as ns-3 has it by default.
`lean ns-3` has what makes it fastest. Goodput and segments tell whether they did the same work.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import measuring, tables
from bench.cases import BESIDE_NS3, RTT_S, Case, named
from bench.measuring import ROOT, Clock, Command, run_words, side_by_side, spread
from orchestrator.recording.model import SENDER
from results.store.store import Store

PROGRAM = ROOT / "build/ns3/dumbbell"
BUFFER_BDPS = 4
GOALS = {"100mbit-30s": 7.0, "100mbit-300s": 11.0, "1gbit-10s": 28.0, "10hosts-30s": 8.0}
"""How many times faster than ns-3 each case shall be."""

LONG = ("100mbit-300s", "1gbit-10s")
"""Cases for which ns-3 needs minutes: two rounds at most, and one of the lean program."""


def arguments(case: Case, samples: Path, lean: bool) -> list[str]:
    """Return the arguments of the ns-3 program that make it the network of a case."""
    bdp_bytes = case.rate_bps * RTT_S / 8
    return [
        f"--rate={case.rate_bps:.0f}bps",
        f"--access={case.access_bps:.0f}bps",
        f"--hosts={case.pairs}",
        f"--flows={case.flows}",
        f"--queue={case.queue_packets}",
        f"--buffer={max(2**22, int(BUFFER_BDPS * bdp_bytes))}",
        f"--duration={case.duration_s:g}",
        f"--period={case.sample_s:g}",
        f"--samples={samples}",
        f"--lean={int(lean)}",
    ]


def work_of_ours(db: Path) -> dict[str, float]:
    """Return goodput and segments sent of the newest run of a store, over all of it."""
    with Store.open_read_only(db) as store:
        run = store.load("last")
        columns = ["bytes_acked", "data_segs_out"]
        ends = [run.tcp(flow, SENDER, columns) for flow in range(len(run.flows))]
    return {
        "goodput_bps": sum(int(end["bytes_acked"][-1]) for end in ends) * 8 / run.duration_s,
        "segments": sum(int(end["data_segs_out"][-1]) for end in ends),
    }


def work_of_ns3(output: str) -> dict[str, float]:
    """Return goodput and segments sent that the ns-3 program printed."""
    said = json.loads(output)
    return {"goodput_bps": said["goodput_bps"], "segments": said["segments"]}


def difference(ours: dict[str, float], other: dict[str, float]) -> float:
    """Return the largest relative difference of the two runs' work."""
    return max(abs(ours[name] / other[name] - 1) for name in other)


def rounds_of(case: Case, rounds: int) -> int:
    """Return how often a case is measured: the long ones twice at most."""
    return min(rounds, 2) if case.name in LONG else rounds


@dataclass
class NsComparison:
    """One case measured three times: by us, in ns-3 as it is by default, and in the lean one."""

    case: Case
    ours: Command
    default: Command
    lean: Command
    work: dict[str, dict[str, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, case: Case, folder: Path, rounds: int) -> NsComparison:
        """Return the commands of a case, whose files are in the folder."""
        scenario, db = folder / f"{case.name}.yaml", folder / f"{case.name}.db"
        scenario.write_text(case.scenario(), encoding="utf-8")
        samples = folder / "samples.csv"
        made = cls(
            case,
            Command(
                f"{case.name} ours",
                run_words(scenario, db),
                rounds_of(case, rounds),
                cold=case.name in LONG,
            ),
            _ns3(case, samples, rounds_of(case, rounds), lean=False),
            _ns3(case, samples, 1 if case.name in LONG else rounds, lean=True),
        )
        made.ours.kept = lambda _output: made.work.update(ours=work_of_ours(db))
        made.default.kept = lambda output: made.work.update(ns3=work_of_ns3(output))
        made.lean.kept = lambda output: made.work.update(lean=work_of_ns3(output))
        return made

    def result(self) -> dict[str, Any]:
        """Return seconds, ratios and work, JSON-ready."""
        ours_s = statistics.median(self.ours.seconds)
        ratios = [
            other / own for other, own in zip(self.default.seconds, self.ours.seconds, strict=True)
        ]
        return {
            "case": self.case.name,
            "goal": GOALS[self.case.name],
            "ours_s": spread(self.ours.seconds),
            "ns3_s": spread(self.default.seconds),
            "lean_s": spread(self.lean.seconds),
            "times": spread(ratios),
            "lean_times": round(statistics.median(self.lean.seconds) / ours_s, 3),
            "work": self.work,
            "difference": round(
                max(difference(self.work["ours"], self.work[name]) for name in ("ns3", "lean")), 4
            ),
        }


def _ns3(case: Case, samples: Path, rounds: int, lean: bool) -> Command:
    words = [str(PROGRAM), *arguments(case, samples, lean)]
    return Command(f"{case.name} {'lean ' if lean else ''}ns-3", words, rounds, cold=True)


def main() -> int:
    """Measure the cases, keep the results and print a table."""
    parser = measuring.parser(__doc__, rounds=3)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(GOALS))
    options = parser.parse_args()
    wanted = named(BESIDE_NS3, options.cases)
    if options.quick:
        wanted, options.rounds = [case for case in wanted if case.name not in LONG], 1
    if not PROGRAM.exists():
        raise SystemExit(f"{PROGRAM} is missing: `make bench THEMES=ns3` makes it")
    clock = Clock()
    with tempfile.TemporaryDirectory() as name:
        beside = [NsComparison.of(case, Path(name), options.rounds) for case in wanted]
        side_by_side([each for one in beside for each in (one.ours, one.default, one.lean)])
    results = {"rounds": options.rounds, "rows": [one.result() for one in beside]}
    clock.keep(options.results, "ns3", results)
    print(tables.ns3(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
