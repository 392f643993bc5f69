"""Time of the dashboard's answers over 10 000 runs, an experiment of 1000, and a long run.

    python -m bench.bench_dashboard [--rounds 9] [--quick] [--runs 10000] [--db FILE]

The store is made once: an experiment of 1000 runs with samples' metrics, and copies of its rows
under other names. It has 25 variants along two axes, 40 repetitions and two flows. The long run
has 3 million samples: 10 flows at 1 ms for 150 s, at both ends. Its `draw` is all that its page
asks for at first, with 6 flows drawn.

`started` is the first answer of a dashboard that has just started and has loaded its templates.
`changed` is the first answer after a run was stored, as a sweep does it: on the experiment's page
a run of this experiment. `again` are those that follow. Nothing of the network or a browser is in
the times. On a busy machine compare the CPU times. A store that is given with --db is not changed.
"""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from flask.testing import FlaskClient

from bench import measuring, tables
from bench.measuring import ROOT, Clock, spread
from orchestrator.recording.model import RECEIVER, SENDER
from results.samples import blocks, sample_blocks
from results.store.store import Store
from tests.support import experiments
from tests.web import synthetic
from web import create_app
from web.server import load_ahead

EXPERIMENT = "bench-0"
VARIANTS = [
    {"topology.bottleneck.queue.limit": f"{limit}bdp", "topology.bottleneck.rate": f"{rate}mbit"}
    for limit in (0.25, 0.5, 1, 2, 4)
    for rate in (10, 20, 50, 100, 200)
]
REPETITIONS = 40


@dataclass(frozen=True)
class Page:
    """What is asked for: addresses, whose answers must come within ``goal_ms`` together."""

    name: str
    urls: Sequence[str]
    goal_ms: float | None = None
    grows: str = "bench-live"
    """The experiment that gets a run before the answer called `changed`."""


PAGES = (
    Page("experiments", ["/"]),
    Page("experiment of 1000", [f"/experiments/{EXPERIMENT}"], 500, EXPERIMENT),
    Page("list", ["/runs"], 300),
    Page("list, page 40", ["/runs?page=40"], 300),
    Page("search", ["/runs?q=4bdp+seed%3D7"], 300),
    Page("condition", ["/runs?where=limit%3C%3D1bdp+and+jain_index%3C0.99+and+congestion%3Dreno"]),
    Page("sorted", ["/runs?sort=-goodput_bps"]),
)
STARTED, CHANGED, AGAIN = KINDS = ("started", "changed", "again")


@dataclass
class PageTimes:
    """Wall and CPU times in ms of all the answers of a page together."""

    wall_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)

    def ask(self, client: FlaskClient, urls: Sequence[str]) -> None:
        """Ask for a page once.

        Raises:
            AssertionError: an answer is an error.
        """
        began, began_cpu = time.perf_counter(), time.process_time()
        for url in urls:
            answer = client.get(url, follow_redirects=True)
            assert answer.status_code == 200, answer.text
        self.wall_ms.append(1000 * (time.perf_counter() - began))
        self.cpu_ms.append(1000 * (time.process_time() - began_cpu))


def main() -> int:
    """Measure each page, keep the results and print a table."""
    parser = measuring.parser(__doc__, rounds=9)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--db", type=Path)
    parser.add_argument("--answer", nargs="+", metavar="URL", help="print the time of these alone")
    options = parser.parse_args()
    if options.answer:
        times, app = PageTimes(), create_app(options.db)
        load_ahead(app)
        times.ask(app.test_client(), options.answer)
        print(times.wall_ms[0], times.cpu_ms[0])
        return 0
    rounds = 1 if options.quick else options.rounds
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        path = options.db or Path(folder) / "runs.db"
        pages = [*PAGES]
        if options.db is None:
            _fill(path, options.runs)
            pages += _long_pages(path)
        rows = [_measured(path, page, rounds, grows=options.db is None) for page in pages]
    results = {"rounds": rounds, "runs": options.runs, "rows": rows}
    if options.db is None:
        clock.keep(options.results, "dashboard", results)
    print(tables.dashboard(results))
    return 0


def _measured(path: Path, page: Page, rounds: int, grows: bool) -> Mapping[str, Any]:
    """Return the times of a page, JSON-ready."""
    found = {kind: PageTimes() for kind in KINDS}
    client = create_app(path).test_client()
    PageTimes().ask(client, page.urls)
    change: Callable[[], None] = (
        (lambda: _grow(path, page.grows)) if grows else lambda: os.utime(path)
    )
    for _ in range(rounds):
        change()
        found[CHANGED].ask(client, page.urls)
        found[AGAIN].ask(client, page.urls)
        words = [sys.executable, "-m", "bench.bench_dashboard", "--db", str(path), "--answer"]
        done = subprocess.run([*words, *page.urls], cwd=ROOT, capture_output=True, check=True)
        wall_ms, cpu_ms = map(float, done.stdout.split())
        found[STARTED].wall_ms.append(wall_ms)
        found[STARTED].cpu_ms.append(cpu_ms)
    for kind, times in found.items():
        measuring.say(
            f"{page.name}, {kind}: {sorted(times.wall_ms)[rounds // 2]:.0f} ms, "
            f"of CPU time at least {min(times.cpu_ms):.0f} ms"
        )
    return {
        "page": page.name,
        "goal_ms": page.goal_ms,
        **{f"{kind}_ms": spread(times.wall_ms) for kind, times in found.items()},
        "least_cpu_ms": {kind: round(min(times.cpu_ms), 1) for kind, times in found.items()},
    }


_NUMBERS = count(REPETITIONS)


def _grow(path: Path, name: str) -> None:
    """Store one more run of an experiment, as a sweep does."""
    number = next(_NUMBERS)
    with Store(path) as store:
        experiments.make(
            store, lambda _variant, _repetition: {"a": 5e6 + number, "b": 4e6},
            VARIANTS[number % len(VARIANTS) :][:1], 1, name, repetition=number, seed=number + 1,
        )  # fmt: skip


FLOWS, DURATION_S, PERIOD_S = 10, 150.0, 1e-3


def _long_pages(path: Path) -> list[Page]:
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
    return [
        Page("long run", [f"/runs/{run}"]),
        Page("long run, draw", [f"{api}/{one}" for one in curves], 500),
    ]


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
                for name in sample_blocks.sample_columns()["tcp_samples"]]  # fmt: skip
        sample_blocks.write(connection, "tcp_samples", run, key, number, rows)


def _fill(path: Path, runs: int) -> None:
    """Store ``runs`` runs: experiments of 1000 runs each."""
    draw = random.Random(1)
    with Store(path) as store:
        store.connection.execute("PRAGMA synchronous = OFF")
        experiments.make(
            store,
            lambda _variant, _repetition: {"a": draw.gauss(5e6, 1e5), "b": draw.gauss(4e6, 1e5)},
            VARIANTS, REPETITIONS, name=EXPERIMENT,
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
