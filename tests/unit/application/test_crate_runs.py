"""``run CRATE``: the runs of a crate are made again from it alone, or it is refused."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.application import stored_plans
from orchestrator.files import untrusted_tree
from orchestrator.planning.runspec import RunSpec
from results.crate import crate_files, crate_plan
from results.experiment.experiments import experiments
from results.store.store import Store
from tests.support.handing_on import author
from tests.support.run import FakeRunner, fake, orchestrator

__all__ = ["fake"]


def of_content(spec: RunSpec) -> str:
    """A digest that differs where what the run does differs."""
    text = json.dumps([spec.seed, spec.duration_s, [flow.congestion for flow in spec.flows]])
    files = sorted(file.sha256 for file in spec.files.values())
    return hashlib.sha256(f"{text}{files}".encode()).hexdigest()


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the crate, and for the store that it is of."""
    return tmp_path_factory.mktemp("made")


@pytest.fixture
def crate_of(tmp_path: Path, fake: FakeRunner, made_once: Path) -> Path:
    """The crate of an experiment with a module and a trace, whose author's folder is gone."""
    fake.digest = of_content
    if not (made_once / "crate").exists():
        file = author(tmp_path / "home" / "alice" / "first")
        file.write_text(file.read_text() + "matrix: {duration: [2s, 3s]}\n")
        db, place = str(made_once / "alice.db"), str(made_once / "crate")
        assert orchestrator("run", str(file), "--db", db).exit_code == 0
        words = ("export", "handed", "--format", "rocrate", "-o", place, "--db", db)
        exported = orchestrator(*words)
        assert exported.exit_code == 0, exported.stderr
        shutil.rmtree(tmp_path / "home")
        fake.asked.clear()
    shutil.copy(made_once / "alice.db", tmp_path)
    shutil.copytree(made_once / "crate", tmp_path / "crate")
    return tmp_path / "crate"


def zipped(folder: Path, name: str = "crate.zip", below: str = "") -> Path:
    target = folder.with_name(name)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, below + path.relative_to(folder).as_posix())
    return target


def listed_again(folder: Path) -> None:
    """Let the crate list its files as they are now, as a stranger would."""
    path = folder / crate_files.METADATA
    document = json.loads(path.read_text())
    for entity in document["@graph"]:
        if entity["@type"] == "File":
            content = (folder / entity["name"]).read_bytes()
            entity["contentSize"] = str(len(content))
            entity["sha256"] = hashlib.sha256(content).hexdigest()
    path.write_text(json.dumps(document))


def change_plan(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / crate_plan.NAME
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    listed_again(folder)


@pytest.mark.slow
def test_a_crate_has_everything_and_makes_its_runs_again(
    crate_of: Path, fake: FakeRunner, tmp_path: Path
) -> None:
    assert (crate_of / "mycc" / "tcp_mycc.c").exists()
    assert (crate_of / "traces" / "a.trace").read_text() == "0\n1\n2\n3\n"
    for path in crate_of.rglob("*"):
        assert path.is_dir() or b"alice" not in path.read_bytes(), path
    for source in (crate_of, zipped(crate_of), zipped(crate_of, "below.zip", "some/")):
        db = tmp_path / f"{source.name}.db"
        done = orchestrator("run", str(source), "--db", str(db))
        assert done.exit_code == 0, done.stderr
        assert "4 of 4 runs are bit-identical to the crate's" in done.stdout
    with Store.open_read_only(db) as again, Store.open_read_only(Path("alice.db")) as first:
        (one,), (other,) = experiments(again), experiments(first)
        assert one.identity == other.identity
        assert [row.variant for row in one.rows] == [row.variant for row in other.rows]
        assert [row.seed for row in one.rows] == [row.seed for row in other.rows]
        text = again.load("last").head.scenario_text
        assert text == first.load("last").head.scenario_text
    assert orchestrator("merge", str(db), "--db", "alice.db").exit_code == 0
    with Store.open_read_only(Path("alice.db")) as store:
        assert len(experiments(store)) == 1
    made = len(fake.asked)
    resumed = orchestrator("run", str(crate_of), "--resume", "--json", "--db", str(db))
    assert (resumed.exit_code, len(fake.asked)) == (0, made)
    found = json.loads(resumed.stdout)["crate"]
    assert (found["runs"], found["bit_identical"]) == (4, 4)
    # The scenario file of the unpacked crate is the experiment, too.
    plain = orchestrator("run", str(crate_of / "scenario.yaml"), "--resume", "--db", str(db))
    assert "4 of 4 runs are stored already" in plain.stderr


@pytest.mark.slow
def test_the_crate_of_a_run_and_one_as_an_archive(
    crate_of: Path, fake: FakeRunner, tmp_path: Path
) -> None:
    for name in ("one", "one.zip", "two.zip"):
        words = ("export", "last", "--format", "rocrate", "-o", name, "--db", "alice.db")
        assert orchestrator(*words).exit_code == 0
        if name != "two.zip":
            done = orchestrator("run", name, "--db", f"{name}.db")
            assert done.exit_code == 0, done.stderr
            assert "1 of 1 runs are bit-identical" in done.stdout
    assert Path("one.zip").read_bytes() == Path("two.zip").read_bytes()
    refused = orchestrator("export", "last", "--format", "rocrate", "-o", "one.zip",
                           "--db", "alice.db")  # fmt: skip
    assert (refused.exit_code, "exists already" in refused.stderr) == (2, True)


def test_what_named_values_set_is_there_after_a_verification_and_in_a_crate(
    tmp_path: Path, fake: FakeRunner
) -> None:
    fake.digest = of_content
    sets = {"length": {"duration": "3s"}}
    file = author(tmp_path / "named")
    file.write_text(file.read_text() + "matrix: {length: {long: {duration: 3s}}}\n")
    assert orchestrator("run", str(file), "--db", "first.db").exit_code == 0
    assert orchestrator("run", "--verify", "last", "--db", "first.db").exit_code == 0
    words = ("export", "handed", "--format", "rocrate", "-o", "named-crate", "--db", "first.db")
    assert orchestrator(*words).exit_code == 0
    assert orchestrator("run", "named-crate", "--db", "again.db").exit_code == 0
    for db, number in (("first.db", 3), ("again.db", 2)):  # a crate has each run once
        with Store.open_read_only(Path(db)) as store:
            assert [row.variant_sets for row in store.list_runs()] == [sets] * number
    change_plan(Path("named-crate"), lambda plan: plan["runs"][0].update(variant={}))
    refused = orchestrator("run", "named-crate", "--db", "again.db")
    assert (refused.exit_code, "length has no named value" in refused.stderr) == (2, True)


def test_runs_that_differ_are_counted(crate_of: Path, fake: FakeRunner) -> None:
    fake.digest = lambda spec: "other" if spec.duration_s > 2 else of_content(spec)
    done = orchestrator("run", str(crate_of), "--db", "again.db", "--json")
    assert done.exit_code == 1
    assert "2 of 4 runs are bit-identical" in done.stderr
    assert done.stderr.count("a DIFFERENT digest from") == 2
    assert json.loads(done.stdout)["crate"]["bit_identical"] == 2


def test_another_kernel_or_link_model_is_named(
    crate_of: Path, fake: FakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = len(fake.asked)
    with monkeypatch.context() as patched:
        patched.setattr(stored_plans, "LINK_MODEL", 77)
        done = orchestrator("run", str(crate_of), "--db", "x.db")
        assert done.exit_code == 2
        assert "this program has link model 77" in done.stderr
    inputs = {"source": "sha256:1", "patches": "2"}
    change_plan(
        crate_of, lambda plan: plan["runs"][0].update(kernel={"release": "6.1", "inputs": inputs})
    )
    done = orchestrator("run", str(crate_of), "--db", "x.db")
    assert done.exit_code == 2
    assert "has the kernel 6.1, and this machine's guest has 6.12.7 of other patches and" in (
        done.stderr
    )
    change_plan(crate_of, lambda plan: plan["runs"][0].update(backend="lab"))
    done = orchestrator("run", str(crate_of), "--db", "x.db")
    assert (done.exit_code, "ran with --backend lab" in done.stderr) == (2, True)
    assert len(fake.asked) == asked
    assert not Path("x.db").exists()


def rewritten(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


def replaced(name: str, make: Callable[[Path], object]) -> Callable[[Path], object]:
    def do(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return do


def planned(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    return lambda folder: change_plan(folder, change)


def run_of(**values: object) -> Callable[[Path], object]:
    return planned(lambda plan: plan["runs"][0].update(values))


def scenario_of(**values: object) -> Callable[[Path], object]:
    return planned(lambda plan: plan["runs"][0]["scenario"].update(values))


def infinite(folder: Path) -> None:
    path = folder / crate_plan.NAME
    path.write_text(path.read_text().replace('"seed": 1', '"seed": Infinity'))
    listed_again(folder)


SHA = "0" * 64
MALFORMED: dict[str, Callable[[Path], object]] = {
    "no description": lambda folder: (folder / crate_files.METADATA).unlink(),
    "no JSON": rewritten(crate_files.METADATA, "{"),
    "JSON that is deep": rewritten(crate_files.METADATA, "[" * 200_000),
    "a description that is a list": rewritten(crate_files.METADATA, "[]"),
    "a file without a hash": rewritten(
        crate_files.METADATA, '{"@graph": [{"@type": "File", "@id": "plan.json"}]}'
    ),
    "a listed file outside": rewritten(
        crate_files.METADATA,
        '{"@graph": [{"@type": "File", "@id": "../alice.db", "contentSize": "1", "sha256": ""}]}',
    ),
    "an absolute file": rewritten(
        crate_files.METADATA,
        '{"@graph": [{"@type": "File", "@id": "/etc/hosts", "contentSize": "1", "sha256": ""}]}',
    ),
    "a changed source": rewritten("mycc/tcp_mycc.c", "int x;"),
    "a changed scenario": lambda folder: (folder / "scenario.yaml").write_bytes(
        (folder / "scenario.yaml").read_bytes().replace(b"seed: 1", b"seed: 2")
    ),
    "a changed table": rewritten("table.csv", "x"),
    "a missing file": lambda folder: (folder / "traces" / "a.trace").unlink(),
    "a link": replaced("traces/a.trace", lambda path: path.symlink_to("/etc/hosts")),
    "a link beside": lambda folder: (folder / "more").symlink_to("/etc"),
    "a FIFO": replaced("plan.json", lambda path: os.mkfifo(path)),
    "a folder for a file": replaced("plan.json", lambda path: path.mkdir()),
    "no plan": replaced("plan.json", lambda _path: None),
    "a plan that is no JSON": planned(lambda plan: plan.clear()),
    "another format": planned(lambda plan: plan.update(format=2)),
    "no runs": planned(lambda plan: plan.update(runs=[])),
    "a run twice": planned(lambda plan: plan["runs"].append(plan["runs"][0])),
    "an unknown key": run_of(more=1),
    "a negative repetition": run_of(repetition=-1),
    "a seed that is a text": run_of(seed="1"),
    "a seed of another run": run_of(seed=9),
    "a seed too large": run_of(seed=2**63),
    "a scenario file outside": run_of(scenario_file="../alice.db"),
    "a scenario file not listed": run_of(scenario_file="crate.txt"),
    "a file that is not listed": run_of(files={"mycc/x.c": {"path": "no.c", "sha256": SHA}}),
    "a file of another hash": run_of(files={"a": {"path": "plan.json", "sha256": SHA}}),
    "a place outside": planned(
        lambda plan: plan["runs"][0]["files"].update(
            {"../x": plan["runs"][0]["files"]["traces/a.trace"]}
        )
    ),
    "no files": run_of(files={}),
    "an absolute trace": planned(
        lambda plan: plan["runs"][0]["scenario"]["topology"]["bottleneck"]["capacity"].update(
            forward={"trace": "/etc/hosts"}
        )
    ),
    "an absolute module": planned(
        lambda plan: plan["runs"][0]["scenario"]["flows"][0]["congestion"].update(module="/etc")
    ),
    "an invalid scenario": scenario_of(version=99),
    "a scenario of several runs": scenario_of(repetitions=3),
    "an endless scenario": scenario_of(duration=1e300),
    "a huge scenario": scenario_of(description="x" * 9_000_000),
    "infinity": infinite,
}


@pytest.mark.slow
@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_crate_is_refused(
    crate_of: Path, fake: FakeRunner, tmp_path: Path, what: str
) -> None:
    asked = len(fake.asked)
    MALFORMED[what](crate_of)
    forms = [crate_of]
    if not any(stat.S_ISFIFO(path.lstat().st_mode) for path in crate_of.rglob("*")) and (
        "link" not in what
    ):
        forms.append(zipped(crate_of))
    for form in forms:
        done = orchestrator("run", str(form), "--db", "x.db")
        assert done.exit_code == 2, (form, done.output, done.exception)
        assert str(form) in done.stderr
        assert "Traceback" not in done.output
    assert len(fake.asked) == asked
    assert not Path("x.db").exists()


def entry(name: str, mode: int = 0o100644, **more: Any) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    for key, value in more.items():
        setattr(info, key, value)
    return info


@pytest.mark.slow
@pytest.mark.parametrize(
    ("info", "content", "said"),
    [
        (entry("../../x"), b"", "leads out"),
        (entry("/etc/x"), b"", "leads out"),
        (entry("a/./x"), b"", "leads out"),
        (entry("a//x"), b"", "leads out"),
        (entry("link", 0o120777), b"/etc", "is a link or a device"),
        (entry("device", 0o060644), b"", "is a link or a device"),
        (entry("plan.json"), b"{}", "is there twice"),
        (entry("/".join("a" * 40)), b"", "too long a name"),
        (entry("x" * 3000), b"", "too long a name"),
        (entry("b", compress_type=zipfile.ZIP_BZIP2), b"x", "compressed in an unknown way"),
        (entry("b", compress_type=zipfile.ZIP_LZMA), b"x", "compressed in an unknown way"),
        (entry("bomb", compress_type=zipfile.ZIP_DEFLATED), bytes(2**28), "would become"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_that_is_no_plain_one_is_refused(
    crate_of: Path, fake: FakeRunner, info: zipfile.ZipInfo, content: bytes, said: str
) -> None:
    path = zipped(crate_of)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(info, content)
    done = orchestrator("run", str(path), "--db", "x.db")
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.slow
def test_an_archive_that_lies_about_a_size_is_refused(crate_of: Path, fake: FakeRunner) -> None:
    path = zipped(crate_of)
    content = bytearray(path.read_bytes())
    for start in range(300):  # whatever byte of the directory it is
        place = len(content) - 22 - 300 + start
        changed = content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :]
        if start % 20 == 0:
            path.write_bytes(changed)
            done = orchestrator("run", str(path), "--db", f"{start}.db")
            assert done.exit_code in (0, 2), done.output
            assert "Traceback" not in done.output


def test_archives_are_bounded(
    crate_of: Path, fake: FakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zipped(crate_of)
    for content in (b"PK\3\4", b"PK\5\6", path.read_bytes()[:-30], b"PK\3\4" + bytes(100_000)):
        Path("cut.zip").write_bytes(content)
        done = orchestrator("run", "cut.zip", "--db", "x.db")
        assert (done.exit_code, "fix: get the crate again" in done.stderr) == (2, True)
    monkeypatch.setattr(untrusted_tree, "MOST_ENTRIES", 5)
    for form in (path, crate_of):
        done = orchestrator("run", str(form), "--db", "x.db")
        assert (done.exit_code, "more than 5 entries" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    "words", [["--set", "duration=1s"], ["--reduced"], ["--repetitions", "2"], ["--figures", "f"]]
)
def test_a_crate_is_run_as_it_is_and_alone(
    crate_of: Path, fake: FakeRunner, words: list[str]
) -> None:
    refused = orchestrator("run", str(crate_of), *words)
    assert (refused.exit_code, "the runs of a crate are made as they are" in refused.stderr) == (
        2, True,
    )  # fmt: skip
    refused = orchestrator("run", str(crate_of), "pair.yaml")
    assert (refused.exit_code, "a crate is run alone" in refused.stderr) == (2, True)


def test_runs_that_name_one_path_with_two_contents_keep_both() -> None:
    places = crate_plan.CratePaths()
    first = places.add({"mycc/a.c": b"1", "runs/x.c": b"2"})
    second = places.add({"mycc/a.c": b"3", "mycc": b"4", "mycc/a.c/b": b"5"})
    assert first["mycc/a.c"].path == "mycc/a.c"
    assert first["runs/x.c"].path == f"files/{hashlib.sha256(b'2').hexdigest()[:16]}/runs/x.c"
    paths = [one.path for one in (*first.values(), *second.values())]
    assert len(set(paths)) == 5
    assert {content for _path, content in places.items()} == {b"1", b"2", b"3", b"4", b"5"}
    assert not any(path.startswith(f"{other}/") for path in paths for other in paths)
