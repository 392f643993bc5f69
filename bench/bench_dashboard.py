"""Time of the dashboard's answers over 10 000 runs, and over an experiment of 1000, in process.

    python bench/bench_dashboard.py [--rounds 9] [--runs 10000] [--db FILE]

The store is made once: one experiment of 1000 runs with samples' metrics, the others copies of its
rows under other names and seeds. `first` is the first answer after the store has changed, which a
running sweep causes; `again` those that follow, whose summaries are kept. Medians; nothing of the
network or a browser is in them. A store that is given with --db is used as it is.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from results.store import Store
from tests.unit.results import experiments
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
        print(f"{'page':20} {'':6} {'min':>7} {'median':>7} {'max':>7}  ms of wall time")
        for name, url in PAGES.items():
            for kind in ("first", "again"):
                taken_ms = []
                for _ in range(arguments.rounds):
                    if kind == "first":
                        os.utime(path)  # as a run that ends: what was kept is dropped
                    began = time.perf_counter()
                    answer = client.get(url, follow_redirects=True)
                    taken_ms.append(1000 * (time.perf_counter() - began))
                    assert answer.status_code == 200, answer.text
                low, middle, high = min(taken_ms), statistics.median(taken_ms), max(taken_ms)
                print(f"{name:20} {kind:6} {low:7.0f} {middle:7.0f} {high:7.0f}", flush=True)
    return 0


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
