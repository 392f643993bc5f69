"""What the one process that collects runs does for each of them, beside what a worker does.

    python -m bench.bench_collect [--rounds 5] [--quick] [--runs 10000] [--workers 100] [CASE ...]

A worker boots the guest of a run and returns its files. This program decodes, judges and stores
them. Both are measured in seconds of processor time, which a busy machine changes little. This
program also waits for the disk; that time is measured, too. Dask's part is measured with workers
that return as many bytes at once. Then it says what limits a plan.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import measuring, tables
from bench.cases import CASES, Case, named
from bench.measuring import Clock
from guest.build import GuestKernel
from orchestrator.backends.cluster import wire, worker
from orchestrator.backends.cluster.address import ClusterAddress
from orchestrator.backends.cluster.connection import Cluster
from orchestrator.backends.cluster.guest import ClusterGuest
from orchestrator.backends.cluster.wire import Order, OrderResult
from orchestrator.backends.contract import Report, RunContext
from orchestrator.backends.guest import Guest
from orchestrator.backends.kernels import ensure
from orchestrator.compile import bounds
from orchestrator.execution.runner import RunOptions, _finish, _HeadMaker
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario import load
from results.store.store import Store

QUICK = ("100mbit-30s", "10flows-10ms")
DEFAULT = ("100mbit-30s", "10flows-10ms", "10hosts-10ms")


@dataclass
class CpuAndWallTime:
    """Seconds of the processor and of the wall clock."""

    cpu_s: float = 0.0
    wall_s: float = 0.0


@contextlib.contextmanager
def timed() -> Iterator[CpuAndWallTime]:
    """Measure the block in this process."""
    found, cpu_s, wall_s = CpuAndWallTime(), time.process_time(), time.perf_counter()
    yield found
    found.cpu_s, found.wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s


class GuestTime:
    """Sums the processor time of all processes below this one, whenever it is called.

    bubblewrap ends without waiting for the guest, so the guest's time is not in that of children.
    """

    def __init__(self) -> None:
        self._used_s: dict[int, float] = {}

    def __call__(self, _phase: str, _simulated_s: float) -> None:
        """Read the times; it is called every 100 ms."""
        for pid in _below(os.getpid()):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                self._used_s[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def total_s(self) -> float:
        """All of it, but for the last 100 ms."""
        return sum(self._used_s.values())


def _below(pid: int) -> Iterator[int]:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                yield child
                yield from _below(child)


class PlayedCluster(ClusterGuest):
    """A cluster whose worker is this process, which has the answer already."""

    answer: bytes = b""

    def _answered(
        self, order: Order, kernel: GuestKernel, context: RunContext, report: Report
    ) -> OrderResult:
        del order, kernel, report
        return OrderResult.from_bytes(self.answer, 2**34, context.bounds.console_bytes)


def measure(case: Case, kernel: GuestKernel, rounds: int, folder: Path) -> dict[str, float]:
    """Return medians: seconds of the worker and of this process, bytes of an answer and stored."""
    (folder / "case.yaml").write_text(case.scenario(), encoding="utf-8")
    planned = plan(load(folder / "case.yaml"))
    (spec,) = planned.runs
    guest = Guest(kernel)
    guest.prepare(planned)
    backend = PlayedCluster(guest, None)  # type: ignore[arg-type]
    order = _order(guest, spec, folder)
    options = RunOptions(folder / "runs.db", backend)
    there, here, waited = [], [], []
    Store(options.db).close()
    empty = _size(folder)
    for number in range(rounds):
        guest_time = GuestTime()
        with timed() as ran:
            answer = worker._run(order, kernel, guest_time)
        assert answer.status == "ok", answer.error
        backend.answer = answer.to_bytes()
        place = folder / str(number)
        place.mkdir()
        context = RunContext(place, 0, worker._nothing, worker._nothing, bounds=order.bounds)
        with timed() as collected, Store(options.db) as store:
            run_id = store.begin(_HeadMaker(planned.experiment, options, None).make(spec))
            recording = backend.run(spec, context, lambda _phase, _simulated_s: None)
            _finish(store, run_id, spec, recording, ran.wall_s)
        there.append(ran.cpu_s + guest_time.total_s)
        here.append(collected.cpu_s)
        waited.append(collected.wall_s)
    return {
        "worker_cpu_s": statistics.median(there),
        "here_cpu_s": statistics.median(here),
        "here_wall_s": statistics.median(waited),
        "answer_bytes": len(backend.answer),
        "stored_bytes": (_size(folder) - empty) / rounds,
    }


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("runs.db*"))


def _order(guest: Guest, spec: RunSpec, folder: Path) -> Order:
    from orchestrator.backends.remote import archive

    place = folder / "order"
    place.mkdir()
    guest.write_input(spec, place)
    packed = archive.pack(archive.files_of(place / "in"))
    kernel = wire.kernel_identity(guest.kernel)
    return Order(wire.code_identity(), kernel, guest.boot(spec), bounds.of(spec), packed)


def sized(message: bytes, _topic: str, _number: int) -> bytes:
    """Return as many bytes as the message says: a worker without a guest."""
    return bytes(int(message))


def scheduling(answer_bytes: int, tasks: int, folder: Path) -> dict[str, float]:
    """Return the seconds that each answer costs scheduler and client, over TLS, without a guest.

    ``cpu_s`` is processor time of this process, which is scheduler and client at once.
    """
    cluster = Cluster(ClusterAddress(None, None), workers=2, task=sized)
    cluster.open()
    try:
        context = RunContext(folder, 0, worker._nothing, worker._nothing)

        def one(_number: int) -> None:
            order = str(answer_bytes).encode()
            with cluster.computed(order, context, lambda _phase, _simulated_s: None) as future:
                assert len(cluster.answer(future)) == answer_bytes  # type: ignore[arg-type]

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(one, range(16)))  # the first ones import what they need
            with timed() as taken:
                list(pool.map(one, range(tasks)))
    finally:
        cluster.close()
    return {"cpu_s": taken.cpu_s / tasks, "wall_s": taken.wall_s / tasks}


def estimated(row: dict[str, Any], runs: int, workers: int) -> dict[str, Any]:
    """Return what a plan of so many runs needs, and what saturates first.

    The wall time of a part is what it needs for all runs if nothing else limits it.
    """
    needs_s = {
        "workers": runs * row["worker_cpu_s"] / workers,
        "this program": runs * max(row["here_cpu_s"], row["here_wall_s"]),
        "scheduler": runs * row["scheduler_cpu_s"],
    }
    limit = max(needs_s, key=lambda name: needs_s[name])
    return {
        "needs_s": {name: round(value, 1) for name, value in needs_s.items()},
        "limit": limit,
        "disk_bytes": round(runs * row["stored_bytes"]),
        "answers_bytes_per_s": round(runs * row["answer_bytes"] / needs_s[limit]),
    }


def main() -> int:
    """Measure the cases, keep the results and print a table."""
    parser = measuring.parser(__doc__, rounds=5)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(c.name for c in CASES))
    options = parser.parse_args()
    names = options.cases or (QUICK if options.quick else DEFAULT)
    rounds, tasks = (1, 100) if options.quick else (options.rounds, 1000)
    kernel = ensure()
    clock = Clock()
    rows = []
    for case in named(CASES, names):
        with tempfile.TemporaryDirectory() as name:
            row: dict[str, Any] = measure(case, kernel, rounds, Path(name))
            sent = scheduling(round(row["answer_bytes"]), tasks, Path(name))
        row |= {"scheduler_cpu_s": sent["cpu_s"], "scheduler_wall_s": sent["wall_s"]}
        rows.append({"case": case.name, **row, **estimated(row, options.runs, options.workers)})
    results = {
        "rounds": rounds, "runs": options.runs, "workers": options.workers, "rows": rows
    }  # fmt: skip
    clock.keep(options.results, "collect", results)
    print(tables.collect(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
