"""Several processes at one store, and processes that are killed while they write."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.errors import StoreError
from results.documents import run_document
from results.store.store import Store
from tests.support.recordings import head, whole

ROOT = Path(__file__).parents[4]

# Begins a run and finishes it; dies by SIGKILL when SQLite starts the COUNTth statement that
# begins with START. A small cache lets half the run reach the file before.
KILLED = """
import os, signal, sys
from pathlib import Path
from results.samples import blocks
from results.store.store import Store
from tests.support.recordings import head, recording

start, count = sys.argv[2], int(sys.argv[3])

def traced(statement):
    global count
    if statement.lstrip().startswith(start):
        count -= 1
        if count == 0:
            os.kill(os.getpid(), signal.SIGKILL)

blocks.ROWS = 100
rows = [{"time_s": n / 100, "endpoint": n % 2, "rtt_us": n, "bytes_received": n * n}
        for n in range(4000)]
with Store(Path(sys.argv[1])) as store:
    run_id = store.begin(head())
    print(run_id, flush=True)
    store._connection.execute("PRAGMA cache_size = 10")
    store._connection.set_trace_callback(traced)
    store.finish(run_id, recording(rows), 1.0)
"""

WRITER = """
import sys
from pathlib import Path
from results.store.store import Store
from tests.support.recordings import head, whole

sys.stdin.readline()
for _ in range(5):
    with Store(Path(sys.argv[1])) as store:
        store.finish(store.begin(head()), whole(), 1.0)
"""


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "count"),
    [
        ("INSERT INTO flows", 1),
        ("INSERT INTO tcp_samples", 1),
        ("INSERT INTO tcp_samples", 30),
        ("INSERT INTO metrics", 5),
        ("UPDATE runs", 1),
        ("COMMIT", 1),
    ],
)
def test_a_writer_killed_while_it_stores_leaves_the_store_readable(
    tmp_path: Path, statement: str, count: int
) -> None:
    path = tmp_path / "runs.db"
    with Store(path) as store:
        kept = store.begin(head())
        store.finish(kept, whole(), 1.0)
    with start(KILLED, str(path), statement, str(count)) as child:
        output, errors = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL, errors
    killed = output.strip()

    with Store.open_read_only(path) as store:
        assert [row.status for row in store.list_runs()] == ["ok", "interrupted"]
        run = store.load(killed)
        assert (run.flows, run.queues, run.checks, run.artefact("log")) == ([], [], [], "")
        assert run_document.of_ids(store, [killed])["runs"][0]["metrics"]["goodput_bps"] is None
        assert store.load(kept).metrics() is not None

    with Store(path) as store:
        with pytest.raises(StoreError, match="is interrupted"):
            store.finish(killed, whole(), 1.0)
        store.finish(store.begin(head()), whole(), 1.0)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    counts = connection.execute("SELECT count(*) FROM tcp_samples WHERE run = 2").fetchone()
    connection.close()
    assert counts == (0,)


@pytest.mark.slow
def test_several_writers_share_a_store_that_none_of_them_found(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    children = [start(WRITER, str(path)) for _ in range(3)]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        with child:
            _, errors = child.communicate(timeout=120)
        assert child.returncode == 0, errors
    with Store.open_read_only(path) as store:
        assert [row.status for row in store.list_runs()] == ["ok"] * 15
        assert len({row.id for row in store.list_runs()}) == 15


OTHER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM runs").fetchall()
connection.execute("UPDATE runs SET status = status WHERE 0")
connection.close()
"""


def test_opening_a_store_again_keeps_the_locks_of_this_process(tmp_path: Path) -> None:
    """Otherwise another process takes itself for the only one, and removes the log in use."""
    path = tmp_path / "runs.db"
    with Store(path) as first:
        first.begin(head())
        with Store(path) as second, Store.open_read_only(path) as third:
            assert len(second.list_runs()) == len(third.list_runs()) == 1
        subprocess.run([sys.executable, "-c", OTHER, str(path)], check=True)
        assert path.with_name("runs.db-wal").exists()
        first.begin(head())
        with Store.open_read_only(path) as again:
            assert len(again.list_runs()) == 2
