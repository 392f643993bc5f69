"""Wall time of whole runs, command to stored result, side by side: every case once a round.

    python -m bench.bench_runs [--rounds 5] [CASE ...]

A busy machine slows all cases of a round equally. So quote medians, and ratios within one call.
Each case is one `orchestrator run` in a process of its own on one CPU.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ORCHESTRATOR = Path(sys.executable).parent / "orchestrator"


@dataclass(frozen=True)
class Case:
    """One scenario: flows of one host pair at ``rate``, RTT 20 ms, a queue of one BDP."""

    name: str
    rate: str
    duration: str
    flows: int = 1
    hosts: int = 1
    access: str = "10gbit"
    sample: str = "100ms"

    def scenario(self) -> str:
        """Return the scenario's text."""
        return f"""\
version: 1
name: bench-{self.name}
seed: 1
duration: {self.duration}
warmup: 1s
start_jitter: 10ms
topology:
  kind: dumbbell
  bottleneck: {{rate: {self.rate}, delay: 6ms, queue: {{kind: droptail, limit: 1bdp}}}}
  groups:
    - {{name: a, hosts: {self.hosts}, access: {{rate: {self.access}, delay: 2ms}}}}
flows:
  - {{name: f, group: a, count: {self.flows}, congestion: cubic, traffic: {{kind: bulk}}}}
sample: {{tcp: {self.sample}, queue: {self.sample}}}
"""


# A period of the whole duration is the longest allowed. Only the digest's samples remain then.
CASES = (
    Case("100mbit-30s", "100mbit", "30s", access="1gbit"),
    Case("1gbit-10s", "1gbit", "10s"),
    Case("10flows-10ms", "100mbit", "30s", flows=10, access="1gbit", sample="10ms"),
    Case("10flows-bare", "100mbit", "30s", flows=10, access="1gbit", sample="30s"),
    Case("10hosts-10ms", "100mbit", "30s", hosts=10, access="1gbit", sample="10ms"),
    Case("10hosts-bare", "100mbit", "30s", hosts=10, access="1gbit", sample="30s"),
    Case("60hosts-1s", "100mbit", "2s", hosts=30, access="1gbit"),
)


def main() -> int:
    """Run all cases for the requested number of rounds and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(c.name for c in CASES))
    arguments = parser.parse_args()
    wanted = [case for case in CASES if not arguments.cases or case.name in arguments.cases]
    seconds: dict[str, list[float]] = {case.name: [] for case in wanted}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in wanted:
            (folder / f"{case.name}.yaml").write_text(case.scenario(), encoding="utf-8")
        for number in range(arguments.rounds + 1):
            for case in wanted:
                taken = _run(folder, case)
                if number:  # the first round warms the caches
                    seconds[case.name].append(taken)
    print(f"{'case':14} {'min':>7} {'median':>7} {'max':>7}  seconds of wall time, whole process")
    for name, values in seconds.items():
        low, middle, high = min(values), statistics.median(values), max(values)
        print(f"{name:14} {low:7.2f} {middle:7.2f} {high:7.2f}")
    for kind in ("10flows", "10hosts"):
        fine, bare = seconds.get(f"{kind}-10ms"), seconds.get(f"{kind}-bare")
        if fine and bare:
            ratio = statistics.median(a / b for a, b in zip(fine, bare, strict=True))
            print(f"{kind}: sampling every 10 ms costs {100 * (ratio - 1):+.0f}% (median of pairs)")
    return 0


def _run(folder: Path, case: Case) -> float:
    words = [str(ORCHESTRATOR), "run", str(folder / f"{case.name}.yaml"), "--quiet", "--json"]
    began = time.perf_counter()
    done = subprocess.run(
        [*words, "--db", str(folder / "bench.db")], capture_output=True, text=True, check=False
    )
    taken = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"{case.name}: exit {done.returncode}\n{done.stderr}")
    return taken


if __name__ == "__main__":
    raise SystemExit(main())
