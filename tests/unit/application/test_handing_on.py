"""An experiment with files of its author's is one experiment, whatever folder it lies in."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.files.scenario_files import StoredFiles, by_content, require_place
from results.experiment.experiments import experiments
from results.schema import database
from results.store.parts import integrity
from results.store.store import Store
from results.store.upkeep import housekeeping
from tests.support.handing_on import author
from tests.support.run import FakeRunner, fake, orchestrator
from web import create_app

__all__ = ["fake"]


@pytest.fixture
def first(tmp_path: Path, fake: FakeRunner) -> Path:
    return author(tmp_path / "home" / "alice" / "first")


def dumped(db: Path) -> str:
    with closing(sqlite3.connect(db)) as connection:
        return "\n".join(connection.iterdump())


@pytest.mark.slow
def test_what_is_stored_needs_no_folder_and_names_none(
    tmp_path: Path, first: Path, fake: FakeRunner
) -> None:
    db = tmp_path / "runs.db"
    assert orchestrator("run", str(first), "--db", str(db)).exit_code == 0
    shutil.rmtree(tmp_path / "home")
    assert "alice" not in dumped(db)
    with Store.open_read_only(db) as store:
        runs = [store.load(row.id) for row in store.list_runs()]
        assert [sorted(run.files) for run in runs] == [
            ["mycc/tcp_mycc.c", "traces/a.trace"]
        ] * 2  # fmt: skip
        assert runs[0].files["traces/a.trace"] == b"0\n1\n2\n3\n"
        assert runs[0].head.resolved["flows"][0]["congestion"]["module"] == "mycc"
        resolved = json.dumps(runs[0].head.resolved)
    assert '"trace": "traces/a.trace"' in resolved
    with closing(sqlite3.connect(db)) as connection:  # once by content
        assert connection.execute("SELECT count(*) FROM files").fetchone() == (2,)
        assert connection.execute("SELECT count(*) FROM run_files").fetchone() == (4,)
    verified = orchestrator("run", "--verify", "last", "--db", str(db))
    assert (verified.exit_code, "the same digest as" in verified.stderr) == (0, True)
    plan = fake.asked[-1][0]
    module = plan.runs[0].flows[0].module
    assert module is not None
    assert list(module.files) == ["tcp_mycc.c"]
    reported = orchestrator("report", "handed", "-o", str(tmp_path / "report"), "--db", str(db))
    assert reported.exit_code == 0, reported.stderr
    page = (tmp_path / "report" / "report.html").read_text()
    assert "Thick lines are bottlenecks" in page
    assert "beside it: mycc/tcp_mycc.c, traces/a.trace" in page
    assert integrity.examine(db).ok


@pytest.mark.parametrize("absolute", [False, True])
def test_a_resume_in_a_third_folder_makes_no_run(
    tmp_path: Path, first: Path, fake: FakeRunner, absolute: bool
) -> None:
    db = tmp_path / "runs.db"
    assert orchestrator("run", str(first), "--db", str(db)).exit_code == 0
    made = len(fake.asked)
    third = tmp_path / "srv" / "third"
    file = author(third, *([str(third / "traces" / "a.trace"), str(third / "mycc")] * absolute))
    resumed = orchestrator("run", str(file), "--resume", "--db", str(db))
    assert "2 of 2 runs are stored already" in resumed.stderr
    assert len(fake.asked) == made
    (third / "traces" / "a.trace").write_text("0\n1\n2\n4\n")
    assert "0 of 2 runs" in orchestrator("run", str(file), "--resume", "--db", str(db)).stderr
    assert "alice" not in dumped(db)


def test_equal_experiments_of_two_folders_are_one_after_a_merge(
    tmp_path: Path, first: Path, fake: FakeRunner
) -> None:
    second = author(tmp_path / "home" / "bob" / "other" / "second")
    stores = [tmp_path / f"{name}.db" for name in ("a", "b")]
    for file, db in zip((first, second), stores, strict=True):
        assert orchestrator("run", str(file), "--db", str(db)).exit_code == 0
    merged = tmp_path / "all.db"
    assert orchestrator("merge", *map(str, stores), "--db", str(merged)).exit_code == 0
    with Store.open_read_only(merged) as store:
        (one,) = experiments(store)
        assert len(one.rows) == 4
        assert len({tuple(store.load(row.id).files.items()) for row in one.rows}) == 1
    assert integrity.examine(merged).ok


AXES = {
    "a path": """
matrix:
  topology.bottleneck.capacity.forward.trace: [ROOT/traces/a.trace, 'ROOT/traces/b.trace']
""",
    "both directions": """
matrix:
  topology.bottleneck.capacity.trace: [ROOT/traces/a.trace, "ROOT/traces/b.trace"]
""",
    "mappings": """
matrix:
  flows.one.congestion: [cubic, {name: mycc, module: ROOT/mycc}, {name: mycc, module: ROOT/other}]
""",
    "named values": """
matrix:
  which:
    slow: {topology.bottleneck.capacity.forward.trace: ROOT/traces/b.trace, flows.one.start: 1s}
    own: {flows.one.congestion.module: ROOT/other, topology.bottleneck.delay: 5ms}
""",
}


def sweep(folder: Path, axes: str, files: Path | None = None) -> Path:
    """An author's sweep whose files lie in ``files``, named by absolute paths."""
    file = author(folder)
    (folder / "traces" / "b.trace").write_text("0\n2\n")
    shutil.copytree(folder / "mycc", folder / "other")
    with (folder / "other" / "tcp_mycc.c").open("a") as source:
        source.write("/* another */\n")
    text = file.read_text()
    if axes == AXES["both directions"]:
        text = text.replace("{forward: {trace: traces/a.trace}, reverse: {rate: 10mbit}}", (
            "{trace: traces/a.trace}"
        ))  # fmt: skip
    root = folder if files is None else files
    if files is not None:
        shutil.copytree(folder, files)
    file.write_text(text.replace("repetitions: 2", "repetitions: 1")
                    + axes.replace("ROOT", str(root)))  # fmt: skip
    return file


@pytest.mark.slow
@pytest.mark.parametrize("axes", AXES.values(), ids=list(AXES))
@pytest.mark.parametrize("outside", [False, True])
def test_absolute_paths_as_values_of_axes_are_one_experiment_and_shown_to_nobody(
    tmp_path: Path, fake: FakeRunner, axes: str, outside: bool
) -> None:
    stores = []
    for name in ("alice", "robert"):
        home = tmp_path / "home" / name
        file = sweep(home / "work", axes, home / "data" if outside else None)
        stores.append(tmp_path / f"{name}.db")
        done = orchestrator("run", str(file), "--db", str(stores[-1]))
        assert done.exit_code == 0, done.stderr
        assert name not in dumped(stores[-1])
    made = len(fake.asked)
    carol = sweep(tmp_path / "srv" / "carol", axes)
    resumed = orchestrator("run", str(carol), "--resume", "--db", str(stores[0]))
    number = 3 if axes == AXES["mappings"] else 2
    assert f"{number} of {number} runs are stored already" in resumed.stderr
    assert len(fake.asked) == made
    shutil.rmtree(tmp_path / "home")
    merged = tmp_path / "all.db"
    assert orchestrator("merge", *map(str, stores), "--db", str(merged)).exit_code == 0
    with Store.open_read_only(merged) as store:
        (one,) = experiments(store)
        assert (len(one.rows), len(one.variants())) == (2 * number, number)
        last = one.rows[-1].id
    (tmp_path / "out").mkdir()
    shown = [
        orchestrator(*words, "--db", str(merged)).output
        for words in (
            ["show", last], ["show", last, "--json"], ["runs", "--json"], ["experiments"],
            ["summary", "handed"], ["summary", "handed", "--json"],
            ["export", last, "-o", str(tmp_path / "out" / "run.json")],
            ["report", "handed", "-o", str(tmp_path / "out" / "report")],
            ["export", "handed", "--format", "rocrate", "-o", str(tmp_path / "out" / "crate")],
        )
    ]  # fmt: skip
    client = create_app(merged).test_client()
    shown += [
        client.get(page).text
        for page in (f"/runs/{last}", f"/api/runs/{last}", f"/runs/{last}/document.json",
                     f"/experiments/{one.label}", "/api/experiments")
    ]  # fmt: skip
    files = [each for each in (tmp_path / "out").rglob("*") if each.is_file()]
    assert {"run.json", "report.html", "plan.json"} <= {each.name for each in files}
    shown += [each.read_text(errors="replace") for each in files]
    assert not [text for text in shown if "alice" in text or "robert" in text]
    assert any("outside-" in text for text in shown) == outside
    assert orchestrator("run", "--verify", last, "--db", str(merged)).exit_code == 0


def test_files_outside_of_the_scenarios_folder_have_a_place_by_their_content(
    tmp_path: Path, fake: FakeRunner
) -> None:
    elsewhere = author(tmp_path / "home" / "alice" / "shared").parent
    file = author(
        tmp_path / "home" / "alice" / "work", "../shared/traces/a.trace", str(elsewhere / "mycc")
    )
    shutil.rmtree(file.parent / "mycc")
    assert orchestrator("run", str(file), "--db", "runs.db").exit_code == 0
    with Store.open_read_only(Path("runs.db")) as store:
        run = store.load("last")
        places = sorted(run.files)
        resolved = json.dumps(run.head.resolved)
    assert [place.partition("-")[0] for place in places] == ["outside"] * 2
    assert [place.partition("/")[2] for place in places] == ["a.trace", "mycc/tcp_mycc.c"] or (
        [place.partition("/")[2] for place in places] == ["mycc/tcp_mycc.c", "a.trace"]
    )
    assert "alice" not in resolved
    shutil.rmtree(tmp_path / "home")
    assert orchestrator("run", "--verify", "last", "--db", "runs.db").exit_code == 0
    inside = author(tmp_path / "home" / "carol")
    resumed = orchestrator("run", str(inside), "--resume", "--db", "runs.db")
    assert "2 of 2 runs are stored already" in resumed.stderr


def test_rm_and_gc_remove_files_that_no_run_needs(
    tmp_path: Path, first: Path, fake: FakeRunner
) -> None:
    db = tmp_path / "runs.db"

    def files() -> int:
        with closing(sqlite3.connect(db)) as connection:
            return int(connection.execute("SELECT count(*) FROM files").fetchone()[0])

    orchestrator("run", str(first), "--db", str(db))
    with Store(db) as store:
        one, two = [row.id for row in store.list_runs()]
        housekeeping.remove_runs(store, [one])
    assert files() == 2
    with Store(db) as store:
        housekeeping.remove_runs(store, [two])
    assert files() == 0
    assert integrity.examine(db).ok
    with closing(sqlite3.connect(db)) as connection:  # what a killed program may have left
        connection.execute("INSERT INTO files VALUES ('00', 0, x'')")
        connection.commit()
    assert orchestrator("gc", "--db", str(db)).exit_code == 0
    assert files() == 0


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE files SET content = x'789c030000000001' WHERE bytes > 100", "not what was stored"),
        ("UPDATE files SET bytes = bytes + 1", "not what was stored"),
        ("UPDATE files SET bytes = 1e300", "not what was stored"),
        ("DELETE FROM files WHERE bytes < 100", "is missing"),
        ("UPDATE run_files SET place = '../' || place WHERE run = 1", "not those that were"),
    ],
)
def test_damaged_files_are_found_and_not_used(
    tmp_path: Path, first: Path, fake: FakeRunner, statement: str, said: str
) -> None:
    db = tmp_path / "runs.db"
    orchestrator("run", str(first), "--db", str(db))
    with closing(sqlite3.connect(db)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        assert connection.execute(statement).rowcount
        connection.commit()
    assert not integrity.examine(db).ok
    with Store.open_read_only(db) as store:
        run = store.list_runs()[0].id
    verified = orchestrator("run", "--verify", run, "--db", str(db))
    assert verified.exit_code == 1
    assert f"run {run} is damaged: table run_files: " in verified.stderr
    assert said in verified.stderr
    merged = orchestrator("merge", str(db), "--db", "all.db")
    assert (merged.exit_code, Path("all.db").exists()) == (2, False), merged.stderr


def test_a_stored_scenario_reads_nothing_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("0\n1\n")
    files = StoredFiles({"a": b"0\n1\n"})
    assert files.file("./a", 100).content == b"0\n1\n"
    for given in ("../a", str(tmp_path / "secret"), "b", "a/../../b"):
        with pytest.raises(ValueError, match="is not stored with the scenario"):
            files.file(given, 100)
    with pytest.raises(ValueError, match="is larger than 1 bytes"):
        StoredFiles({"a": b"0\n1\n"}).file("a", 1)
    with pytest.raises(ValueError, match="is not stored"):
        files.folder("..", lambda _name: True, 10, 10)


@pytest.mark.parametrize(
    "place", ["", "/a", "../a", "a/../b", "a//b", "./a", "a/", "a\0b", "x" * 2000, 7, None, ".."]
)
def test_places_stay_below_their_folder(place: object) -> None:
    with pytest.raises(ValueError, match="is not a path below"):
        require_place(place)
    assert require_place("a/..b/c...") == "a/..b/c..."


def test_paths_without_a_hash_beside_them_count() -> None:
    assert by_content({"trace": "x", "sha256": "1", "b": [{"module": "m", "sources": "2"}]}) == {
        "sha256": "1", "b": [{"sources": "2"}],
    }  # fmt: skip
    assert by_content({"trace": "x", "lab": {"inventory": "/h", "senders": [1]}}) == {
        "trace": "x", "lab": {"senders": [1]},
    }  # fmt: skip


def test_a_store_without_files_is_read(tmp_path: Path) -> None:
    with closing(database.open_writable(tmp_path / "new.db")):
        pass
    assert integrity.examine(tmp_path / "new.db").ok
