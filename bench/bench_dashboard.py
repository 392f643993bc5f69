"""Time of the dashboard's answers over 10 000 runs, an experiment of 1000, and a long run.

    python bench/bench_dashboard.py [--rounds 9] [--runs 10000] [--db FILE]

The store is made once: one experiment of 1000 runs with samples' metrics, the others copies of its
rows under other names and seeds. The long run has 3 million samples: 10 flows at 1 ms for 150 s, at
both ends. Its `draw` is all that its page asks for at first, with 6 flows drawn.

`first` is the first answer after the store has changed, which a running sweep causes; `again` those
that follow, whose summaries are kept. Nothing of the network or a browser is in the times. On a
busy machine compare the CPU times. A store that is given with --db is used as it is.
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from flask.testing import FlaskClient

sys.path.insert(0, str(Path(__file__).parents[1]))

from orchestrator.recording.model import RECEIVER, SENDER
from results import blocks, sample_store
from results.store import Store
from tests.unit.results import experiments
from tests.web import synthetic
from web import create_app

LIMIT = "topology.bottleneck.queue.limit"
LIMITS = (0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64)

PAGES = {
    "experiments": "/",
    "experiment of 1000": "/experiments/bench-0",
    "list": "/runs",
    "list, page 40": "/runs?page=40",
    "search": "/runs?q=16bdp+seed%3D7",
    "condition": "/runs?where=limit%3C%3D1bdp+and+jain_index%3C0.99+and+congestion%3Dreno",
    "sorted": "/runs?sort=-goodput_bps",
}


def main() -> int:
    """Measure each page and print minimum, median and maximum."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--db", type=Path)
    parser.add_argument("--quick", action="store_true", help="1000 runs, three rounds")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.runs, arguments.rounds = 1000, 3
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.db or Path(folder) / "runs.db"
        if arguments.db is None:
            _fill(path, arguments.runs)
        client = create_app(path).test_client()
        pages = {name: [url] for name, url in PAGES.items()}
        if arguments.db is None:
            pages |= _long_pages(path)
        print(f"{'page':20} {'':6} {'min':>7} {'median':>7} {'max':>7}  ms of wall time, CPU min")
        for name, urls in pages.items():
            for kind in ("first", "again"):
                fresh = (lambda: os.utime(path)) if kind == "first" else (lambda: None)
                wall_ms, cpu_ms = _measured(client, urls, arguments.rounds, fresh)
                low, middle, high = min(wall_ms), statistics.median(wall_ms), max(wall_ms)
                times = f"{low:7.0f} {middle:7.0f} {high:7.0f} {min(cpu_ms):9.0f}"
                print(f"{name:20} {kind:6} {times}", flush=True)
    return 0


def _measured(
    client: FlaskClient, urls: Sequence[str], rounds: int, before: Callable[[], None]
) -> tuple[list[float], list[float]]:
    """Return wall and CPU times in ms of all the answers together."""
    wall_ms, cpu_ms = [], []
    for _ in range(rounds):
        before()
        began, began_cpu = time.perf_counter(), time.process_time()
        for url in urls:
            answer = client.get(url, follow_redirects=True)
            assert answer.status_code == 200, answer.text
        wall_ms.append(1000 * (time.perf_counter() - began))
        cpu_ms.append(1000 * (time.process_time() - began_cpu))
    return wall_ms, cpu_ms


FLOWS, DURATION_S, PERIOD_S = 10, 150.0, 1e-3


def _long_pages(path: Path) -> dict[str, list[str]]:
    """Store the long run; return what its page asks for."""
    with Store(path) as store:
        flows = tuple(synthetic.flow(f"f{one}", "reno") for one in range(FLOWS))
        run = store.begin(replace(synthetic.HEAD, duration_s=DURATION_S))
        store.finish(run, synthetic.recording(flows, DURATION_S), wall_s=1.0)
        with store.writing() as connection:
            ((key,),) = connection.execute("SELECT run FROM runs WHERE id = ?", (run,))
            connection.execute("DELETE FROM tcp_samples WHERE run = ?", (key,))
            for flow in range(FLOWS):
                for end in (SENDER, RECEIVER):
                    _write_series(connection, key, (flow, end))
    api, part = f"/api/runs/{run}", f"from=0&to={DURATION_S:g}"
    drawn = "&".join(f"flow=f{one}" for one in range(6))
    bins = "points=1200&bins=400"
    curves = [f"tcp?{part}&{bins}&{drawn}", f"goodput?{part}&points=300&{drawn}",
              f"queues?{part}&{bins}"]  # fmt: skip
    return {"long run": [f"/runs/{run}"], "long run, draw": [f"{api}/{one}" for one in curves]}


def _write_series(connection: sqlite3.Connection, run: int, key: tuple[int, int]) -> None:
    """Store one end's samples: a sawtooth, a noisy RTT and counters; what else there is, is 0."""
    count = round(DURATION_S / PERIOD_S)
    draw = np.random.default_rng(key[0])
    ticks = np.arange(count)
    columns = {
        "time_ns": ticks * round(PERIOD_S * 1e9),
        "snd_cwnd_segments": 50 + (ticks // 100) % 50,
        "snd_ssthresh_segments": 50 + ticks // 5000,
        "rtt_us": 100_000 + draw.integers(0, 20_000, count),
        "bytes_received": np.cumsum(draw.integers(0, 3, count) * synthetic.MSS_BYTES),
    }
    for number, start in enumerate(range(0, count, blocks.ROWS)):
        some = slice(start, start + blocks.ROWS)
        empty = np.zeros(len(ticks[some]), np.int64)
        rows = [columns[name][some] if name in columns else empty
                for name in sample_store.sample_columns()["tcp_samples"]]  # fmt: skip
        sample_store.write(connection, "tcp_samples", run, key, number, rows)


def _fill(path: Path, runs: int) -> None:
    """Store ``runs`` runs: experiments of 1000 runs, ten variants of 100 repetitions each."""
    draw = random.Random(1)
    variants = [{LIMIT: f"{limit}bdp"} for limit in LIMITS]
    with Store(path) as store:
        store.connection.execute("PRAGMA synchronous = OFF")
        experiments.make(
            store,
            lambda _variant, _repetition: {"a": draw.gauss(5e6, 1e5), "b": draw.gauss(4e6, 1e5)},
            variants, min(runs, 1000) // len(variants), name="bench-0",
        )  # fmt: skip
        for number in range(1, runs // 1000):
            _copy(store, number)


def _copy(store: Store, number: int) -> None:
    """Copy the rows of the first thousand runs, without samples, as another experiment."""
    with store.writing() as connection:
        for table in ("runs", "flows", "queues", "metrics", "provenance"):
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            changed = {"run": f"run + {1000 * number}"}
            if table == "runs":
                changed |= {"id": f"id || '-{number}'", "experiment": f"'bench-{number}'"}
            values = ", ".join(changed.get(name, f'"{name}"') for name in names)
            connection.execute(
                f"INSERT INTO {table} SELECT {values} FROM {table} WHERE run <= 1000"
            )


if __name__ == "__main__":
    raise SystemExit(main())
