"""The store: what it keeps, what it refuses, how runs are found."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.errors import StoreError, UsageError
from orchestrator.recording.model import RECEIVER, SENDER, TCP_DTYPE
from orchestrator.windows import Window
from results import metrics
from results.metrics import METRICS
from results.records.model import WHOLE
from results.schema.database import newest
from results.store.parts import process_identity
from results.store.store import Store
from tests.support.recordings import flow, head, recording, tcp, whole

ROOT = Path(__file__).parents[4]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results" / "runs.db"


@pytest.fixture
def stored(path: Path) -> Path:
    """A store with one run of everything."""
    with Store(path) as store:
        store.finish(store.begin(head()), whole(), 1.5)
    return path


def dead_owner(store: Store, run_id: str) -> None:
    """Make the run's owner a process that cannot be."""
    connection = sqlite3.connect(store.path)
    with connection:
        connection.execute("UPDATE runs SET owner_start_ticks = -1 WHERE id = ?", (run_id,))
    connection.close()


def contents(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def test_a_run_comes_back_as_it_was_stored(stored: Path) -> None:
    expected = whole()
    with Store.open_read_only(stored) as store:
        run = store.load("last")
        assert run.flows == expected.flows
        assert run.queues == expected.queues
        assert run.checks == expected.checks
        assert run.provenance == expected.provenance
        assert run.artefact("console") == expected.console
        assert run.artefact("log") == expected.log
        assert run.artefact("nothing") == ""
        assert run.head == head()
        row = run.row
    assert (row.status, row.error, row.wall_s, row.verdict) == ("ok", None, 1.5, "faithful")
    assert (row.kernel, row.simulated_s, row.digest) == ("6.12.0", 10.0, "d1")
    assert row.started_utc <= (row.finished_utc or "")


def test_samples_come_back_as_they_were_stored(path: Path) -> None:
    rng = np.random.default_rng(1)
    samples = tcp([{} for _ in range(200)])
    for name in TCP_DTYPE.names or ():
        kind = TCP_DTYPE[name]
        high = np.iinfo(kind).max if kind.itemsize < 8 else 2**62
        samples[name] = rng.integers(0, high, 200, dtype=kind, endpoint=True)
    samples["time_ns"] = np.arange(200)
    samples["flow"], samples["endpoint"] = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    with Store(path) as store:
        flows = [flow("a"), flow("b")]
        store.finish(store.begin(head()), recording(flows=flows, tcp=samples), 0.0)
        run = store.load("last")
        for index, end in ((0, SENDER), (0, RECEIVER), (1, SENDER), (1, RECEIVER)):
            chosen = samples[(samples["flow"] == index) & (samples["endpoint"] == end)]
            found = run.tcp(index, end)
            assert list(found) == list(TCP_DTYPE.names or ())
            for name, values in found.items():
                assert np.array_equal(values, chosen[name]), name


def test_columns_and_times_can_be_chosen(stored: Path) -> None:
    with Store.open_read_only(stored) as store:
        run = store.load("last")
        samples = run.tcp("a", SENDER, ["time_ns", "snd_ssthresh_segments"])
        assert list(samples) == ["time_ns", "snd_ssthresh_segments"]
        assert samples["time_ns"].dtype == np.int64
        assert np.isnan(samples["snd_ssthresh_segments"][0])
        assert samples["snd_ssthresh_segments"][1] == 9.0
        within = (2_000_000_000, 2_000_000_000)
        assert run.tcp(0, RECEIVER, ["bytes_received"], within)["bytes_received"].tolist() == [
            1_000
        ]
        backlog = run.queue_samples("bottleneck:forward:queue", ["backlog_bytes"])
        assert backlog["backlog_bytes"].tolist() == [0, 1_250, 0]
        assert run.tcp(0, SENDER, ["rtt_us"], (5, 6))["rtt_us"].tolist() == []


@pytest.mark.parametrize(
    ("flow_name", "columns", "message"),
    [
        ("b", ["rtt_us"], "no flow b; there are a"),
        (1, ["rtt_us"], "no flow 1; there are a"),
        ("a", ["rtt_us; DROP TABLE runs"], "no column rtt_us; DROP TABLE runs; there are time_ns"),
    ],
)
def test_what_a_run_does_not_have_is_refused(
    stored: Path, flow_name: str | int, columns: list[str], message: str
) -> None:
    with Store.open_read_only(stored) as store, pytest.raises(UsageError, match=re.escape(message)):
        store.load("last").tcp(flow_name, SENDER, columns)


def test_stored_metrics_are_those_computed_from_the_stored_samples(stored: Path) -> None:
    with Store.open_read_only(stored) as store:
        run = store.load("last")
        assert run.metrics() == metrics.compute(run)
        assert run.metrics()[WHOLE].run["goodput_bps"] == 1_000_000
        assert run.metrics()["quiet"].flows[0]["rtt_mean_s"] == 0.1


def test_a_metric_younger_than_the_run_is_computed(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = METRICS["goodput_bps", "run"]
    monkeypatch.setitem(METRICS, ("young", "run"), replace(one, name="young"))
    with Store.open_read_only(stored) as store:
        assert store.load("last").metrics()[WHOLE].run["young"] == 1_000_000


@pytest.fixture
def without_goodput() -> Iterator[None]:
    """Take the runs' goodput away, and give all metrics back in their order."""
    before = dict(METRICS)
    del METRICS["goodput_bps", "run"]
    yield
    METRICS.clear()
    METRICS.update(before)


@pytest.mark.usefixtures("without_goodput")
def test_a_metric_that_is_no_more_is_left_out(stored: Path) -> None:
    with Store.open_read_only(stored) as store:
        assert "goodput_bps" not in store.load("last").metrics()[WHOLE].run


def test_what_ended_is_never_overwritten(path: Path) -> None:
    with Store(path) as store:
        done, failed = store.begin(head()), store.begin(head())
        store.finish(done, whole(), 1.0)
        store.fail(failed, "no", console="panic\n", log="last words\n")
        before = contents(path)
        for run_id, status in ((done, "ok"), (failed, "failed")):
            message = f"run {run_id} is {status}; a stored run is never overwritten"
            with pytest.raises(StoreError, match=message):
                store.finish(run_id, whole(), 1.0)
            with pytest.raises(StoreError, match=message):
                store.fail(run_id, "again")
        assert contents(path) == before
        assert store.load(failed).artefact("console") == "panic\n"
        assert store.load(failed).row.error == "no"


def test_the_database_itself_refuses_to_change_a_stored_run(stored: Path) -> None:
    connection = sqlite3.connect(stored)
    with pytest.raises(sqlite3.IntegrityError, match="never overwritten"):
        connection.execute("UPDATE runs SET digest = 'd2'")
    connection.close()


def test_nothing_of_a_recording_that_contradicts_itself_is_stored(path: Path) -> None:
    with Store(path) as store:
        run_id = store.begin(head())
        before = contents(path)
        with pytest.raises(StoreError, match="flow is not within"):
            store.finish(run_id, recording([{"flow": 1}]), 1.0)
        bad = recording()
        bad.queues = [replace(bad.queues[0], direction="sideways")]  # type: ignore[arg-type]
        with pytest.raises(StoreError, match="CHECK constraint"):
            store.finish(run_id, bad, 1.0)
        assert contents(path) == before
        assert store.load(run_id).status == "running"
        store.finish(run_id, whole(), 1.0)


def test_numbers_of_numpy_are_stored_as_numbers(path: Path) -> None:
    made = recording(provenance={"hz": np.int64(250)})
    made.checks = [replace(made.checks[0], measured=np.float32(0.5), ok=np.bool_(True))]  # type: ignore[arg-type]
    with Store(path) as store:
        store.finish(store.begin(head()), made, 1.0)
        run = store.load("last")
        assert (run.checks[0].measured, run.checks[0].ok) == (0.5, True)
        assert run.provenance == {"hz": 250}


@pytest.mark.parametrize("names", [("",), ("x", "x")])
def test_windows_need_names_of_their_own(path: Path, names: tuple[str, ...]) -> None:
    windows = tuple(Window(name, 0.0, 1.0) for name in names)
    with Store(path) as store, pytest.raises(StoreError, match="names of their own"):
        store.begin(head(windows=windows))


def test_runs_are_found_by_id_prefix_and_last(path: Path) -> None:
    with Store(path) as store:
        first, second = store.begin(head()), store.begin(head(experiment="other"))
        assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{4}", first)
        assert store.resolve(first) == first
        assert store.resolve("last") == second
        assert store.load(second[:-1] if first[:-1] != second[:-1] else second).id == second
        with pytest.raises(UsageError, match="several runs start with 2"):
            store.resolve("2")
        for missing in ("nothing", "%", ""):
            with pytest.raises(UsageError, match=re.escape(f"there is no run {missing} in {path}")):
                store.resolve(missing)
        assert [row.id for row in store.list_runs()] == [first, second]
        assert [row.id for row in store.list_runs("other")] == [second]


def test_last_of_an_empty_store_is_an_error(path: Path) -> None:
    with Store(path) as store, pytest.raises(UsageError, match="no run last"):
        store.resolve("last")


def test_a_run_whose_owner_is_gone_is_interrupted(path: Path) -> None:
    with Store(path) as store:
        gone, alive = store.begin(head()), store.begin(head())
        dead_owner(store, gone)
    before = contents(path)
    with Store.open_read_only(path) as store:
        shown = {row.id: (row.status, row.error) for row in store.list_runs()}
        assert shown[gone] == ("interrupted", "the process that ran it ended without finishing it")
        assert shown[alive] == ("running", None)
    assert contents(path) == before
    with Store(path) as store, pytest.raises(StoreError, match="is interrupted"):
        store.finish(gone, whole(), 1.0)
    assert any("'interrupted'" in line for line in contents(path))


def test_owners_are_told_apart() -> None:
    me = process_identity.this_process()
    assert not me.is_dead()
    assert replace(me, start_ticks=me.start_ticks + 1).is_dead()
    assert replace(me, boot_id="another").is_dead()
    assert replace(me, pid=2**22 + 1).is_dead()
    assert not replace(me, pid=2**22 + 1, pid_namespace="pid:[1]").is_dead()


def test_a_zombie_is_dead() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    try:
        assert replace(process_identity.this_process(), pid=child).is_dead()
    finally:
        os.waitpid(child, 0)


def test_reading_a_missing_database_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no results database; `orchestrator run` makes"):
        Store.open_read_only(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("opener", [Store, Store.open_read_only])
def test_what_is_no_database_is_left_untouched(tmp_path: Path, opener: Any) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes, by no means a database\n" * 1000)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"notes\.txt: not a SQLite database"):
        opener(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("opener", [Store, Store.open_read_only])
def test_a_database_of_another_program_is_left_untouched(tmp_path: Path, opener: Any) -> None:
    path = tmp_path / "photos.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE photos (name)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a results store"):
        opener(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("opener", [Store, Store.open_read_only])
def test_a_database_of_a_newer_program_is_refused(stored: Path, opener: Any) -> None:
    connection = sqlite3.connect(stored)
    connection.execute(f"PRAGMA user_version = {newest() + 1}")
    connection.close()
    before = stored.read_bytes()
    with pytest.raises(StoreError, match=f"schema {newest() + 1}, newer than this program's"):
        opener(stored)
    assert stored.read_bytes() == before


@pytest.mark.parametrize("opener", [Store, Store.open_read_only])
@pytest.mark.parametrize("schema", [-1, 0])
def test_a_database_of_no_version_is_refused(stored: Path, opener: Any, schema: int) -> None:
    connection = sqlite3.connect(stored)
    connection.execute(f"PRAGMA user_version = {schema}")
    connection.close()
    with pytest.raises(StoreError, match=f"schema {schema}, which no version .* writes") as refused:
        opener(stored)
    assert refused.value.exit_status == 2


def test_a_file_that_cannot_be_made_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_handle: int) -> None:
        raise OSError(errno.EFBIG, "File too large")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreError, match="raise the limit on the size of files"):
        Store(tmp_path / "new.db")
    assert list(tmp_path.iterdir()) == []


OPENED_OFTEN = """
import sys
from pathlib import Path
from results.store.store import Store
for line in sys.stdin:
    Store(Path(line.rstrip("\\n"))).close()
    print("made", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("before", ["nothing", "an empty file", "no unnamed files"])
def test_processes_that_make_a_store_at_once_all_have_it(tmp_path: Path, before: str) -> None:
    without = "import os; os.O_TMPFILE = 0\n"  # which gives the error of such a file system
    program = (without if before == "no unnamed files" else "") + OPENED_OFTEN
    words, pipe = [sys.executable, "-c", program], subprocess.PIPE
    started = [
        subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) for _ in range(4)
    ]
    for number in range(25):
        path = tmp_path / f"{number}.db"
        if before == "an empty file":
            path.touch()
        for process in started:
            assert process.stdin
            process.stdin.write(f"{path}\n")
            process.stdin.flush()
        for process in started:
            assert process.stdout
            assert process.stdout.readline() == "made\n"
        with Store.open_read_only(path) as store:
            assert store.list_runs() == []
    for process in started:
        process.communicate()
        assert process.returncode == 0
    assert {path.suffix for path in tmp_path.iterdir()} <= {".db", ".db-wal", ".db-shm"}


@pytest.mark.parametrize("opener", [Store, Store.open_read_only])
def test_a_damaged_database_is_an_error(stored: Path, opener: Any) -> None:
    stored.write_bytes(stored.read_bytes()[:100] + b"\xff" * 5000)
    with pytest.raises(StoreError, match=r"runs\.db: cannot (read|write) the results database"):
        opener(stored)


def test_a_folder_that_cannot_be_written_is_named_with_the_mend(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (Path("/proc/runs.db"), tmp_path / "file" / "runs.db"):
        with pytest.raises(StoreError) as caught:
            Store(path)
        assert str(caught.value).startswith(f"{path}: cannot write the results database")
        assert f"make {path.parent} writable" in str(caught.value)


def test_a_held_database_is_an_error_that_says_so(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("results.schema.database.BUSY_TIMEOUT_S", 0.01)
    holder = sqlite3.connect(stored, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="another program holds it"):
        Store(stored)
    with Store.open_read_only(stored) as store:
        assert store.load("last").status == "ok"
    holder.close()


def test_readers_leave_nothing_behind(stored: Path) -> None:
    with Store(stored) as writer, Store.open_read_only(stored) as reader:
        run_id = writer.begin(head())
        assert reader.load(run_id).status == "running"
    assert [entry.name for entry in stored.parent.iterdir()] == ["runs.db"]


def test_a_store_on_a_medium_nobody_can_write_can_be_read(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root may write everywhere, so the medium is played: SQLite cannot open a WAL database then.
    real = sqlite3.connect

    class ReadOnlyMedium(sqlite3.Connection):
        def execute(self, *args: Any) -> sqlite3.Cursor:
            raise sqlite3.OperationalError("unable to open database file")

    def connect(name: str, **options: Any) -> sqlite3.Connection:
        kind = sqlite3.Connection if "immutable" in name else ReadOnlyMedium
        return real(name, **options, factory=kind)

    monkeypatch.setattr("results.schema.database.sqlite3.connect", connect)
    with Store.open_read_only(stored) as store:
        assert store.load("last").status == "ok"
    stored.with_name("runs.db-wal").write_bytes(b"something not yet in the database")
    with pytest.raises(StoreError, match="unable to open database file"):
        Store.open_read_only(stored)
