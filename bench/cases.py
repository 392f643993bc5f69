"""The runs that the benchmarks measure: what varies, and the scenario that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.protocol.links.frames import FRAME_BYTES

RTT_S = 0.020
"""Twice the delay of a path: 2 ms at each access link, 6 ms at the bottlenecks."""

_ACCESS_DELAY_MS = 2
_MIDDLE_DELAY_MS = 6


@dataclass(frozen=True)
class Case:
    """CUBIC flows of host pairs over one bottleneck or several in a row, with drop-tail queues.

    Attributes:
        name: what the command line and the results call it.
        rate_bps: rate of each bottleneck.
        duration_s: simulated time from the start of traffic.
        flows: flows of each pair of hosts.
        pairs: pairs of hosts, which have an access link each at both ends.
        access_bps: rate of each access link.
        sample_s: period of the samples of flows and queues. One of the whole duration is the
            longest that is allowed. Only the digest's samples remain then.
        hops: bottlenecks in a row.
        repetitions: runs with seeds of their own.
        limit: limit of each bottleneck's queue.
        host: network cards and qdiscs of all hosts, YAML; empty for plain ones.
    """

    name: str
    rate_bps: float
    duration_s: float
    flows: int = 1
    pairs: int = 1
    access_bps: float = 10e9
    sample_s: float = 0.1
    hops: int = 1
    repetitions: int = 1
    limit: str = "1bdp"
    host: str = ""

    def scenario(self) -> str:
        """Return the scenario's text."""
        queue = f"queue: {{kind: droptail, limit: {self.limit}}}"
        rate, access = f"{self.rate_bps / 1e6:g}mbit", f"{self.access_bps / 1e6:g}mbit"
        delay = f"{_MIDDLE_DELAY_MS * 1000 / self.hops:g}us"
        if self.hops == 1:
            middle = f"kind: dumbbell\n  bottleneck: {{rate: {rate}, delay: {delay}, {queue}}}"
        else:
            middle = (
                "kind: parking-lot\n"
                f"  hops: {{count: {self.hops}, rate: {rate}, delay: {delay}, {queue}}}"
            )
        sample = f"{self.sample_s * 1e3:g}ms"
        return f"""\
version: 1
name: bench-{self.name}
seed: 1
repetitions: {self.repetitions}
duration: {self.duration_s:g}s
warmup: 1s
start_jitter: 10ms
topology:
  {middle}
  groups:
    - {{name: a, hosts: {self.pairs}, access: {{rate: {access}, delay: {_ACCESS_DELAY_MS}ms}}}}
flows:
  - {{name: f, group: a, count: {self.flows}, congestion: cubic, traffic: {{kind: bulk}}}}
sample: {{tcp: {sample}, queue: {sample}}}
{self.host and f"host: {self.host}"}
"""

    @property
    def queue_packets(self) -> int:
        """One BDP in whole packets."""
        return max(1, int(self.rate_bps * RTT_S / 8 / FRAME_BYTES))


def named(cases: Sequence[Case], names: Sequence[str]) -> list[Case]:
    """Return the cases of these names, all without names.

    Raises:
        SystemExit: there is no case of a name.
    """
    known = {case.name: case for case in cases}
    for name in names:
        if name not in known:
            raise SystemExit(f"there is no case {name}; valid: {', '.join(known)}")
    return [known[name] for name in names] or list(cases)


_REAL = "{offloads: [tso, gro], coalesce: 50us, qdisc: fq, small_queues: true}"

CASES = (
    Case("100mbit-2s", 1e8, 2, access_bps=1e9),
    Case("100mbit-2s-40", 1e8, 2, access_bps=1e9, repetitions=40),
    Case("100mbit-30s", 1e8, 30, access_bps=1e9),
    Case("1gbit-10s", 1e9, 10),
    Case("1gbit-10s-real", 1e9, 10, host=_REAL),
    Case("10gbit-4s", 1e10, 4, access_bps=25e9),
    Case("10gbit-4s-real", 1e10, 4, access_bps=25e9, host=_REAL),
    Case("10flows-10ms", 1e8, 30, flows=10, access_bps=1e9, sample_s=0.01),
    Case("10flows-bare", 1e8, 30, flows=10, access_bps=1e9, sample_s=30),
    Case("10hosts-10ms", 1e8, 30, pairs=10, access_bps=1e9, sample_s=0.01),
    Case("10hosts-bare", 1e8, 30, pairs=10, access_bps=1e9, sample_s=30),
    Case("60hosts-2s", 1e8, 2, pairs=30, access_bps=1e9),
    Case("100hosts-30s", 1e8, 30, pairs=50, access_bps=1e9),
    Case("2000hosts-5s", 1e8, 5, pairs=1000, access_bps=1e9),
)
"""Those of ``bench.bench_runs``."""

BESIDE_NS3 = (
    Case("100mbit-30s", 1e8, 30, access_bps=1e9),
    Case("100mbit-300s", 1e8, 300, access_bps=1e9),
    Case("1gbit-10s", 1e9, 10),
    Case("10hosts-30s", 1e8, 30, pairs=10, access_bps=1e9),
)
"""Those of ``bench.bench_ns3``."""

SCALES: dict[str, tuple[Case, ...]] = {
    "flows": tuple(
        Case(f"flows-{n}", 1e8, 10, flows=n, access_bps=1e9)
        for n in (1, 2, 5, 10, 20, 50, 100, 200)
    ),
    "rate": tuple(
        Case(f"rate-{name}", rate_bps, 4, access_bps=40e9, limit=limit)
        for name, rate_bps, limit in (
            ("1mbit", 1e6, "10p"), ("10mbit", 1e7, "1bdp"), ("100mbit", 1e8, "1bdp"),
            ("1gbit", 1e9, "1bdp"), ("10gbit", 1e10, "1bdp"),
        )
    ),
    "hops": tuple(
        Case(f"hops-{n}", 1e8, 10, hops=n, access_bps=1e9) for n in (1, 2, 5, 10, 20, 30)
    ),
    "sampling": tuple(
        Case(f"sampling-{name}", 1e8, 10, flows=10, access_bps=1e9, sample_s=sample_s)
        for name, sample_s in (("1ms", 1e-3), ("10ms", 0.01), ("100ms", 0.1), ("1s", 1.0))
    ),
    "hosts": tuple(
        Case(f"hosts-{2 * n}", 1e8, 10, pairs=n, access_bps=1e9)
        for n in (1, 5, 10, 25, 50, 100, 250, 500)
    ),
}  # fmt: skip
"""What ``bench.bench_scale`` varies, with the cases in ascending order."""

JOBS = Case("jobs", 1e8, 20, access_bps=1e9, repetitions=40)
"""The plan of ``bench.bench_jobs``."""
