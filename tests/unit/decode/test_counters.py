"""SNMP counters of hosts: what a test bed wrote, and what none may write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.decode.edges.counters import counters
from orchestrator.decode.output import OutputFolder
from orchestrator.errors import BedError
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.reports.records import COUNTER_ROW
from orchestrator.recording.counters import KEPT, MOST_COUNTERS, CounterNames
from tests.support.hostile_texts import assembled, captured_files, captured_plan

Rows = list[tuple[int, int, int, int]]

HOSTS = [["a_src0"], ["a_dst0"], ["b_src0"], ["b_dst0"]]
NAMES = ["TcpExt:Never", "TcpExt:TCPTimeouts", "Tcp:CurrEstab", "Ip:InReceives"]


@pytest.fixture(scope="module")
def run() -> RunSpec:
    (planned,) = captured_plan().runs
    return planned


def decoded(folder: Path, run: RunSpec, rows: Rows, **listed: Any) -> tuple[CounterNames, Any]:
    (folder / "counters.bin").write_bytes(b"".join(COUNTER_ROW.pack(*row) for row in rows))
    fact: Any = {"fact": "counters", "hosts": HOSTS, "names": NAMES, **listed}
    names, found = counters(OutputFolder(folder), fact, run)
    return names, found.tolist()


def test_only_names_that_say_something_are_kept(tmp_path: Path, run: RunSpec) -> None:
    """One that did not grow is kept if a metric has to tell 0 from a kernel without it."""
    names, rows = decoded(tmp_path, run, [(0, 0, 3, 1), (9, 0, 3, 5), (9, 1, 2, -1)])
    assert names.names == ("TcpExt:TCPTimeouts", "Tcp:CurrEstab", "Ip:InReceives")
    assert "TcpExt:TCPTimeouts" in KEPT
    assert rows == [(0, 0, 2, 1), (9, 0, 2, 5), (9, 1, 1, -1)]
    assert names.place_of == {"a_src0": 0, "a_dst0": 1, "b_src0": 2, "b_dst0": 3}
    assert CounterNames.of({"counters": names.document()}) == names


@pytest.mark.parametrize(
    ("rows", "listed", "why"),
    [
        ([(0, 4, 0, 1)], {}, "a row of host 4; there are 4"),
        ([(0, 0, 4, 1)], {}, "a row of counter 4; there are 4"),
        ([(1, 0, 0, 1), (0, 0, 1, 1)], {}, "not in the order of time"),
        ([(1, 0, 0, 1), (1, 1, 0, 1), (1, 0, 0, 2)], {}, "a counter twice at one time"),
        ([], {"hosts": HOSTS[1:]}, "has not each host"),
        ([], {"hosts": [*HOSTS, ["a_src0"]]}, "has not each host"),
        ([], {"hosts": [*HOSTS[1:], ["router"]]}, "has not each host"),
        ([], {"names": ["Ip:A", "Ip:A"]}, "a name twice"),
    ],
)
def test_what_no_host_counts_is_refused(
    tmp_path: Path, run: RunSpec, rows: Rows, listed: dict[str, Any], why: str
) -> None:
    with pytest.raises(BedError, match=why):
        decoded(tmp_path, run, rows, **listed)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ((2 * 10**9 + 1, 0, 0, 1), "a row whose time_ns is 2000000001"),
        ((0, 0, 0, 2**62 + 1), "a row whose value is"),
    ],
)
def test_what_no_run_counts_is_refused(row: tuple[int, ...], why: str, run: RunSpec) -> None:
    files = captured_files()
    files["counters.bin"] += COUNTER_ROW.pack(*row) if row[0] else b""
    if not row[0]:
        files["counters.bin"] = COUNTER_ROW.pack(*row)
    with pytest.raises(BedError, match=why):
        assembled(run, files)


@pytest.mark.parametrize("name", ["TCPTimeouts", "Tcp Ext:A", "TcpExt:A\n", "TcpExt:" + "A" * 61])
def test_a_name_that_no_kernel_has_is_refused(name: str, run: RunSpec) -> None:
    files = captured_files()
    written = b'"TcpExt:TCPTimeouts"'
    assert written in files["facts.jsonl"]
    shown = f'"{name}"'.replace("\n", "\\n").encode()
    files["facts.jsonl"] = files["facts.jsonl"].replace(written, shown)
    with pytest.raises(BedError, match="fact counters, names"):
        assembled(run, files)


def test_a_bed_without_counters_is_refused(run: RunSpec) -> None:
    files = captured_files()
    lines = files["facts.jsonl"].splitlines(keepends=True)
    files["facts.jsonl"] = b"".join(line for line in lines if b'"fact":"counters"' not in line)
    with pytest.raises(BedError, match="did not record counters"):
        assembled(run, files)


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"hosts": [], "names": "Ip:A"},
        {"hosts": [[]], "names": []},
        {"hosts": [["a"], ["a"]], "names": []},
        {"hosts": [[1]], "names": []},
        {"hosts": [], "names": ["Ip:A", "Ip:A"]},
        {"hosts": [], "names": ["Ip:A\n"]},
        {"hosts": [], "names": [f"Ip:A{number}" for number in range(MOST_COUNTERS + 1)]},
    ],
)
def test_a_strangers_names_are_refused(document: object) -> None:
    with pytest.raises(ValueError, match="counters: "):
        CounterNames.of({"counters": document})


def test_a_run_without_counters_has_no_names() -> None:
    assert CounterNames.of({}) == CounterNames()
