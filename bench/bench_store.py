"""What the results store costs: bytes of a sample, time to store and to read, time of answers.

    python bench/bench_store.py [--samples 3000000] [--runs 1000] [--rounds 5]

Samples are those of real runs, which this program makes first. The large run repeats the samples of
one of them, later each time. Times are medians of ``--rounds``, after one round that warms caches:
wall time and, beside it, CPU time, which other work on the machine changes less.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.recording.model import (
    DATAGRAM_DTYPE,
    TCP_DTYPE,
    TRANSFER_DTYPE,
    Recording,
)
from results.records.model import RunHead
from results.store.store import Store
from results.store.stored import StoredRun
from web import create_app

ORCHESTRATOR = Path(sys.executable).parent / "orchestrator"
TABLES = ("tcp_samples", "queue_samples", "datagram_samples", "transfers")

SCENARIO = """\
version: 1
name: {name}
seed: 1
duration: {duration}
warmup: 1s
start_jitter: 10ms
topology:
  kind: dumbbell
  bottleneck: {{rate: {rate}, delay: 6ms, queue: {{kind: droptail, limit: 1bdp}}}}
  groups:
    - {{name: a, hosts: 1, access: {{rate: 1gbit, delay: 2ms}}}}
flows:
{flows}
sample: {{tcp: {sample}, queue: {sample}}}
"""
BULK = "  - {{name: f, group: a, count: {count}, congestion: {control}, traffic: {{kind: bulk}}}}"
UDP = "  - {name: u, group: a, traffic: {kind: cbr, rate: 2mbit}}\n"
SHORT = "  - {name: x, group: a, traffic: {kind: transfers, size: 20kB, gap: 20ms}}"
SCENARIOS = {
    "2 flows, 100 ms": SCENARIO.format(
        name="two", duration="60s", rate="10mbit", sample="100ms",
        flows=BULK.format(count=2, control="reno"),
    ),
    "10 flows, 10 ms": SCENARIO.format(
        name="ten", duration="30s", rate="100mbit", sample="10ms",
        flows=BULK.format(count=10, control="cubic"),
    ),
    "4 flows, 1 ms": SCENARIO.format(
        name="fine", duration="40s", rate="20mbit", sample="1ms",
        flows=BULK.format(count=4, control="cubic"),
    ),
    "4 BBR flows, 10 ms": SCENARIO.format(
        name="bbr", duration="30s", rate="20mbit", sample="10ms",
        flows=BULK.format(count=4, control="bbr"),
    ),
    "UDP and transfers, 10 ms": SCENARIO.format(
        name="mixed", duration="20s", rate="10mbit", sample="10ms", flows=UDP + SHORT,
    ),
}  # fmt: skip
LARGE = "4 flows, 1 ms"
MOST_FLOWS = 6
"""The run whose samples the large run repeats."""


def main() -> int:
    """Make the runs, measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=3_000_000, help="samples of the large run")
    parser.add_argument("--runs", type=int, default=1000, help="runs of the list")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of it, one round")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.samples, arguments.runs, arguments.rounds = 300_000, 100, 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, text in SCENARIOS.items():
            db = _made(folder, text)
            for table, (samples, size_bytes) in bytes_of_samples(db).items():
                print(f"{title:26} {table:17} {samples:7} samples, {size_bytes:6.1f} bytes each")
            if title == LARGE:
                source = db
        with Store.open_read_only(source) as store:
            run = store.load("last")
            head, small = run.head, recording_of(run)
        large = repeated(small, run.duration_s, arguments.samples)
        print(f"large run: {len(large.tcp)} samples of {len(large.flows)} flows")
        db = folder / "large.db"
        _show("store it", _median(lambda: _store(db, head, large), 0))
        print(f"the file has {db.stat().st_size / 1e6:.1f} MB")
        _answers(db, arguments.rounds)
        db = _many(folder / "many.db", head, small, arguments.runs)
        app = create_app(db).test_client()
        for page in ("/runs", "/api/runs"):
            seconds = _median(lambda page=page: _get(app, page), arguments.rounds)  # type: ignore[misc]
            _show(f"{arguments.runs} runs: {page}", seconds)
    return 0


def bytes_of_samples(db: Path) -> dict[str, tuple[int, float]]:
    """Return the number of samples in each table, and the size of one in the file, with indexes."""
    counted = dict.fromkeys(TABLES, 0)
    with Store.open_read_only(db) as store:
        for row in store.list_runs():
            whole = recording_of(store.load(row.id))
            arrays = (whole.tcp, whole.queue_samples, whole.datagrams, whole.transfers)
            for table, array in zip(TABLES, arrays, strict=True):
                counted[table] += len(array)
    connection = sqlite3.connect(db)
    sizes = dict.fromkeys(TABLES, 0)
    for table, size_bytes in connection.execute(
        "SELECT tbl_name, sum(pgsize) FROM dbstat JOIN sqlite_schema USING (name) GROUP BY tbl_name"
    ):
        if table in sizes:
            sizes[table] = size_bytes
    connection.close()
    return {table: (count, sizes[table] / count) for table, count in counted.items() if count}


def recording_of(run: StoredRun) -> Recording:
    """Return a stored run's samples with the records to which they belong."""
    flows = range(len(run.flows))
    return Recording(
        kernel=run.row.kernel or "",
        simulated_s=run.duration_s,
        digest=run.row.digest or "",
        verdict="faithful",
        flows=run.flows,
        queues=run.queues,
        checks=run.checks,
        tcp=_joined(
            TCP_DTYPE,
            [run.tcp(flow, end) for flow in flows for end in (0, 1)],
        ),
        queue_samples=run.queue_array(),
        datagrams=_joined(DATAGRAM_DTYPE, [run.datagrams(flow) for flow in flows]),
        transfers=_joined(TRANSFER_DTYPE, [run.transfers(flow) for flow in flows]),
    )  # fmt: skip


def repeated(small: Recording, duration_s: float, samples: int) -> Recording:
    """Return a recording with at least so many TCP samples, those of a small one again and again.

    Times and counters of bytes go on where the repetition before ended.
    """
    copies = -(-samples // len(small.tcp))
    return replace(
        small,
        simulated_s=copies * duration_s,
        tcp=_again(small.tcp, copies, duration_s, ("bytes_acked", "bytes_received", "bytes_sent")),
        queue_samples=_again(small.queue_samples, copies, duration_s, ("bytes", "packets")),
    )


def _again(
    array: npt.NDArray[np.void], copies: int, duration_s: float, counters: tuple[str, ...]
) -> npt.NDArray[np.void]:
    every = np.tile(array, copies)
    number = np.repeat(np.arange(copies), len(array))
    every["time_ns"] += (number * round(duration_s * 1e9 + 2e8)).astype(np.int64)
    for name in counters:
        every[name] += (number * int(array[name].max())).astype(every[name].dtype)
    return every


def _joined(
    dtype: np.dtype[np.void], series: list[dict[str, npt.NDArray[Any]]]
) -> npt.NDArray[np.void]:
    parts = []
    for columns in series:
        part = np.zeros(len(columns["flow"]), dtype)
        for name, column in columns.items():
            # A missing value reads back as NaN. Which number is stored does not matter here.
            part[name] = np.nan_to_num(column, nan=2.0**31 - 1)
        parts.append(part)
    return np.concatenate(parts) if parts else np.zeros(0, dtype)


def _made(folder: Path, scenario: str) -> Path:
    name = scenario.split("name: ")[1].split()[0]
    file, db = folder / f"{name}.yaml", folder / f"{name}.db"
    file.write_text(scenario, encoding="utf-8")
    words = [str(ORCHESTRATOR), "run", str(file), "--quiet", "--db", str(db)]
    subprocess.run(words, check=True, capture_output=True)
    return db


def _store(db: Path, head: RunHead, large: Recording) -> None:
    with Store(db) as store:
        run = store.begin(replace(head, duration_s=large.simulated_s))
        store.finish(run, large, 1.0)


def _many(db: Path, head: RunHead, small: Recording, runs: int) -> Path:
    few = replace(small, tcp=small.tcp[:40], queue_samples=small.queue_samples[:40])
    with Store(db) as store:
        for number in range(runs):
            store.finish(store.begin(replace(head, seed=number + 1)), few, 1.0)
    return db


def _answers(db: Path, rounds: int) -> None:
    app = create_app(db).test_client()
    with Store.open_read_only(db) as store:
        run = store.list_runs()[-1].id
        flows = [flow.name for flow in store.load(run).flows][:MOST_FLOWS]
    chosen = "&".join(f"flow={flow}" for flow in flows)

    def column() -> None:
        with Store.open_read_only(db) as store:
            store.load(run).tcp(0, 0, ["time_ns", "snd_cwnd_segments"])

    def window() -> None:
        with Store.open_read_only(db) as store:
            store.load(run).tcp(0, 0, None, (10**12, 10**12 + 10**9))

    _show("read a column of one flow", _median(column, rounds))
    _show("read all columns of a second of one flow", _median(window, rounds))
    for title, page in {
        "the page": f"/runs/{run}",
        f"its windows, {len(flows)} flows": f"/api/runs/{run}/tcp?points=2000&{chosen}",
        "its windows, 1 flow": f"/api/runs/{run}/tcp?points=2000&flow={flows[0]}",
        f"its goodput, {len(flows)} flows": f"/api/runs/{run}/goodput?points=300&{chosen}",
        "its queues": f"/api/runs/{run}/queues?points=2000",
        "its windows, a second": f"/api/runs/{run}/tcp?points=2000&from=1000&to=1001&{chosen}",
    }.items():
        _show(title, _median(lambda page=page: _get(app, page), rounds))  # type: ignore[misc]


def _get(app: Any, page: str) -> None:
    with app.get(page) as answer:
        if answer.status_code != 200:
            raise SystemExit(f"{page}: {answer.status_code}\n{answer.get_data(as_text=True)[:500]}")
        answer.get_data()


def _median(call: Callable[[], None], rounds: int) -> tuple[float, float]:
    """Return wall and CPU time of a call: medians of ``rounds`` after the first, or that alone."""
    times = []
    for _ in range(rounds + 1):
        began = time.perf_counter(), time.process_time()
        call()
        times.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    walls, cpus = zip(*(times[1:] or times), strict=True)
    return statistics.median(walls), statistics.median(cpus)


def _show(what: str, seconds: tuple[float, float]) -> None:
    wall_ms, cpu_ms = (1000 * value for value in seconds)
    print(f"{what:44} {wall_ms:9.1f} ms, {cpu_ms:9.1f} ms of CPU", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
