"""Runs with values that cannot have been measured are refused by ``merge``, or do no harm."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.decode.ranges import require_counters, require_samples, require_sojourn_times
from orchestrator.errors import BedError, StoreError
from orchestrator.files.scenario_files import NamedFile
from orchestrator.planning.runspec import RunSpec
from orchestrator.recording import ranges
from orchestrator.recording.kept import KeptFiles
from orchestrator.recording.model import (
    COUNTER_DTYPE,
    DATAGRAM_DTYPE,
    QUEUE_DTYPE,
    SENDER_STATE_DTYPE,
    SOJOURN_DTYPE,
    TCP_DTYPE,
    TRANSFER_DTYPE,
    Check,
)
from orchestrator.repetitions import RepetitionRule
from results.documents import run_document
from results.experiment.experiments import experiments
from results.experiment.observations import ValueSelection
from results.experiment.summary import summarise
from results.experiment.summary_document import document
from results.records.links import ChannelSummary, LinkSummary
from results.runs import listing
from results.samples import sample_blocks
from results.samples.sample_tables import TABLES
from results.schema import database
from results.store import store as store_module
from results.store import writing
from results.store.parts import checksum, integrity, notes
from results.store.parts.checksum import ROW_TABLES, Checksum
from results.store.parts.judgements import Judgement
from results.store.store import Store
from results.store.upkeep import housekeeping
from results.store.upkeep.merging import merge
from tests.support.kept_files import CONTENTS, FILES
from tests.support.merging import orchestrator
from tests.support.recordings import head, whole
from tests.support.smallest import planned
from tests.support.stores import restore
from web import create_app

MUTATIONS: list[Any] = [
    float("inf"), 1e308, -1, 2**62, "text", "x" * 200_000, b"\x00\xff", None, "[]", "{}",
    '"text"', "Infinity", '{"a": [NaN]}', "1" * 400, "[" * 60 + "]" * 60, '["\\ud800"]',
    '[{"name": 7}]',
]  # fmt: skip
"""What each column of a run is set to. Checksums are then made to fit, as a stranger would."""

EXCLUDED = {
    ("runs", "run"), ("runs", "id"), ("run_files", "sha256"), ("kept_files", "sha256"),
}  # fmt: skip
"""Ids and hashes of files are keys. A file that is missing is damage of the store."""


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    return restore(tmp_path / "sound.db")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A store with two runs that have a row or a few in every table."""
    recorded = whole()
    udp, transfers = np.zeros(2, DATAGRAM_DTYPE), np.zeros(2, TRANSFER_DTYPE)
    udp["time_ns"], transfers["start_ns"] = (0, 10**9), (0, 10**9)
    recorded = replace(recorded, datagrams=udp, transfers=transfers, console="a", log="b")
    recorded = replace(recorded, kept=KeptFiles(FILES[:4], CONTENTS))
    recorded.provenance.update(modules={"m": {"sha256": "1"}}, events=[], guest_kernel={})
    way = ChannelSummary(
        rate_bps=8_000_000, delay_s=0.01, loss=0.0, bottleneck=True,
        queue_kind="droptail", limit_packets=100, limit_bytes=None,
    )  # fmt: skip
    link = LinkSummary("bottleneck", "r1", "r2", forward=way, reverse=way)
    rule = RepetitionRule("goodput_bps", None, None, interval=0.1, least=2, most=9)
    with Store(tmp_path / "small.db") as store:
        for number in range(2):
            run = store.begin(
                head(repetition=number, links=[link], repetition_rule=rule),
                [NamedFile("mycc/a.c", b"int x;")],
            )
            store.finish(run, recorded, 1.0, {"facts": []})
    return tmp_path / "small.db"


def sums_of_samples(connection: sqlite3.Connection, key: int) -> dict[str, Checksum]:
    """Return the checksums of a run's samples, which do not depend on its key and id."""
    columns = checksum.covered(database.newest())
    return {table: checksum.of_samples(connection, table, key, columns[table]) for table in TABLES}


def seal_again(connection: sqlite3.Connection, key: int, samples: Mapping[str, Checksum]) -> None:
    """Write the checksums of a run again, whatever its rows are now."""
    connection.execute("DELETE FROM checksums WHERE run = ?", (key,))
    checksum.seal(connection, key, samples, database.newest())


def copied(connection: sqlite3.Connection, source: int, key: int) -> str:
    """Copy a run under another key and id; return the id."""
    run_id = f"20260101-000000-{key:04x}"
    for table in (*ROW_TABLES, *TABLES):
        columns = connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        names = [f'"{name}"' for (name,) in columns if name != "run"]
        values = [f"'{run_id}'" if name == '"id"' and table == "runs" else name for name in names]
        connection.execute(
            f"INSERT INTO {table} (run, {', '.join(names)}) "
            f"SELECT {key}, {', '.join(values)} FROM {table} WHERE run = {source}"
        )
    return run_id


EVERY = {"runs": 24, "flows": 24, "checks": 9, "queues": 9}
"""Tables with many columns: `make test` tries each 24th or 9th mutation, of the others each 3rd."""


def mutated(path: Path, table: str, every: int) -> Iterator[tuple[str, str, Any]]:
    """Add a copy of the first run for each column and each ``every``-th value; yield what was."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_schema WHERE name = 'runs_are_final'"
        ).fetchall()
        connection.execute("DROP TRIGGER runs_are_final")
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
            if name != "run" and (table, name) not in EXCLUDED
        ]
        key, samples = 100, sums_of_samples(connection, 1)
        for position, name in enumerate(names):
            for value in MUTATIONS[position % every :: every]:
                connection.execute("SAVEPOINT one")
                key += 1
                run_id = copied(connection, 1, key)
                try:
                    # One row, because names of several rows are keys.
                    done = connection.execute(
                        f'UPDATE {table} SET "{name}" = ? WHERE run = ? AND "{name}" IS '
                        f'(SELECT "{name}" FROM {table} WHERE run = ? LIMIT 1)',
                        (value, key, key),
                    )
                    assert done.rowcount
                    seal_again(connection, key, samples)
                except (sqlite3.IntegrityError, StoreError, TypeError, OverflowError):
                    connection.execute("ROLLBACK TO one")  # SQLite refuses it, or no hash covers it
                    connection.execute("RELEASE one")
                    continue
                connection.execute("RELEASE one")
                yield run_id, name, value
        for _name, sql in triggers:
            connection.execute(sql)
        connection.execute("COMMIT")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "every"),
    [
        *((table, EVERY.get(table, 3)) for table in ROW_TABLES),
        *(pytest.param(table, 1, marks=pytest.mark.long) for table in ROW_TABLES),
    ],
)
def test_every_column_with_every_mutation_is_refused_or_harmless(
    tmp_path: Path, small: Path, table: str, every: int
) -> None:
    made = list(mutated(small, table, every))
    assert made
    target = tmp_path / "target.db"
    (merged,) = merge(target, [small])
    assert len(set(merged.taken) - {run_id for run_id, _name, _value in made}) == 2
    assert merged.refused
    assert all(reason for reason in merged.refused.values())
    assert integrity.examine(target).ok
    with Store.open_read_only(target) as store:
        json.dumps(run_document.list_document(listing.read(store)), allow_nan=False)
        for experiment in experiments(store):
            summary = summarise(store, experiment, ValueSelection(()))
            json.dumps(document(summary), allow_nan=False)
    app = create_app(target)
    app.config["PROPAGATE_EXCEPTIONS"] = True
    client = app.test_client()
    assert client.get("/").status_code == 200
    assert client.get("/api/runs").status_code == 200
    names = {run_id: (name, value) for run_id, name, value in made}
    for run_id in merged.taken:
        with Store.open_read_only(target) as store:
            json.dumps(run_document.of_ids(store, [run_id]), allow_nan=False)
        answer = client.get(f"/runs/{run_id}")
        assert answer.status_code == 200, str(names.get(run_id))[:200]


@pytest.mark.parametrize(
    ("key", "last_ns", "reason"),
    [((0, 0), 2**62, f"tcp_samples: time_ns is {2**62}; 0 to "), ((7, 0), 10**9, "unknown flow"),
     ((0, 5), 10**9, "unknown endpoint")],
)  # fmt: skip
def test_samples_of_no_flow_and_long_after_the_end_are_refused(
    tmp_path: Path, small: Path, key: tuple[int, int], last_ns: int, reason: str
) -> None:
    with closing(sqlite3.connect(small)) as connection:
        connection.execute("DELETE FROM tcp_samples WHERE run = 1")
        columns = [
            np.array([0, last_ns if name == "time_ns" else 1])
            for name in sample_blocks.sample_columns()["tcp_samples"]
        ]
        sample_blocks.write(connection, "tcp_samples", 1, key, 0, columns)
        seal_again(connection, 1, sums_of_samples(connection, 1))
        connection.commit()
    (merged,) = merge(tmp_path / "target.db", [small])
    assert len(merged.taken) == 1
    (said,) = merged.refused.values()
    assert reason in said


def test_a_later_verdict_that_its_checks_contradict_is_refused(tmp_path: Path, sound: Path) -> None:
    failed = Check("base_rtt", "s", 0.1, 0.2, 0.001, ok=False)
    with Store(sound) as store:
        chosen = next(row.id for row in store.list_runs() if row.status == "ok")
        later = Judgement("faithful", [failed], "later", database.utc_now())
        store.add_judgement(chosen, later)
    (merged,) = merge(tmp_path / "target.db", [sound])
    assert merged.refused == {
        chosen: "judgements: number 1 is faithful, but its checks make the run unfaithful"
    }
    assert len(merged.taken) == 3


SIGNED = {
    "one_way_delay_mean_s", "one_way_delay_min_s", "one_way_delay_max_s", "queueing_delay_mean_s",
    "fct_mean_s", "fct_p50_s", "fct_p95_s", "fct_p99_s", "impairment_losses_packets",
    *(f"fct_{of}_{size}_s" for of in ("mean", "p99") for size in ("short", "medium", "long")),
}  # fmt: skip
"""Metrics that are differences: of clocks, of delays, or of counters."""


@pytest.mark.slow
def test_a_metric_is_not_below_zero_unless_it_is_a_difference(tmp_path: Path, small: Path) -> None:
    known: dict[str, str] = {}
    with closing(sqlite3.connect(small)) as connection:
        samples, rows = sums_of_samples(connection, 1), "name, flow, link"
        values = connection.execute(f"SELECT {rows} FROM metrics WHERE run = 1 GROUP BY {rows}")
        for key, subject in enumerate(values.fetchall(), 100):
            run_id = copied(connection, 1, key)
            connection.execute(
                "UPDATE metrics SET value = -1 WHERE run = ? AND window = '' "
                "AND name = ? AND flow IS ? AND link IS ?",
                (key, *subject),
            )
            seal_again(connection, key, samples)
            known[run_id] = subject[0]
        connection.commit()
    assert known
    (merged,) = merge(tmp_path / "target.db", [small])
    assert {known[run_id] for run_id in merged.refused} == set(known.values()) - SIGNED
    assert {known[run_id] for run_id in merged.taken if run_id in known} == SIGNED


INFINITE = "metrics SET value = 9e999 WHERE run = 1 AND name = 'goodput_bps'"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (INFINITE, "is inf, not a number up to"),
        ("metrics SET link = 'no:forward' WHERE run = 1 AND link IS NOT NULL", "an unknown link"),
        ("metrics SET flow = 7 WHERE run = 1 AND flow = 0", "an unknown flow 7"),
        ("metrics SET window = 'never' WHERE run = 1 AND window = 'late'", "an unknown window"),
        ("metrics SET value = 'fast' WHERE run = 1", "is 'fast'"),
        ("metrics SET name = 'goodput' WHERE run = 1", "is there twice"),
        (
            "metrics SET value = -0.1 WHERE run = 1 AND name = 'cwnd_limited_share'",
            "cwnd_limited_share is -0.1, which it cannot be",
        ),
        (
            "metrics SET value = 7.0 WHERE run = 1 AND name = 'jain_index'",
            "jain_index is 7.0, which it cannot be; at least 0, at most 1 is valid",
        ),
        (
            "metrics SET value = -5 WHERE run = 1 AND name = 'goodput_bps'",
            "goodput_bps is -5, which it cannot be; at least 0 is valid",
        ),
        ("runs SET repetition = 4000000000000 WHERE run = 1", "repetition is 4000000000000; 0 to"),
        ("runs SET verdict = 'unfaithful' WHERE run = 1", "but its checks make the run"),
        ("checks SET ok = 0 WHERE run = 1", "but its checks make the run unfaithful"),
        ("runs SET duration_s = 9e999 WHERE run = 1", "duration_s is inf"),
        ("runs SET variant = '{\"a\": Infinity}' WHERE run = 1", "Infinity is no number of JSON"),
        ("runs SET resolved = '\"x\"' WHERE run = 1", "runs: resolved has another form"),
        ("runs SET resolved = '{' WHERE run = 1", "runs: resolved is no JSON"),
        (
            f"provenance SET value = '{'[' * 5000}{']' * 5000}' WHERE run = 1 AND key = 'hosts'",
            "provenance: value is deeper than 40",
        ),
        ("runs SET started_utc = 'now' WHERE run = 1", "'now' is no time"),
        ("runs SET windows = '[[\"late\", 5, 1]]' WHERE run = 1", "has no length"),
        ("flows SET start_s = 1e308 WHERE run = 1", "start_s is 1e+308, not a number up to"),
        ("flows SET start_s = 5000 WHERE run = 1", "starts at 5000 s, in a run of"),
        ("flows SET path = '[\"no:forward\"]' WHERE run = 1", "crosses an unknown link"),
        ("flows SET flow = flow + 5 WHERE run = 1", "is not numbered from 0"),
        ("flows SET outcome = 'vanished' WHERE run = 1", "outcome is 'vanished'; ended, timed_out"),
        ("flows SET errno = 4096 WHERE run = 1", "errno is 4096; 0 to 4095 is valid"),
        ("flows SET failed_s = '[\"x\"]' WHERE run = 1", "failed_s has something else than"),
        ("queues SET link = 'no' WHERE run = 1", "is of an unknown link"),
        ("queues SET rate_bps = -5 WHERE run = 1", "rate_bps is -5, not from 0"),
        ("checks SET tolerance = 9e999 WHERE run = 1", "tolerance is inf"),
        ("provenance SET value = '\"text\"' WHERE run = 1 AND key = 'modules'", "'modules' has"),
        ("provenance SET value = '[7]' WHERE run = 1 AND key = 'events'", "an event has another"),
        (
            "provenance SET value = '[{\"applied_s\": 1.0}]' WHERE run = 1 AND key = 'events'",
            "an event has another",
        ),
        ("artefacts SET text = x'00' WHERE run = 1", "artefacts: the "),
    ],
)
def test_a_malformed_run_is_refused_by_its_id_and_the_others_are_taken(
    tmp_path: Path, sound: Path, change: str, reason: str
) -> None:
    with closing(sqlite3.connect(sound)) as connection:
        (trigger,) = connection.execute(
            "SELECT sql FROM sqlite_schema WHERE name = 'runs_are_final'"
        ).fetchone()
        connection.execute("DROP TRIGGER runs_are_final")
        if "name = 'goodput'" in change:
            connection.execute("UPDATE metrics SET name = 'x' WHERE run = 1")
        connection.execute("PRAGMA ignore_check_constraints = 1")  # as a stranger may
        assert connection.execute(f"UPDATE {change}").rowcount
        seal_again(connection, 1, sums_of_samples(connection, 1))
        connection.execute(trigger)
        (bad,) = connection.execute("SELECT id FROM runs WHERE run = 1").fetchone()
        connection.commit()
    target = tmp_path / "target.db"
    done = orchestrator("merge", str(sound), "--db", str(target), "--json")
    assert done.exit_code == StoreError.exit_status, done.output
    assert f"{sound}: run {bad} was refused: " in done.stderr
    assert reason in done.stderr
    (said,) = json.loads(done.stdout)["stores"]
    assert len(said["taken"]) == 3
    assert list(said["refused"]) == [bad]
    with Store.open_read_only(target) as store:
        assert len(store.list_runs()) == 3
    done = orchestrator("merge", str(sound), "--db", str(target))
    assert "0 runs taken, 3 there already, 1 refused" in done.stdout


KINDS: dict[str, tuple[ranges.Kind, np.dtype[np.void]]] = {
    "tcp_samples": ("tcp", TCP_DTYPE),
    "queue_samples": ("queues", QUEUE_DTYPE),
    "sojourn_times": ("sojourn", SOJOURN_DTYPE),
    "counter_samples": ("counters", COUNTER_DTYPE),
    "datagram_samples": ("datagrams", DATAGRAM_DTYPE),
    "sender_states": ("senders", SENDER_STATE_DTYPE),
    "transfers": ("transfers", TRANSFER_DTYPE),
}


def beyond_limits(duration_s: float) -> Iterator[tuple[str, str, int]]:
    """Yield (table, column, value) just below and just above each limit of samples."""
    assert KINDS.keys() == TABLES.keys()
    for table, (kind, _dtype) in KINDS.items():
        for column, (least, most) in ranges.of_samples(kind, duration_s).items():
            yield table, column, least - 1
            yield table, column, most + 1


def refused_of_a_bed(run: RunSpec, table: str, column: str, value: int) -> str:
    """Return why samples of a test bed are refused."""
    kind, dtype = KINDS[table]
    rows = np.zeros(1, dtype)
    rows[column] = value % 2**64 if dtype[column].kind == "u" else value
    nothing = {one: np.zeros(0, layout) for one, layout in KINDS.values()}
    found = nothing | {kind: rows}
    order: tuple[ranges.Kind, ...] = ("tcp", "queues", "datagrams", "transfers", "senders")
    try:
        require_samples(run, *(found[name] for name in order))
        require_sojourn_times(run, found["sojourn"])
        require_counters(run, found["counters"])
    except BedError as refused:
        return str(refused)
    return "nothing is wrong"


@pytest.mark.slow
def test_samples_that_a_bed_may_not_report_are_not_merged(tmp_path: Path, small: Path) -> None:
    run = planned(tmp_path, "{kind: cbr, rate: 1mbit}")
    for table, column, value in beyond_limits(run.duration_s):
        assert f"a row whose {column} is " in refused_of_a_bed(run, table, column, value)
    wrong: dict[str, str] = {}
    with closing(sqlite3.connect(small)) as connection:
        (duration_s,) = connection.execute("SELECT duration_s FROM runs WHERE run = 1").fetchone()
        sums = sums_of_samples(connection, 1)
        for key, (table, column, value) in enumerate(beyond_limits(duration_s), 100):
            run_id = copied(connection, 1, key)
            wrong[run_id] = f"table {table}: {column} is {value};"
            names = sample_blocks.sample_columns()[table]
            columns = [np.array([value if name == column else 0]) for name in names]
            connection.execute(f"DELETE FROM {table} WHERE run = {key}")
            sample_blocks.write(connection, table, key, (0,) * len(TABLES[table].keys), 0, columns)
            columns_of = checksum.covered(database.newest())[table]
            changed = checksum.of_samples(connection, table, key, columns_of)
            seal_again(connection, key, {**sums, table: changed})
        connection.commit()
    (merged,) = merge(tmp_path / "target.db", [small])
    assert len(merged.taken) == 2
    assert merged.refused.keys() == wrong.keys()
    for run_id, reason in wrong.items():
        assert merged.refused[run_id].startswith(reason)


@pytest.mark.parametrize(
    "moment", ["1970-01-01T00:00:01.000+00:00", "2100-12-31T23:59:59.999+00:00"]
)
def test_a_store_is_sound_whatever_the_clock_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    for module in (database, writing, store_module, notes):
        monkeypatch.setattr(module, "utc_now", lambda: moment)
    made = tmp_path / "made.db"
    with Store(made) as store:
        run = store.begin(head())
        store.finish(run, whole(), 1.0)
        housekeeping.add_note(store, [run], "at an odd time")
    assert integrity.examine(made).ok
    (merged,) = merge(tmp_path / "target.db", [made])
    assert not merged.refused
    assert integrity.examine(tmp_path / "target.db").ok
    assert not database.is_moment(moment.replace("-12-", "-13-").replace("-01-", "-00-"))
