"""``export --format rocrate``: what RO-Crate 1.1 and Process Run Crate 0.5 require."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import pytest
from click.testing import CliRunner, Result

from orchestrator.cli import commands
from results.crate import crate_files
from results.documents import trace_document
from results.experiment.experiments import Experiment
from results.store.store import Store
from results.tables import experiment_table, parquet
from tests.support import traced_frames
from tests.support.experiments import make
from tests.support.file_sizes import TOO_LARGE, files_of_at_most
from tests.support.recordings import head
from tests.support.traced_frames import run_with
from tests.support.traced_senders import acked, counted, sender_trace

LIMIT = "topology.bottleneck.queue.limit"
TEXT = """\
version: 1
figures:
  - {kind: metric, metric: goodput_bps, file: goodput.svg}
"""
BAD_FIGURE = "  - {kind: metric, metric: rtt_min_s, by: rate, file: bad.svg}\n"


def goodput(variant: object, repetition: int) -> dict[str, float]:
    return {"one": 1e6 + 1e4 * repetition, "two": 2e6}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with Store(tmp_path / "runs.db") as opened:
        variants = [{LIMIT: "10p"}, {LIMIT: "20p"}]
        make(opened, goodput, variants, 2, name="sweep", scenario_text=TEXT)
    monkeypatch.setenv("ORCHESTRATOR_DB", str(tmp_path / "runs.db"))
    return tmp_path / "runs.db"


def export(*words: str) -> Result:
    return CliRunner().invoke(commands, ["--debug", "export", *words, "--format", "rocrate"])


def require_valid(folder: Path) -> dict[str, Any]:
    """Check what both specifications require, and return the entities by id."""
    document = json.loads((folder / crate_files.METADATA).read_text())
    assert document["@context"][0] == "https://w3id.org/ro/crate/1.1/context"
    entities = {each["@id"]: each for each in document["@graph"]}
    assert len(entities) == len(document["@graph"])
    descriptor, root = entities[crate_files.METADATA], entities["./"]
    assert descriptor["@type"] == "CreativeWork"
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert descriptor["about"] == {"@id": "./"}
    assert root["@type"] == "Dataset"
    assert {"name", "description", "datePublished", "license", "conformsTo"} <= set(root)
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    listed = {unquote(name) for name in ids(root["hasPart"])}
    assert listed == files - {crate_files.METADATA}
    for name, entity in entities.items():
        assert isinstance(entity["@type"], str)
        linked = {
            one
            for key, value in entity.items()
            if key not in ("@id", "@type")
            for one in ids(value)
        }
        assert linked <= set(entities) | {"https://w3id.org/ro/crate/1.1"}, name
    for name in listed:
        content = (folder / name).read_bytes()
        assert entities[name]["@type"] == "File"
        assert entities[name]["contentSize"] == str(len(content))
        assert entities[name]["sha256"] == hashlib.sha256(content).hexdigest()
    for action in (entities[name] for name in ids(root["mentions"])):
        assert action["@type"] == "CreateAction"
        assert {"name", "startTime", "endTime", "object", "result"} <= set(action)
        programs = [entities[name] for name in ids(action["instrument"])]
        assert {program["@type"] for program in programs} == {"SoftwareApplication"}
    return entities


def ids(value: Any) -> list[str]:
    """Return the ids that a property links to."""
    many = value if isinstance(value, list) else [value]
    return [each["@id"] for each in many if isinstance(each, dict)]


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_the_crate_of_an_experiment(tmp_path: Path) -> None:
    done = export("sweep", "-o", "crate")
    assert (done.exit_code, done.stdout) == (0, "crate\n"), done.stderr
    entities = require_valid(Path("crate"))
    assert (Path("crate") / "scenario.yaml").read_text() == TEXT
    assert (Path("crate") / "figures/goodput.svg").read_bytes().startswith(b"<?xml")
    assert not (Path("crate") / "samples").exists()
    table = Path("sweep.csv")
    CliRunner().invoke(commands, ["export", "sweep", "-o", str(table)])
    assert (Path("crate") / "table.csv").read_bytes() == table.read_bytes()
    CliRunner().invoke(commands, ["export", "sweep", "-o", "sweep.parquet"])
    assert (Path("crate") / "table.parquet").read_bytes() == Path("sweep.parquet").read_bytes()
    actions = [each for each in entities.values() if each["@type"] == "CreateAction"]
    assert len(actions) == 4
    assert "#seed=2" in ids(actions[1]["object"])
    run = json.loads((Path("crate") / actions[1]["result"]["@id"]).read_text())
    (only,) = run["runs"]
    assert (only["seed"], only["variant"], only["link_model"]) == (2, {LIMIT: "10p"}, 1)
    assert {"digest", "kernel", "fidelity", "metrics"} <= set(only)
    assert {"resolved", "provenance", "scenario_sha256", "network"} <= set(run)
    assert run["traces"] == []
    assert entities["#metric-goodput_bps"]["unitText"] == "bit/s"
    programs = [entities[name] for name in ids(actions[1]["instrument"])]
    assert [entities[program["license"]["@id"]]["name"] for program in programs] == [
        "Apache License 2.0", "GNU GPL, version 2 only"
    ]  # fmt: skip
    assert entities[entities["./"]["license"]["@id"]]["name"].startswith("Not stated")


def test_the_crate_of_a_run_has_its_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORCHESTRATOR_DB", str(tmp_path / "runs.db"))
    sender = sender_trace([acked(5, cwnd_segments=10)], [counted(7, "TCPFullUndo")])
    with Store(tmp_path / "runs.db") as store:
        run = run_with(store, traced_frames.trace(traced_frames.DROPS), sender)
        heads = [trace_document.trace(head).document() for head in run.traces]
    done = export(run.id, "-o", "crate")
    assert done.exit_code == 0, done.stderr
    entities = require_valid(Path("crate"))
    tables = ["acks", "drops", "ends", "events", "frames", "hosts", "links"]
    assert sorted(path.name for path in Path("crate/samples").glob("trace-*")) == sorted(
        ["trace-1.pcapng", *(f"trace-{number}.{name}.parquet" for number in (1, 2)
                             for name in tables)]
    )  # fmt: skip
    assert entities["samples/trace-1.pcapng"]["encodingFormat"] == "application/x-pcapng"
    acks = duckdb.read_parquet("crate/samples/trace-2.acks.parquet")
    assert acks.select("time_ns", "cwnd_segments").fetchall() == [(5, 10)]
    CliRunner().invoke(commands, ["export", run.id, "--at", "all", "-o", "all.pcapng"])
    assert Path("crate/samples/trace-1.pcapng").read_bytes() == Path("all.pcapng").read_bytes()
    told = json.loads(Path(f"crate/runs/{run.id}.json").read_text())
    assert told["traces"] == heads


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_both_tables_are_written_in_one_pass_over_the_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    export("sweep", "-o", "whole")
    passes, largest = 0, 0
    made = experiment_table.rows
    taken = parquet.Writer.add

    def counted(store: Store, experiment: Experiment) -> Iterator[experiment_table.Row]:
        nonlocal passes
        passes += 1
        return made(store, experiment)

    def measured(writer: parquet.Writer, values: Sequence[Sequence[Any]]) -> None:
        nonlocal largest
        largest = max(largest, len(values[0]))
        taken(writer, values)

    monkeypatch.setattr(experiment_table, "rows", counted)
    monkeypatch.setattr(parquet.Writer, "add", measured)
    monkeypatch.setattr(parquet, "GROUP", 5)
    done = export("sweep", "-o", "parts")
    assert done.exit_code == 0, done.stderr
    assert (passes, largest) == (1, 5)
    assert Path("parts/table.csv").read_bytes() == Path("whole/table.csv").read_bytes()
    tables = [
        duckdb.read_parquet(f"{each}/table.parquet").fetchall() for each in ("parts", "whole")
    ]
    assert tables[0] == tables[1]
    assert len(tables[0]) == 12


@pytest.mark.usefixtures("store")
def test_the_crate_of_a_run_has_its_samples() -> None:
    done = export(
        "last", "-o", "crate", "--license", "https://creativecommons.org/licenses/by/4.0/"
    )
    assert done.exit_code == 0, done.stderr
    entities = require_valid(Path("crate"))
    assert (Path("crate") / "samples/tcp.csv").read_text().startswith("flow,endpoint,time_ns")
    assert entities["./"]["license"] == {"@id": "https://creativecommons.org/licenses/by/4.0/"}
    assert not (Path("crate") / "figures").exists()


def test_runs_that_failed_say_why(store: Path) -> None:
    with Store(store) as opened:
        opened.fail(opened.begin(head(experiment="hung", experiment_sha256="x")), "it hung")
    assert export("last", "-o", "crate").exit_code == 0
    entities = require_valid(Path("crate"))
    (action,) = [each for each in entities.values() if each["@type"] == "CreateAction"]
    assert action["actionStatus"] == "http://schema.org/FailedActionStatus"
    assert action["error"] == "it hung"
    assert not (Path("crate") / "table.csv").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_equal_runs_give_equal_files_and_none_is_overwritten() -> None:
    Path("empty").mkdir()
    assert [export("sweep", "-o", name).exit_code for name in ("one", "empty")] == [0, 0]
    files = sorted(path.relative_to("one") for path in Path("one").rglob("*") if path.is_file())
    for path in files:
        assert ("one" / path).read_bytes() == ("empty" / path).read_bytes(), path
    Path("one/notes.txt").write_text("mine")
    Path("one/table.csv").write_text("old")
    refused = CliRunner().invoke(commands, ["export", "sweep", "--format", "rocrate", "-o", "one"])
    assert (refused.exit_code, "exists already" in refused.stderr) == (2, True)
    assert Path("one/table.csv").read_text() == "old"
    assert export("sweep", "-o", "one", "--force").exit_code == 0
    assert Path("one/table.csv").read_bytes() == Path("empty/table.csv").read_bytes()
    assert Path("one/notes.txt").read_text() == "mine"


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_the_library_of_ro_crate_reads_it_as_it_is() -> None:
    from rocrate.rocrate import ROCrate  # slow to import, and no other test needs it

    assert export("sweep", "-o", "crate").exit_code == 0
    read = ROCrate("crate")
    files = {entity.id for entity in read.data_entities}
    assert {"scenario.yaml", "table.csv", "figures/goodput.svg"} <= files
    assert len(read.get_by_type("CreateAction")) == 4
    written = json.loads(Path("crate", crate_files.METADATA).read_text())
    assert by_id(read.metadata.generate()["@graph"]) == by_id(written["@graph"])


def by_id(graph: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(graph, key=lambda entity: str(entity["@id"]))


@pytest.mark.usefixtures("store")
def test_the_format_may_be_written_as_ro_crate_writes_itself() -> None:
    words = ["export", "sweep", "--format", "ro-crate", "-o", "crate"]
    assert CliRunner().invoke(commands, words).exit_code == 0
    assert Path("crate/ro-crate-metadata.json").is_file()


@pytest.mark.usefixtures("store")
def test_an_export_that_ends_early_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(crate_files, "_graph", full)
    done = CliRunner().invoke(commands, ["export", "sweep", "--format", "rocrate", "-o", "crate"])
    assert (done.exit_code, "No space left" in done.stderr) == (2, True)
    assert {path.name.partition("-")[0] for path in Path().iterdir()} == {"runs.db"}


def test_a_figure_that_cannot_be_drawn_is_said(store: Path) -> None:
    with Store(store) as opened:
        make(opened, goodput, [{LIMIT: "10p"}], 2, name="odd", scenario_text=TEXT + BAD_FIGURE)
    done = export("odd", "-o", "crate")
    assert (done.exit_code, "error: bad.svg is not drawn: " in done.stderr) == (2, True)
    require_valid(Path("crate"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sweep", "-o", "out.csv", "--license", "CC0"), "--license: it is for --format rocrate"),
        (("sweep", "-o", "."), "its suffix is no format"),
        (("sweep", "--format", "csv", "-o", "."), "it is a folder; give a file"),
        (("sweep", "--format", "rocrate", "-o", "runs.db"), "exists already"),
    ],
)
@pytest.mark.usefixtures("store")
def test_what_does_not_fit_is_refused(words: tuple[str, ...], message: str) -> None:
    refused = CliRunner().invoke(commands, ["export", *words])
    assert (refused.exit_code, message in refused.stderr) == (2, True), refused.stderr


@pytest.mark.parametrize("place", ["out", "out.zip", "out.csv", "out.parquet"])
def test_a_limit_on_the_size_of_files_is_named_with_its_fix(store: Path, place: str) -> None:
    form = place.partition(".")[2] if place not in ("out", "out.zip") else crate_files.NAME
    with files_of_at_most(100):
        result = CliRunner().invoke(commands, ["export", "sweep", "--format", form, "-o", place])
    assert result.exit_code == 2, result.output
    assert result.stderr == f"error: {place}: cannot{TOO_LARGE.format(100)}\n"
    assert {path.stem for path in store.parent.iterdir()} == {"runs"}
