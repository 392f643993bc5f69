"""A program with a made-up migration 19 to 20, and a store of schema 19."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.errors import StoreError
from results.schema import earlier_schema
from results.schema.database import newest, open_read_only
from results.store.store import Store
from tests.support.migrations import SECOND, pragma, with_another
from tests.support.recordings import head
from tests.support.stores import restore

ROOT = Path(__file__).parents[4]
NEXT = SECOND + "ALTER TABLE runs ADD COLUMN place TEXT NOT NULL DEFAULT 'here';\n"
SAID = "has schema 19. The next change makes it schema 20"

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return restore(tmp_path / "runs.db")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Call the command of a program that has one migration more; ``script`` is run instead."""
    program = tmp_path / "program"
    shutil.copytree(ROOT / "results", program / "results", ignore=lambda *_: ["__pycache__"])
    (program / "results" / "schema" / "migrations" / f"{newest() + 1:04}_next.sql").write_text(NEXT)

    def call(*words: str, script: str = "from orchestrator.cli import main; main()") -> (
        subprocess.CompletedProcess[str]
    ):  # fmt: skip
        return subprocess.run(
            [sys.executable, "-c", script, *words], cwd=program, text=True, check=False,
            env={**os.environ, "PYTHONPATH": f"{program}:{ROOT}"}, capture_output=True,
        )  # fmt: skip

    return call


@pytest.mark.long
@pytest.mark.slow
def test_commands_that_read_do_not_migrate_and_those_that_write_say_so(
    path: Path, command: Command, tmp_path: Path
) -> None:
    before, db = path.read_bytes(), ("--db", str(path))
    listed = command("runs", "--json", *db)
    assert listed.returncode == 0, listed.stderr
    ok = json.loads(listed.stdout)["runs"][0]["id"]
    for words in (
        ["summary", "tiny", "--json"], ["doctor", "--store"], ["gc", "--dry-run"],
        ["export", ok, "-o", str(tmp_path / "out.json")],
    ):  # fmt: skip
        done = command(*words, *db)
        assert done.returncode == 0, (words, done.stderr)
        assert "schema" not in done.stderr, words
    shown = command("show", ok, "--json", *db).stdout
    assert path.read_bytes() == before
    assert pragma(path, "user_version") == 19

    noted = command("note", ok, "from the next version", *db)
    assert noted.returncode == 0, noted.stderr
    assert "the schema 19 of the file becomes 20" in noted.stderr
    assert "the schema is 20 now" in noted.stderr
    assert pragma(path, "user_version") == 20
    with pytest.raises(StoreError, match="has schema 20, newer than this program's 19"):
        Store.open_read_only(path)
    assert command("doctor", "--store", *db).returncode == 0
    assert (
        json.loads(command("show", ok, "--json", *db).stdout)["runs"][0]["digest"]
        == (json.loads(shown)["runs"][0]["digest"])
    )


@pytest.mark.slow
def test_a_source_of_merge_is_migrated_in_a_copy(
    path: Path, command: Command, tmp_path: Path
) -> None:
    before = path.read_bytes()
    merged = command("merge", str(path), "--db", str(tmp_path / "all.db"))
    assert merged.returncode == 0, merged.stderr
    assert merged.stderr == (
        f"{path}: a copy of the file is migrated from schema 19 to 20. For a large file that takes "
        "minutes. The file itself stays as it is\n"
    )
    assert path.read_bytes() == before
    assert "4 runs taken" in merged.stdout
    assert pragma(tmp_path / "all.db", "user_version") == 20


PAGES = """
import sys
from pathlib import Path
from results.store.store import Store
from tests.support.editing import ORIGIN, form
from web import create_app

path, told = Path(sys.argv[1]), []
client = create_app(path, edit=True, tell=told.append).test_client()
with Store.open_read_only(path) as store:
    run = store.list_runs()[0].id
before = path.read_bytes()
experiment = client.get("/").text.partition('href="/experiments/')[2].partition('"')[0]
pages = [f"/runs/{run}", f"/tagging?run={run}", f"/experiments/{experiment}"]
for page in pages:
    assert sys.argv[2] in client.get(page).text, page
assert path.read_bytes() == before
assert told == []
for do, times in (("tag", 2), ("untag", 2)):
    data = form(client, pages[0], do=do, tag="paper")
    answer = client.post(f"{pages[0]}/remarks", data=data, headers=ORIGIN)
    assert answer.status_code == 303
    assert len(told) == times, told
for page in pages:
    assert "The next change" not in client.get(page).text, page
assert "the schema 19 of the file becomes 20" in told[0]
assert "the schema is 20 now" in told[1]
"""


@pytest.mark.slow
def test_pages_announce_the_first_change_beside_each_form(path: Path, command: Command) -> None:
    done = command(str(path), SAID, script=PAGES)
    assert done.returncode == 0, done.stderr


SERVED = """
import sys
import web
web.serve = lambda *_given: None
from orchestrator.cli import main
main()
"""


@pytest.mark.slow
def test_the_dashboard_says_it_at_its_start(path: Path, command: Command) -> None:
    before = path.read_bytes()
    words = ("web", "--db", str(path))
    assert SAID in command(*words, "--edit", script=SERVED).stderr
    assert "schema" not in command(*words, script=SERVED).stderr
    assert path.read_bytes() == before


@pytest.mark.slow
def test_a_store_on_a_read_only_medium(tmp_path: Path) -> None:
    folder = tmp_path / "medium"
    folder.mkdir()
    restore(folder / "runs.db")
    program = [sys.executable, "-c", "from orchestrator.cli import main; main()"]
    # The folders of tests may be in /dev/shm, which --dev hides.
    medium = ["--dev", "/dev", "--ro-bind", str(folder), str(folder)]
    boundary = ["bwrap", "--ro-bind", "/", "/", *medium, "--chdir", str(ROOT), *program]

    def ask(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*boundary, *words, "--db", str(folder / "runs.db")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    listed = ask("runs", "--json")
    assert listed.returncode == 0, listed.stderr
    assert len(json.loads(listed.stdout)["runs"]) == 4
    refused = ask("run", "--verify", "last")
    assert refused.returncode == 1
    assert "cannot write the results database" in refused.stderr
    assert f"make {folder} writable" in refused.stderr


def test_new_columns_show_their_defaults(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Store(path) as store:
        store.fail(store.begin(head()), "no kernel")
    migrations = with_another(
        tmp_path / "more", "notes",
        SECOND + "ALTER TABLE runs ADD COLUMN place TEXT NOT NULL DEFAULT 'here';\n",
    )  # fmt: skip
    connection = open_read_only(path, migrations)
    earlier_schema.show_as_newest(connection, path, migrations)
    assert connection.execute("SELECT label, place FROM runs").fetchall() == [(None, "here")]
    assert connection.execute("SELECT * FROM remarks").fetchall() == []
    connection.close()


def test_a_column_without_a_value_for_earlier_runs_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    Store(path).close()
    migrations = with_another(
        tmp_path / "more", "places",
        "CREATE TABLE made_anew (run INTEGER, key TEXT, value TEXT, place TEXT NOT NULL);\n"
        "DROP TABLE provenance;\nALTER TABLE made_anew RENAME TO provenance;\n",
    )  # fmt: skip
    connection = open_read_only(path, migrations)
    with pytest.raises(StoreError, match=r"cannot read table provenance .* brings the file up"):
        earlier_schema.show_as_newest(connection, path, migrations)
    connection.close()
