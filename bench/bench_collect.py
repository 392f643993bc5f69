"""What the one process that collects runs does for each of them, beside what a worker does.

    python -m bench.bench_collect [--rounds 5] [--runs 10000] [--workers 100] [CASE ...]

A worker boots the guest of a run and returns its files. The controller decodes, judges and stores
them. Both are measured in seconds of processor time, which a busy machine changes little. The
controller also waits for the disk; that time is printed, too. Then it says what limits a plan.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.cases import CASES, Case, named
from guest import build
from orchestrator.backends.cluster import wire, worker
from orchestrator.backends.cluster.guest import ClusterGuest
from orchestrator.backends.cluster.wire import Answer, Order
from orchestrator.backends.contract import Report, RunContext
from orchestrator.backends.guest import Guest
from orchestrator.compile import bounds
from orchestrator.execution.runner import RunOptions, _finish, _HeadMaker
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario import load
from results.store import Store

QUICK = ("100mbit-30s", "10flows-10ms")
DEFAULT = ("100mbit-30s", "10flows-bare", "10flows-10ms", "10hosts-10ms")


@dataclass
class Timed:
    """Seconds of the processor and of the wall clock."""

    cpu_s: float = 0.0
    wall_s: float = 0.0


@contextlib.contextmanager
def timed() -> Iterator[Timed]:
    """Measure the block in this process."""
    found, cpu_s, wall_s = Timed(), time.process_time(), time.perf_counter()
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


class Played(ClusterGuest):
    """A cluster whose worker is this process, which has the answer already."""

    answer: bytes = b""

    def _answered(self, order: Order, context: RunContext, report: Report) -> Answer:
        del order, report
        return Answer.from_bytes(self.answer, 2**34, context.bounds.console_bytes)


def measure(case: Case, kernel: build.GuestKernel, rounds: int, folder: Path) -> list[float]:
    """Return medians in s (worker's CPU, controller's CPU and wall) and MB (answer, stored)."""
    (folder / "case.yaml").write_text(case.scenario(), encoding="utf-8")
    planned = plan(load(folder / "case.yaml"))
    (spec,) = planned.runs
    guest = Guest(kernel)
    guest.prepare(planned)
    backend = Played(guest, None)  # type: ignore[arg-type]
    order = _order(guest, spec, folder)
    options = RunOptions(folder / "runs.db", backend)
    there, here, waited = [], [], []
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
            run_id = store.begin(_HeadMaker(planned.experiment, options).make(spec))
            recording = backend.run(spec, context, lambda _phase, _simulated_s: None)
            _finish(store, run_id, spec, recording, ran.wall_s)
        there.append(ran.cpu_s + guest_time.total_s)
        here.append(collected.cpu_s)
        waited.append(collected.wall_s)
    stored = sum(file.stat().st_size for file in folder.glob("runs.db*")) / rounds
    times = [statistics.median(each) for each in (there, here, waited)]
    return [*times, len(backend.answer) / 1e6, stored / 1e6]


def _order(guest: Guest, spec: RunSpec, folder: Path) -> Order:
    from orchestrator.backends.remote import archive

    place = folder / "order"
    place.mkdir()
    guest.write_input(spec, place)
    packed = archive.pack(archive.files_of(place / "in"))
    kernel = wire.kernel_identity(guest.kernel)
    return Order(wire.code_identity(), kernel, guest.boot(spec), bounds.of(spec), packed)


def main() -> int:
    """Measure the cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(c.name for c in CASES))
    parser.add_argument("--quick", action="store_true", help="one round of two cases")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.cases = 1, arguments.cases or list(QUICK)
    wanted = named(CASES, arguments.cases or DEFAULT)
    kernel = build.ensure()
    heading = ("case", "worker s", "controller s", "wall s", "answer MB", "stored MB",
               "saturated by workers", "hours", "limit")  # fmt: skip
    print(" | ".join(heading))
    for case in wanted:
        with tempfile.TemporaryDirectory() as name:
            there, here, wall, answer, stored = measure(case, kernel, arguments.rounds, Path(name))
        by_workers = arguments.runs * there / arguments.workers
        by_controller = arguments.runs * max(here, 0.0)
        limit = "controller" if by_controller > by_workers else "workers"
        hours = max(by_workers, by_controller) / 3600
        print(
            f"{case.name} | {there:.2f} | {here:.3f} | {wall:.3f} | {answer:.2f} | {stored:.2f} | "
            f"{there / here:.0f} | {hours:.2f} | {limit}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
