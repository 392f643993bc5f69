"""Stores of earlier versions: read as they are, migrated when they are written, nothing lost."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import _stored_runs
from orchestrator.errors import StoreError
from orchestrator.protocol import version as program
from results import integrity, older
from results.database import newest, open_read_only, open_writable
from results.export import export
from results.store import Store
from tests.unit.cli.test_run import FakeRunner, fake, orchestrator
from tests.unit.results.test_migrations import SECOND, pragma, schema, up_to
from tests.unit.results.test_recordings import head, whole
from tests.unit.stores import STORES, dump, restore

VERSIONS = range(1, newest() + 1)
ROOT = Path(__file__).parents[3]

TINY = """\
version: 1
name: tiny
description: Two small runs.
seed: 1
duration: 1s
warmup: 200ms
start_jitter: 5ms
topology:
  kind: dumbbell
  bottleneck: {rate: 2mbit, delay: 5ms, queue: {kind: droptail, limit: 20p}}
  groups:
    - {name: a, hosts: 1, access: {rate: 100mbit, delay: 5ms}}
flows:
  - {name: one, group: a, congestion: reno, traffic: {kind: bulk}}
  - {name: two, group: a, congestion: cubic, traffic: {kind: bulk}, start: 100ms}
measure: [{name: late, from: 500ms, to: 1s}]
repetitions: 2
sample: {tcp: 500ms, queue: 500ms}
"""
"""What the first two runs of every store are of."""

__all__ = ["fake"]


def everything(store: Store, folder: Path) -> dict[str, Any]:
    """All that can be read of a store: the list, the documents, and every sample."""
    found: dict[str, Any] = {"list": store.listing()}
    for row in store.list_runs():
        run = store.load(row.id)
        found[row.id] = store.document([row.id])
        found[f"{row.id} log"] = (run.artefact("console"), run.artefact("log"))
        if run.status == "ok":
            (file,) = export(run, "json", folder / f"{row.id}.json", force=True)
            found[f"{row.id} samples"] = json.loads(file.read_text())
    return found


def test_every_schema_has_a_store() -> None:
    assert {file.name for file in STORES.glob("*")} == {
        f"schema-{version}.sql" for version in VERSIONS
    }
    for version in VERSIONS:
        text = (STORES / f"schema-{version}.sql").read_text()
        assert f"PRAGMA user_version = {version};" in text
        assert text.isascii()


@pytest.mark.parametrize("version", VERSIONS)
def test_reading_changes_nothing_and_migrating_loses_nothing(tmp_path: Path, version: int) -> None:
    path = restore(f"schema-{version}.sql", tmp_path / "runs.db")
    before = hashlib.sha256(path.read_bytes()).digest()
    with Store.open_read_only(path) as store:
        first = everything(store, tmp_path)
    assert hashlib.sha256(path.read_bytes()).digest() == before
    statuses = [run["status"] for run in first["list"]["runs"]]
    assert statuses[:2] == ["ok", "ok"]
    assert statuses[-1] == "interrupted"
    flows = first[first["list"]["runs"][0]["id"]]["runs"][0]["flows"]
    assert [flow["congestion_control"] for flow in flows] == ["reno", "cubic"]
    with Store(path) as store:
        assert everything(store, tmp_path) == first
        store.finish(store.begin(head()), whole(), 1.0)
    Store(tmp_path / "new.db").close()
    assert schema(path) == schema(tmp_path / "new.db")
    found = integrity.examine(path)
    assert found.ok, found
    old = len(statuses)
    sealed = old if version >= 5 else 0
    assert found.counts == {"ok": sealed + 1, "not checked": old - sealed, "damaged": 0,
                            "running": 0}  # fmt: skip


def versions_of(path: Path) -> tuple[int, int]:
    """The link model and the digest version of a store's first run."""
    with Store.open_read_only(path) as store:
        first = store.list_runs()[0]
    return first.link_model, first.digest_version


@pytest.mark.parametrize("version", VERSIONS)
def test_stored_runs_have_the_versions_of_their_time(tmp_path: Path, version: int) -> None:
    path = restore(f"schema-{version}.sql", tmp_path / "runs.db")
    expected = (1 if version < 9 else 2, 1 if version < 8 else 2)
    assert versions_of(path) == expected
    Store(path).close()
    assert versions_of(path) == expected


def depends_on_sampling(path: Path) -> list[bool | None]:
    with Store.open_read_only(path) as store:
        return [row.digest_depends_on_sampling for row in store.list_runs()]


@pytest.mark.parametrize("version", VERSIONS)
def test_whether_sampling_changes_a_digest_is_known_since_schema_9(
    tmp_path: Path, version: int
) -> None:
    path = restore(f"schema-{version}.sql", tmp_path / "runs.db")
    found = depends_on_sampling(path)
    expected = [False, False, True, False] if version >= 9 else [None] * len(found)
    assert found == expected
    Store(path).close()
    assert depends_on_sampling(path) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_resume_and_verify_migrate_and_know_what_was_stored(
    tmp_path: Path, fake: FakeRunner, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = restore(f"schema-{version}.sql", tmp_path / "runs.db")
    Path("tiny.yaml").write_text(TINY)
    link_model, digest_version = versions_of(path)
    monkeypatch.setattr(_stored_runs, "LINK_MODEL", link_model)
    monkeypatch.setattr(_stored_runs, "DIGEST_VERSION", digest_version)
    resumed = orchestrator("run", "tiny.yaml", "--resume", "--db", str(path))
    assert "2 of 2 runs are stored already" in resumed.stderr
    assert resumed.exit_code == 0
    assert not fake.asked
    assert pragma(path, "user_version") == newest()
    restore(f"schema-{version}.sql", tmp_path / "again.db")
    with Store.open_read_only(path) as store:
        first = store.list_runs()[0]
    fake.digest = lambda spec: str(first.digest)
    verified = orchestrator("run", "--verify", first.id, "--db", "again.db")
    assert (verified.exit_code, "the same digest as" in verified.stderr) == (0, True)
    assert pragma(tmp_path / "again.db", "user_version") == newest()


@pytest.mark.parametrize("name", ["LINK_MODEL", "DIGEST_VERSION"])
def test_runs_of_other_versions_are_neither_resumed_nor_verified(
    tmp_path: Path, fake: FakeRunner, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("tiny.yaml").write_text(TINY)
    words = ("run", "tiny.yaml", "--db", "runs.db")
    assert orchestrator(*words).exit_code == 0
    older = getattr(program, name)
    this = {"LINK_MODEL": program.LINK_MODEL} | {name: older + 1}
    monkeypatch.setattr(_stored_runs, name, older + 1)
    what = "link model" if name == "LINK_MODEL" else "digest version"
    with Store.open_read_only(Path("runs.db")) as store:
        first, last = (row.id for row in store.list_runs())
    for run_id, refused in (
        (first, orchestrator(*words, "--resume")),
        (last, orchestrator("run", "--verify", "last", "--db", "runs.db")),
    ):
        assert refused.exit_code == 2
        assert f"run {run_id} has " in refused.stderr
        assert f"{what} {older}" in refused.stderr
        assert f"this program has link model {this['LINK_MODEL']} and digest" in refused.stderr
        assert f"{what} {older + 1}" in refused.stderr
        assert "fix: run " in refused.stderr
    assert len(fake.asked) == 1

    # Run again as new runs, both kinds are there, and only the new ones count.
    monkeypatch.setattr(program, name, older + 1)
    assert orchestrator(*words).exit_code == 0
    resumed = orchestrator(*words, "--resume")
    assert (resumed.exit_code, len(fake.asked)) == (0, 2)
    assert "2 of 2 runs are stored already" in resumed.stderr
    with Store.open_read_only(Path("runs.db")) as store:
        shown = [row.id for row in store.list_runs()][2:]
    resumed = orchestrator(*words, "--resume", "--json")
    assert [run["id"] for run in json.loads(resumed.stdout)["runs"]] == shown


def test_a_changed_scenario_is_no_stored_one(tmp_path: Path, fake: FakeRunner) -> None:
    path = restore("schema-1.sql", tmp_path / "runs.db")
    for change in ("--set=duration=2s", "--set=tcp={sack: false}", "--set=flows.one.stagger=1ms"):
        Path("tiny.yaml").write_text(TINY)
        resumed = orchestrator("run", "tiny.yaml", "--resume", change, "--db", str(path))
        assert "0 of 2 runs are stored already" in resumed.stderr, change


@pytest.mark.parametrize("words", [["run", "tiny.yaml", "--resume"], ["run", "--verify", "last"]])
def test_a_store_that_is_not_there(fake: FakeRunner, words: list[str]) -> None:
    Path("tiny.yaml").write_text(TINY)
    result = orchestrator(*words, "--db", "none.db")
    if "--verify" in words:
        assert result.exit_code == 2
        assert "there is no results database" in result.stderr
        assert not Path("none.db").exists()
    else:
        assert len(fake.asked) == 1


@pytest.mark.parametrize("version", [1, newest()])
def test_a_store_on_a_read_only_medium(tmp_path: Path, version: int) -> None:
    folder = tmp_path / "medium"
    folder.mkdir()
    restore(f"schema-{version}.sql", folder / "runs.db")
    program = [sys.executable, "-c", "from orchestrator.cli import main; main()"]
    boundary = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--chdir", str(ROOT), *program]

    def ask(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*boundary, *words, "--db", str(folder / "runs.db")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    listed = ask("runs", "--json")
    assert listed.returncode == 0, listed.stderr
    assert len(json.loads(listed.stdout)["runs"]) >= 3
    refused = ask("run", "--verify", "last")
    assert refused.returncode == 1
    assert "cannot write the results database" in refused.stderr
    assert f"make {folder} writable" in refused.stderr


FULL = """
import resource, signal, sys
from pathlib import Path
from orchestrator.cli import _stored_runs
from orchestrator.errors import StoreError
from orchestrator.protocol import version as program
from results.store import Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    Store(Path(sys.argv[1])).close()
except StoreError as error:
    print(error)
"""


def test_a_migration_without_room_leaves_the_store_whole(tmp_path: Path) -> None:
    path = restore("schema-1.sql", tmp_path / "runs.db")
    before = dump(path)
    # Beside the database there are a shared-memory file of 32 KiB and the log, which must grow.
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path), str(36 * 1024)],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert "cannot write the results database" in done.stdout
    assert "with room to spare" in done.stdout
    assert dump(path) == before
    with Store(path) as store:
        assert len(store.list_runs()) == 3


def test_a_second_migration_that_fails_undoes_the_first(tmp_path: Path) -> None:
    path = restore("schema-1.sql", tmp_path / "runs.db")
    before, migrations = dump(path), up_to(tmp_path / "migrations", newest())
    (migrations / f"{newest() + 1:04}_bad.sql").write_text("INSERT INTO nowhere VALUES (1);\n")
    with pytest.raises(StoreError, match="nowhere"):
        open_writable(path, migrations)
    assert dump(path) == before


def test_a_store_of_a_schema_to_come_shows_new_columns_by_their_defaults(tmp_path: Path) -> None:
    path, migrations = tmp_path / "runs.db", up_to(tmp_path / "migrations", newest())
    with Store(path) as store:
        store.fail(store.begin(head()), "no kernel")
    later = migrations / f"{newest() + 1:04}_notes.sql"
    later.write_text(SECOND + "ALTER TABLE runs ADD COLUMN place TEXT NOT NULL DEFAULT 'here';\n")
    connection = open_read_only(path, migrations)
    older.show_as_newest(connection, path, migrations)
    assert connection.execute("SELECT label, place FROM runs").fetchall() == [(None, "here")]
    assert connection.execute("SELECT * FROM remarks").fetchall() == []
    connection.close()


def test_a_column_without_a_value_for_older_runs_is_refused(tmp_path: Path) -> None:
    path, migrations = tmp_path / "runs.db", up_to(tmp_path / "migrations", newest())
    Store(path).close()
    later = migrations / f"{newest() + 1:04}_places.sql"
    later.write_text(
        "CREATE TABLE made_anew (run INTEGER, key TEXT, value TEXT, place TEXT NOT NULL);\n"
        "DROP TABLE provenance;\nALTER TABLE made_anew RENAME TO provenance;\n"
    )
    connection = open_read_only(path, migrations)
    with pytest.raises(StoreError, match=r"cannot read table provenance .* brings the file up"):
        older.show_as_newest(connection, path, migrations)
    connection.close()
