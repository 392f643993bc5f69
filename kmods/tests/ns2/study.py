"""Measure Westwood 2's estimate over the fair share with senders like ns-2's.

TIBET's paper (section 2.2.3, Fig. 2) says 2.23 for ten flows. ``ns2.c`` simulates that set-up: the
modules' own filters set the thresholds of ns-2's Reno, of its relatives, or of a sender like
Linux's. Each variant here changes one thing, or the few things that its label names.

    python -m kmods.tests.ns2.study [SEEDS]

prints the table of docs/claims/tibet.md. It takes about a minute.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

from scipy.stats import t as student

HERE = Path(__file__).resolve().parent

Options = Mapping[str, str | float]
"""Options of ns2.c that differ from its defaults; options.h lists all."""

LINUX: Options = {
    "recovery": "sack",
    "counted": "delivered",
    "most_segments": 0,
    "count_segments": 1,
    "initial_window": 10,
    "rto_min_s": 0.2,
    "delayed_ack_s": 0.04,
    "access_bps": 100e6,
    "payload_bytes": 1448,
    "header_bytes": 66,
    "queue_packets": 83,
}
"""The guest's run of scenarios/papers/tibet/fig02.yaml with segments of 1448 bytes."""

UNPHASED: Options = {"overhead_s": 0.001}
"""Random delays of about one segment's transmission.

Without them a drop-tail queue with exactly periodic departures locks some flows out. Each of their
segments meets a full queue (Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched
Gateways", 1992).
"""

AUTHORS: Options = {
    "recovery": "reno-flat",
    "tau_s": 1,
    "zero_samples": 1,
    "least_rest_s": 0.01,
}
"""Westwood's code for ns-2 (UCLA, tcp-westwood.cc 1.3, 2002) with its filter 3 and its tau."""

ACCESS: Options = {"access_bps": 10e6}
ONE_EACH: Options = {"most_segments": 1}

VARIANTS: Mapping[str, Options] = {
    "ns-2's Reno": {},
    "recovery: Reno without inflation of the window": {"recovery": "reno-flat"},
    "recovery: NewReno": {"recovery": "newreno"},
    "recovery: SACK, RACK and rate reduction": {"recovery": "sack", "counted": "delivered"},
    "recovery: Reno of July 2003": {"exits": 1},
    "no recovery from a loss in the same window (bugFix 0)": {"bug_fix": 0},
    "Reno's own threshold, estimate only observed": {"control": "reno"},
    "duplicate ACKs: samples of 0 segments": {"counted": "cumulative"},
    "duplicate ACKs: no samples": {"counted": "advances"},
    "each ACK counts one segment": ONE_EACH,
    "tau 1 s": {"tau_s": 1},
    "tau 2 s": {"tau_s": 2},
    "empty samples": {"zero_samples": 1, "least_rest_s": 0.01},
    "a negative pole, as in the pseudo-code": {"filter": "literal"},
    "clock of 10 ms": {"tick_s": 0.01},
    "clock of 500 ms": {"tick_s": 0.5},
    "least timeout 200 ms": {"rto_min_s": 0.2},
    "ACKs not delayed": {"delayed_ack_s": 0},
    "ACKs delayed when a gap is filled": {"fill_at_once": 0},
    "no limited transmit": {"limited_transmit": 0},
    "headers of 40 bytes": {"header_bytes": 40},
    "receiver's window of 20 segments": {"window": 20},
    "queue of half a BDP": {"queue_packets": 62},
    "queue of two BDP": {"queue_packets": 250},
    "all flows start at once": {"start_s": 0.001},
    "starts within 30 s": {"start_s": 30},
    "access links of 100 Mbit/s": {"access_bps": 100e6},
    "access links of 10 Mbit/s": ACCESS,
    "random delays up to 1 ms": UNPHASED,
    "random delays up to 10 ms": {"overhead_s": 0.01},
    "one segment an ACK, access links of 10 Mbit/s": {**ONE_EACH, **ACCESS},
    "that, Reno without inflation": {**ONE_EACH, **ACCESS, "recovery": "reno-flat"},
    "authors' code": AUTHORS,
    "authors' code, access links of 10 Mbit/s": {**AUTHORS, **ACCESS},
    "that, random delays up to 10 ms": {**AUTHORS, **ACCESS, "overhead_s": 0.01},
    "that, random delays up to 20 ms": {**AUTHORS, **ACCESS, "overhead_s": 0.02},
    "CSFQ": {"filter": "csfq"},
    "CSFQ, each ACK counts one segment": {"filter": "csfq", **ONE_EACH},
    "TIBET on sent segments": {"filter": "tibet-sent"},
    "Westwood 1": {"filter": "westwood1"},
    "Linux": LINUX,
    "Linux, random delays up to 1 ms": {**LINUX, **UNPHASED},
    "Linux, the same, TIBET on ACKs": {**LINUX, **UNPHASED, "filter": "tibet"},
    "Linux, the same, CSFQ": {**LINUX, **UNPHASED, "filter": "csfq"},
}


@dataclass(frozen=True)
class Interval:
    """A mean and its 95% interval by Student's t."""

    mean: float
    half: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.half:.2f}"


def build(folder: Path, *flags: str) -> Path:
    """Compile the simulation into a folder; return the program.

    Raises:
        subprocess.CalledProcessError: it does not compile without warnings.
    """
    program = folder / "ns2"
    warnings = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"]
    source = str(HERE / "ns2.c")
    subprocess.run(["gcc", *warnings, *flags, "-o", str(program), source, "-lm"], check=True)
    return program


def simulate(program: Path, options: Options, seed: int = 1) -> dict[str, float]:
    """Run the simulation once; return its values, without those of single flows.

    Raises:
        ValueError: it refuses an option; the message says which values are valid.
    """
    arguments = [f"{name}={value}" for name, value in options.items()]
    done = subprocess.run(
        [str(program), *arguments, f"seed={seed}"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ValueError(done.stderr.strip())
    values: dict[str, float | list[float]] = json.loads(done.stdout)
    return {name: value for name, value in values.items() if not isinstance(value, list)}


def interval(values: Iterable[float]) -> Interval:
    """Return the mean of at least two values with its 95% interval."""
    numbers = list(values)
    quantile = float(student.ppf(0.975, len(numbers) - 1))
    return Interval(mean(numbers), quantile * stdev(numbers) / len(numbers) ** 0.5)


def main(seeds: int) -> None:
    print(
        "| variant | estimate / fair share | x | (1 + x)/2 | utilisation | dropped "
        "| timeouts of a flow in 100 s |"
    )
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder), "-O2")
        for label, options in VARIANTS.items():
            runs = [simulate(program, options, seed) for seed in range(1, seeds + 1)]
            of = {name: mean(run[name] for run in runs) for name in runs[0]}
            print(
                f"| {label} | {interval(run['estimate'] for run in runs)} | {of['x']:.1f} "
                f"| {(1 + of['x']) / 2:.2f} | {of['utilisation']:.3f} | {of['dropped']:.1%} "
                f"| {100 * of['timeouts_per_s']:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
