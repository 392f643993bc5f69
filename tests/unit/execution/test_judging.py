"""Stored runs that are judged again."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator import fidelity
from orchestrator.execution import judging
from orchestrator.fidelity import check_base_rtt
from results.store import Store
from tests.unit.cli.test_run import orchestrator
from tests.unit.hostile import ROOT, play
from tests.unit.stores import restore

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
    monkeypatch.setattr(check_base_rtt, "TOLERANCE_S", -1.0)
    monkeypatch.setattr(judging, "checks_version", lambda: "2-changed")
    status, out, _ = command("--all", "--db", str(db))
    assert status == 3
    assert "faithful -> unfaithful" in out
    assert "-> 2-changed" in out
    assert "base_rtt" in out
    assert "FAILED" in out
    with Store.open_read_only(db) as store:
        ok = next(row for row in store.list_runs() if row.status == "ok")
        (run,) = store.document([ok.id])["runs"]
        own, later = store.load(ok.id).judgements
        assert (own.verdict, later.verdict) == ("faithful", "unfaithful")
    assert run["fidelity"]["verdict"] == "unfaithful"
    assert run["fidelity"]["checks_version"] == "2-changed"
    assert [one["verdict"] for one in run["fidelity"]["earlier"]] == ["faithful"]
    monkeypatch.undo()
    status, out, _ = command(ok.id, "--db", str(db))
    assert (status, "unfaithful -> faithful" in out) == (0, True)


def test_a_named_run_that_cannot_be_judged_again_is_an_error(db: Path) -> None:
    with Store.open_read_only(db) as store:
        rows = {row.status: row.id for row in store.list_runs()}
    status, out, err = command(rows["ok"], rows["failed"], "--db", str(db))
    assert status == 1
    assert f"{rows['ok']}: faithful, as before" in out
    assert "cannot be judged again: it is failed" in err


def test_runs_of_an_earlier_version_have_no_evidence(tmp_path: Path) -> None:
    path = restore("schema-5.sql", tmp_path / "runs.db")
    status, out, _ = command("--all", "--db", str(path))
    assert status == 0
    assert out.count("it was stored by an earlier version, without its facts") == 3


def test_what_a_guest_recorded_is_judged_as_when_it_was_stored(tmp_path: Path) -> None:
    # Judged again and not only copied: the version of the checks may be a later one.
    path = restore("schema-6.sql", tmp_path / "runs.db")
    status, out, _ = command("--all", "--db", str(path), "--json")
    assert status == 0
    runs = json.loads(out)["runs"]
    assert [(run["same"], run["verdict"]) for run in runs if run["error"] is None].count(
        (True, "faithful")
    ) == 2


def test_a_changed_judgement_is_found(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_base_rtt, "TOLERANCE_S", -1.0)
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


def test_a_damaged_run_keeps_no_other_from_being_judged(tmp_path: Path) -> None:
    path = restore("schema-6.sql", tmp_path / "runs.db")
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
    monkeypatch.setattr(check_base_rtt, "TOLERANCE_S", -1.0)
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
