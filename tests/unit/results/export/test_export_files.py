"""Exported files: what is in them, and that none is ever overwritten by accident."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from orchestrator.cli import commands
from orchestrator.errors import UsageError
from orchestrator.recording.model import QUEUE_DTYPE, SENDER_STATE_DTYPE, TCP_DTYPE
from results.export import FORMATS, export
from results.export.base import unit
from results.store.store import Store
from results.store.stored import StoredRun
from results.tables import parquet
from results.traces.choice import TraceChoice
from tests.support.file_sizes import TOO_LARGE, files_of_at_most
from tests.support.recordings import flow, head, recording
from tests.support.traced_frames import DROPS, run_with, trace
from tests.support.traced_senders import acked, counted, sender_trace


def somewhere(name: str) -> TraceChoice:
    """A place that has what the format of that name tells."""
    return TraceChoice(place="s" if name in ("nstat", "ss") else "all")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[StoredRun]:
    """A run with a trace of frames, and a newer one of a sender."""
    sender = sender_trace([acked(5, cwnd_segments=10)], [counted(7, "TCPFullUndo")] * 2)
    with Store(tmp_path / "runs.db") as store:
        yield run_with(store, trace(DROPS), sender)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("status", ["failed", "interrupted", "running"])
def test_samples_of_a_run_that_has_none_are_not_exported(tmp_path: Path, status: str) -> None:
    with Store(tmp_path / "runs.db") as store:
        run_id = store.begin(head())
        if status == "failed":
            store.fail(run_id, "the guest hung\n  console: its last line")
        elif status == "interrupted":
            store.fail(run_id, "by the user", "interrupted")
    why = {"failed": " (the guest hung)", "interrupted": " (by the user)", "running": ""}[status]
    said = f"run {run_id} is {status}{why} and has no samples: "
    words = ["export", "last", "--db", str(tmp_path / "runs.db"), "-o"]
    refused = CliRunner().invoke(commands, [*words, str(tmp_path / "out.csv")])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == f"error: {said}there is nothing to write as csv; use json\n"
    assert not list(tmp_path.glob("out*"))
    written = CliRunner().invoke(commands, [*words, str(tmp_path / "out.json")])
    assert (written.exit_code, written.stdout) == (0, f"{tmp_path / 'out.json'}\n")
    assert written.stderr == f"{said}the file has its scenario and its error\n"
    document = json.loads((tmp_path / "out.json").read_text())
    assert (document["runs"][0]["status"], document["scenario_text"]) == (status, "version: 1\n")


def test_the_help_names_every_file_of_every_format() -> None:
    shown = CliRunner().invoke(commands, ["export", "--help"]).stdout
    for name, each in FORMATS.items():
        assert f"\n  {name} " in shown
        for part in (*each.parts, *each.trace_parts):
            assert (f"FILE.{part}.{name}" if part else f"FILE.{name}") in shown


def test_csv_is_a_file_for_each_kind(run: StoredRun, tmp_path: Path) -> None:
    written = export(run, "csv", tmp_path / "out.csv")
    names = ["out", "out.queues", "out.flows", "out.datagrams", "out.transfers", "out.metrics",
             "out.senders", "out.counters"]  # fmt: skip
    assert [path.name for path in written] == [f"{name}.csv" for name in names]
    samples, queues, flows, *others, values, _senders, counters = (table(path) for path in written)
    assert others == [[], []]
    assert counters == [
        {"host": "s", "time_ns": "10000000000", "counter": "TcpExt:TCPTimeouts", "value": "1"}
    ]
    assert {row["scope"] for row in values} == {"run", "flow", "link"}

    assert [(row["flow"], row["endpoint"], row["time_ns"]) for row in samples] == [
        ("a", "sender", "2000000000"),
        ("a", "sender", "10000000000"),
        ("a", "receiver", "2000000000"),
        ("a", "receiver", "10000000000"),
    ]
    assert [row["rtt_us"] for row in samples] == ["100000", "120000", "0", "0"]
    assert [row["snd_ssthresh_segments"] for row in samples] == ["", "9", "", ""]
    assert [row["congestion_min_rtt_us"] for row in samples] == ["7", "0", "", ""]
    assert "congestion_enabled" in samples[0]
    assert "congestion_1" not in samples[0]

    assert [row["backlog_bytes"] for row in queues] == ["0", "1250", "0"]
    assert {row["queue"] for row in queues} == {"bottleneck:forward:queue"}

    assert [(row["window"], row["name"]) for row in flows] == [("", "a"), ("quiet", "a")]
    assert [row["goodput_bps"] for row in flows] == ["1000000.0", "1600.0"]
    assert flows[0]["stop_s"] == ""


def test_parquet_has_the_tables_of_csv_with_their_types(run: StoredRun, tmp_path: Path) -> None:
    made = export(run, "parquet", tmp_path / "out.parquet")
    for path, text in zip(made, export(run, "csv", tmp_path / "out.csv"), strict=True):
        assert path.name == text.with_suffix(".parquet").name
        found = duckdb.read_parquet(str(path))
        with text.open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
        assert found.columns == lines[0]
        # CSV has no types, and does not part empty text from a missing value.
        numbers = [str(kind) != "VARCHAR" for kind in found.types]
        assert [["" if cell is None else cell for cell in row] for row in found.fetchall()] == [
            [float(cell) if number and cell else cell
             for number, cell in zip(numbers, line, strict=True)]
            for line in lines[1:]
        ]  # fmt: skip
    types = duckdb.read_parquet(str(made[0]))
    by_name = dict(zip(types.columns, map(str, types.types), strict=True))
    assert (by_name["flow"], by_name["rtt_us"]) == ("VARCHAR", "BIGINT")
    described = duckdb.read_parquet(str(made[2]))
    by_name = dict(zip(described.columns, map(str, described.types), strict=True))
    assert (by_name["name"], by_name["goodput_bps"]) == ("VARCHAR", "DOUBLE")


@pytest.mark.parametrize("rows", [1, 3])
def test_parquet_is_written_in_groups(
    run: StoredRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(parquet, "GROUP", rows)
    (samples, *_) = export(run, "parquet", tmp_path / "out.parquet")
    with duckdb.connect() as reader:
        times = reader.execute(f"SELECT time_ns FROM '{samples}'").fetchall()
        about = f"FROM parquet_metadata('{samples}')"
        groups = reader.execute(f"SELECT count(DISTINCT row_group_id) {about}").fetchall()
    assert times == [(2_000_000_000,), (10_000_000_000,)] * 2
    assert groups == [(-(-4 // rows),)]


def test_parquet_has_the_tables_of_a_trace_that_is_named(run: StoredRun, tmp_path: Path) -> None:
    made = export(run, "parquet", tmp_path / "out.parquet", choice=TraceChoice(2))
    names = ["ends", "acks", "events", "links", "drops", "frames", "hosts"]
    assert [path.name for path in made] == [f"out.{name}.parquet" for name in names]
    acks = duckdb.read_parquet(str(made[1])).to_df().iloc[0]
    assert (acks["time_ns"], acks["flow_name"], acks["cwnd_segments"]) == (5, "a", 10)
    assert acks["info"] == ""
    counters = duckdb.read_parquet(str(made[2])).select("time_ns, name, value, event").fetchall()
    assert counters == [(7, "TCPFullUndo", 1, "counter")] * 2
    (_ends, *_, frames, _hosts) = export(
        run, "parquet", tmp_path / "1.parquet", choice=TraceChoice(1)
    )
    seen = duckdb.read_parquet(str(frames)).select("host_name, channel_name, step_name").fetchall()
    assert len(seen) == len(DROPS)
    assert seen[0] == ("s", "", "sent")
    with pytest.raises(UsageError, match=f"--trace 3: run {run.id} has no such trace; it has 1, 2"):
        export(run, "parquet", tmp_path / "3.parquet", choice=TraceChoice(3))


def test_what_has_no_value_in_a_trace_is_missing_in_parquet(tmp_path: Path) -> None:
    nothing = acked(5, ssthresh_segments=2**31 - 1, min_rtt_us=2**32 - 1,
                    pacing_rate_bytes_per_s=2**64 - 1)  # fmt: skip
    with Store(tmp_path / "runs.db") as store:
        run = run_with(store, sender_trace([nothing, acked(6, ssthresh_segments=2)]))
        made = export(run, "parquet", tmp_path / "out.parquet", choice=TraceChoice(1))
    columns = "ssthresh_segments, min_rtt_us, pacing_rate_bytes_per_s"
    assert duckdb.read_parquet(str(made[1])).select(columns).fetchall() == [
        (None, None, None), (2, 0, 0),
    ]  # fmt: skip


def test_what_metrics_use_of_senders_is_in_every_format_with_samples(
    run: StoredRun, tmp_path: Path
) -> None:
    names = set(SENDER_STATE_DTYPE.names or ())
    expected = [(2_000_000_000, 1, 100_000), (2_100_000_000, 7, 0), (10_000_000_000, 1, 120_000)]
    *_, senders, _counters = export(run, "csv", tmp_path / "out.csv")
    assert senders.name == "out.senders.csv"
    rows = table(senders)
    assert set(rows[0]) == names
    assert [(int(r["time_ns"]), int(r["state"]), int(r["rtt_us"])) for r in rows] == expected
    assert {row["flow"] for row in rows} == {"a"}
    *_, senders, _counters = export(run, "parquet", tmp_path / "out.parquet")
    with duckdb.connect() as reader:
        found = reader.execute(f"SELECT time_ns, state, rtt_us FROM '{senders}'").fetchall()
    assert found == expected
    (path,) = export(run, "json", tmp_path / "out.json")
    samples = json.loads(path.read_text(encoding="utf-8"))["samples"]
    assert samples["counters"] == [
        {"hosts": ["s"], "counters": {"TcpExt:TCPTimeouts": {"time_ns": [10**10], "value": [1]}}},
        {"hosts": ["d"], "counters": {}},
    ]
    (part,) = samples["senders"]
    assert (part["flow"], set(part["columns"])) == ("a", names - {"flow"})
    assert part["columns"]["rtt_us"] == {"unit": "us", "values": [100_000, 0, 120_000]}


def test_csv_names_what_each_algorithm_tells(tmp_path: Path) -> None:
    flows = [
        flow("a", congestion_fields=(("alpha", "1/1024"),)),
        flow("b", congestion_fields=(("min_rtt", "us"), ("alpha", "1/1024"))),
        flow("c", congestion_fields=()),
    ]
    rows = [{"flow": index, "congestion_0": 5, "congestion_1": 6} for index in range(3)]
    with Store(tmp_path / "runs.db") as store:
        store.finish(store.begin(head()), recording(rows, flows=flows), 1.0)
        (path, *_) = export(store.load("last"), "csv", tmp_path / "out.csv")
    found = [(row["congestion_alpha_1_1024"], row["congestion_min_rtt_us"]) for row in table(path)]
    assert found == [("5", ""), ("6", "5"), ("", "")]


def test_json_holds_the_document_and_every_sample(run: StoredRun, tmp_path: Path) -> None:
    (path,) = export(run, "json", tmp_path / "out.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    assert found["schema"] == 1
    assert found["runs"][0]["id"] == run.id
    assert found["provenance"] == run.provenance
    assert found["resolved"] == run.head.resolved
    sender, receiver = found["samples"]["tcp"]
    assert (sender["flow"], sender["endpoint"], receiver["endpoint"]) == ("a", "sender", "receiver")
    assert set(sender["columns"]) == set(TCP_DTYPE.names or ()) - {"flow", "endpoint"}
    assert sender["columns"]["rtt_us"] == {"unit": "us", "values": [100_000, 120_000]}
    assert sender["columns"]["snd_ssthresh_segments"]["values"] == [None, 9]
    assert sender["columns"]["congestion_1"] == {"unit": "us", "values": [7, 0]}
    (queue,) = found["samples"]["queues"]
    assert (queue["link"], queue["rate_bps"]) == ("bottleneck", 10_000_000)
    assert queue["columns"]["bytes"] == {"unit": "byte", "values": [500, 1_000, 8_001_000]}


@pytest.mark.parametrize("name", FORMATS)
def test_a_folder_that_does_not_exist_is_named(run: StoredRun, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "my figures"
    with pytest.raises(UsageError) as refused:
        export(run, name, folder / "out.txt")
    message, fix = str(refused.value).splitlines()
    assert message.endswith(f"the folder {folder} does not exist")
    assert fix == f"  fix: make it by `mkdir -p '{folder}'`, or name another one"


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_is_overwritten_unless_forced(run: StoredRun, tmp_path: Path, name: str) -> None:
    first = export(run, name, tmp_path / "out.txt", choice=somewhere(name))
    kept = first[-1]
    for path in first[:-1]:
        path.unlink()
    kept.write_bytes(b"mine")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UsageError, match=f"{kept.name}: exists already"):
        export(run, name, tmp_path / "out.txt", choice=somewhere(name))
    assert kept.read_bytes() == b"mine"
    assert sorted(tmp_path.iterdir()) == before
    export(run, name, tmp_path / "out.txt", force=True, choice=somewhere(name))
    assert kept.read_bytes() != b"mine"


def test_an_unknown_format_names_the_known(run: StoredRun, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no format xml; there are csv, flent, json"):
        export(run, "xml", tmp_path / "out.xml")


def test_a_place_that_cannot_be_written_is_an_error(run: StoredRun, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"out\.csv: cannot be written"):
        export(run, "csv", tmp_path / "nowhere" / "out.csv")


@pytest.mark.parametrize("name", FORMATS)
def test_a_limit_on_the_size_of_files_is_named_with_its_fix(
    run: StoredRun, tmp_path: Path, name: str
) -> None:
    with files_of_at_most(50), pytest.raises(UsageError) as refused:
        export(run, name, tmp_path / "out", choice=somewhere(name))
    assert str(refused.value).partition(": cannot")[2] == TOO_LARGE.format(50)
    assert [path.name for path in tmp_path.iterdir() if "runs.db" not in path.name] == []


def test_every_format_describes_itself() -> None:
    assert {"csv", "json"} <= set(FORMATS)
    assert all(one.description.startswith("FILE.") for one in FORMATS.values())


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("rtt_us", "us"), ("bytes_sent", "byte"), ("rcv_space_bytes", "byte"),
        ("pacing_rate_bytes_per_s", "byte/s"), ("segs_out", "segment"), ("data_segs_in", "segment"),
        ("snd_cwnd_segments", "segment"), ("time_ns", "ns"), ("packets", "packet"),
        ("drops", "packet"), ("backlog_packets", "packet"), ("last_data_sent_ms", "ms"),
        ("state", "1"), ("total_rto", "1"),
    ],
)  # fmt: skip
def test_units_are_read_from_names(column: str, expected: str) -> None:
    assert column in (*(TCP_DTYPE.names or ()), *(QUEUE_DTYPE.names or ()))
    assert unit(column) == expected
