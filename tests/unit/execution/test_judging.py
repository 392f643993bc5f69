"""Stored runs that are judged again."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator import fidelity
from orchestrator.errors import StoreError
from orchestrator.execution import judging
from orchestrator.fidelity import round_trips
from results.documents import run_document
from results.store.parts import judgements
from results.store.parts.integrity import examine
from results.store.store import Store
from tests.support.hostile_texts import ROOT, play
from tests.support.run import orchestrator
from tests.support.stores import restore, restore_judged

pytestmark = pytest.mark.slow

FINE, BROKEN = ("", ""), ("", "os.remove('facts.jsonl')")


def command(*words: str) -> tuple[int, str, str]:
    result = orchestrator("judge", *words)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a store with a run that ended well and a failed one."""
    runs = play(tmp_path, monkeypatch, [FINE, BROKEN])
    assert [run["status"] for run in runs] == ["ok", "failed"]
    return tmp_path / "runs.db"


def test_the_same_checks_give_the_same_verdict_and_store_nothing(db: Path) -> None:
    before = db.read_bytes()
    with Store.open_read_only(db) as store:
        ok, failed = sorted(store.list_runs(), key=lambda row: row.repetition)
    status, out, _ = command("--all", "--db", str(db))
    assert status == 0
    assert f"{ok.id}: faithful, as before\n" in out
    assert f"run {failed.id} cannot be judged again: it is failed" in out
    assert db.read_bytes() == before


def test_another_check_gives_another_verdict_and_both_are_kept(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(round_trips, "TOLERANCE_S", -1.0)
    monkeypatch.setattr(judging, "checks_version", lambda: "2-changed")
    status, out, _ = command("--all", "--db", str(db))
    assert status == 3
    assert "faithful -> unfaithful" in out
    assert "-> 2-changed" in out
    assert "base_rtt" in out
    assert "FAILED" in out
    with Store.open_read_only(db) as store:
        ok = next(row for row in store.list_runs() if row.status == "ok")
        (run,) = run_document.of_ids(store, [ok.id])["runs"]
        own, later = store.load(ok.id).judgements
        assert (own.verdict, later.verdict) == ("faithful", "unfaithful")
    assert run["fidelity"]["verdict"] == "unfaithful"
    assert run["fidelity"]["checks_version"] == "2-changed"
    assert [one["verdict"] for one in run["fidelity"]["earlier"]] == ["faithful"]
    monkeypatch.undo()
    status, out, _ = command(ok.id, "--db", str(db))
    assert (status, "unfaithful -> faithful" in out) == (0, True)


def test_a_check_with_another_source_is_another_version(db: Path, tmp_path: Path) -> None:
    copy = tmp_path / "orchestrator"
    shutil.copytree(ROOT / "orchestrator", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in (
        ("round_trips.py", "TOLERANCE_S = 20e-6", "TOLERANCE_S = -1.0"),
        ("__init__.py", f"VERSION = {fidelity.VERSION}", f"VERSION = {fidelity.VERSION + 1}"),
    ):
        old, new = f"\n{old}\n", f"\n{new}\n"
        source = copy / "fidelity" / name
        assert source.read_text().count(old) == 1
        source.write_text(source.read_text().replace(old, new))
    program = "from orchestrator.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "judge", "--all", "--json", "--db", str(db)],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    with Store.open_read_only(db) as store:
        (ok,) = [row.id for row in store.list_runs() if row.status == "ok"]
        own, later = store.load(ok).judgements
    assert (own.verdict, later.verdict) == ("faithful", "unfaithful")
    assert own.checks_version == judging.checks_version()
    (number, digest), (other_number, other_digest) = (
        str(one.checks_version).split("-") for one in (own, later)
    )
    assert int(other_number) == int(number) + 1
    assert len(other_digest) == len(digest)
    assert other_digest != digest
    changes = next(run for run in json.loads(done.stdout)["runs"] if run["id"] == ok)["changes"]
    assert [change["check"] for change in changes] == ["base_rtt", "base_rtt_end"]
    assert all((one["old"]["ok"], one["new"]["ok"]) == (True, False) for one in changes)


def test_a_named_run_that_cannot_be_judged_again_is_an_error(db: Path) -> None:
    with Store.open_read_only(db) as store:
        rows = {row.status: row.id for row in store.list_runs()}
    status, out, err = command(rows["ok"], rows["failed"], "--db", str(db))
    assert status == 1
    assert f"{rows['ok']}: faithful, as before" in out
    assert "cannot be judged again: it is failed" in err


def test_what_a_guest_recorded_is_judged_as_when_it_was_stored(tmp_path: Path) -> None:
    # Judged again and not only copied: the version of the checks may be a later one.
    path = restore(tmp_path / "runs.db")
    status, out, _ = command("--all", "--db", str(path), "--json")
    assert status == 0
    runs = json.loads(out)["runs"]
    assert [(run["same"], run["verdict"]) for run in runs if run["error"] is None].count(
        (True, "faithful")
    ) == 2


def test_a_changed_judgement_is_found(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(round_trips, "TOLERANCE_S", -1.0)
    command("--all", "--db", str(db))
    connection = sqlite3.connect(db)
    with pytest.raises(sqlite3.IntegrityError, match="never overwritten"):
        connection.execute("UPDATE judgements SET verdict = 'faithful'")
    connection.execute("DROP TRIGGER judgements_are_final")
    connection.execute("UPDATE judgements SET verdict = 'faithful'")
    connection.commit()
    connection.close()
    status, _, _ = command("--all", "--db", str(db))
    assert status == 1


LATEST = "(SELECT max(number) FROM judgements WHERE run = 1)"


def damage(path: Path, *statements: str) -> None:
    """Change judgements as only damage could: without the triggers, which are put back."""
    with closing(sqlite3.connect(path)) as connection:
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'judgements%'"
        ).fetchall()
        for name, _sql in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        assert sum(connection.execute(statement).rowcount for statement in statements) > 0
        for _name, sql in triggers:
            connection.execute(sql)
        connection.commit()


@pytest.mark.parametrize(
    "statement",
    [
        f"DELETE FROM judgements WHERE run = 1 AND number = {LATEST}",
        "DELETE FROM judgements WHERE run = 1 AND number = 1",
        "DELETE FROM judgements WHERE run = 1",
        "UPDATE judgements SET verdict = 'doubtful' WHERE run = 1 AND number = 1",
        f"UPDATE judgements SET checks = '[]' WHERE run = 1 AND number = {LATEST}",
        "DELETE FROM checksums WHERE run = 1 AND \"table\" = 'judgements'",
        "UPDATE checksums SET rows = 0, sha256 = '' WHERE run = 1 AND \"table\" = 'judgements'",
    ],
)
def test_a_deleted_or_edited_judgement_is_found(tmp_path: Path, statement: str) -> None:
    path = restore_judged(tmp_path / "runs.db")
    assert examine(path).ok
    with Store.open_read_only(path) as store:
        first, *others = [row.id for row in store.list_runs() if row.status == "ok"]
    damage(path, statement)
    found = {run.id: run for run in examine(path).runs}
    assert [one.table for one in found[first].damage] == ["judgements"]
    assert all(found[run].state == "ok" for run in others)
    doctor = orchestrator("doctor", "--store", "--db", str(path))
    assert doctor.exit_code == 1
    assert f"DAMAGED run {first}, table judgements: " in doctor.stdout
    status, out, err = command("--all", "--db", str(path))
    assert status == 1
    assert f"run {first} is damaged: table judgements: " in err
    assert all(f"{run}: " in out for run in others)


def test_a_judgement_with_a_checksum_that_fits_does_not_fit_the_next_one(tmp_path: Path) -> None:
    path = restore_judged(tmp_path / "runs.db")
    with Store.open_read_only(path) as store:
        first = store.list_runs()[0].id
    with closing(sqlite3.connect(path)) as connection:
        row = judgements._rows(connection, 1)[0]._replace(verdict="doubtful")
    sha256 = judgements._sha256(first, row)
    damage(
        path,
        f"UPDATE judgements SET verdict = 'doubtful', sha256 = '{sha256}' "
        "WHERE run = 1 AND number = 1",
    )
    (damaged,) = examine(path).runs[0].damage
    assert damaged.problem == "number 2 is not what was stored"


@pytest.mark.parametrize(
    ("statement", "refused"),
    [
        ("DELETE FROM judgements", "never deleted"),
        ("DELETE FROM runs", "FOREIGN KEY"),
        ("INSERT OR REPLACE INTO judgements SELECT * FROM judgements", "never overwritten"),
        ("UPDATE judgements SET number = number + 1", "never overwritten"),
    ],
)
def test_the_store_refuses_to_change_judgements(
    tmp_path: Path, statement: str, refused: str
) -> None:
    path = restore_judged(tmp_path / "runs.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        with pytest.raises(sqlite3.IntegrityError, match=refused):
            connection.execute(statement)


def test_a_run_with_damaged_judgements_gets_no_other(tmp_path: Path) -> None:
    path = restore_judged(tmp_path / "runs.db")
    with Store(path) as store:
        run = store.load(store.list_runs()[0].id)
        judgement = run.judgements[-1]
        damage(path, "DELETE FROM judgements WHERE run = 1")
        with pytest.raises(StoreError, match=f"run {run.id} is damaged: table judgements"):
            store.add_judgement(run.id, judgement)
    with closing(sqlite3.connect(path)) as connection:
        assert not judgements._rows(connection, 1)


def test_a_damaged_run_keeps_no_other_from_being_judged(tmp_path: Path) -> None:
    path = restore_judged(tmp_path / "runs.db")
    _, out, _ = command("--all", "--db", str(path), "--json")
    damaged, *intact = [run["id"] for run in json.loads(out)["runs"] if run["error"] is None]
    assert intact
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER judgements_are_final")
        connection.execute(
            "UPDATE judgements SET verdict = 'doubtful' "
            "WHERE run = (SELECT run FROM runs WHERE id = ?)",
            (damaged,),
        )
        connection.commit()
    status, out, err = command("--all", "--db", str(path))
    assert status == 1
    assert all(f"{run}: " in out for run in intact)
    assert damaged in err
    status, out, _ = command("--all", "--db", str(path), "--json")
    errors = {run["id"]: run["error"] for run in json.loads(out)["runs"]}
    assert status == 1
    assert [errors[run] for run in intact] == [None] * len(intact)
    assert "damaged" in errors[damaged]


def test_an_unknown_run_is_found_before_any_is_judged(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(round_trips, "TOLERANCE_S", -1.0)
    with Store.open_read_only(db) as store:
        (ok,) = [row.id for row in store.list_runs() if row.status == "ok"]
    status, _, err = command(ok, "29990101-000000-0000", "--db", str(db))
    assert status == 2
    assert "29990101-000000-0000" in err
    with Store.open_read_only(db) as store:
        assert len(store.load(ok).judgements) == 1


def test_the_version_follows_the_sources() -> None:
    assert judging.checks_version().startswith(f"{fidelity.VERSION}-")
    for source in judging.JUDGING_SOURCES:
        assert (ROOT / "orchestrator" / source).exists()
