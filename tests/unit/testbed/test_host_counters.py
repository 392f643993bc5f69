"""Counters of hosts are read as the kernel shows them; here those of this machine."""

from __future__ import annotations

import socket
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, cast

import pytest

from orchestrator.protocol.reports.records import COUNTER_ROW
from orchestrator.recording.counters import ECN_REACTIONS, KEPT
from orchestrator.testbed.kernel import snmp
from orchestrator.testbed.programs import datagrams
from orchestrator.testbed.sampling import counters
from orchestrator.testbed.sampling.counters import HostCounters
from orchestrator.testbed.sampling.records import Records

PROGRAMS: list[Any] = [
    {"source": "a", "sink": "c", "engine": "program", "parameters": {"ready": {"port": 80}}},
    {"source": "c", "sink": "b", "engine": "program", "parameters": {"ready": None}},
]
FIRST = b"TcpExt: A B\nTcpExt: 1 2\nTcp: MaxConn X\nTcp: -1 7\n"


class OneNamespace:
    """A bed whose hosts a and b are this machine, and whose host c is elsewhere."""

    def __init__(self, *flows: Any) -> None:
        plain = [{"source": "a", "sink": "c"}, {"source": "b", "sink": "a"}]
        self.spec = {"flows": flows or [{**flow, "engine": "builtin"} for flow in plain]}

    def address(self, name: str) -> str:
        return {"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3"}[name]

    def holds(self, name: str) -> bool:
        return name != "c"

    def place(self, _name: str) -> str:
        return "a"

    def enter(self, _name: str) -> AbstractContextManager[None]:
        return nullcontext()


def rows(folder: Path, records: Records) -> list[Any]:
    records.close()
    return list(COUNTER_ROW.iter_unpack((folder / "counters.bin").read_bytes()))


def test_this_kernel_has_the_counters_that_metrics_use(tmp_path: Path) -> None:
    records = Records(str(tmp_path))
    reader = HostCounters(cast(Any, OneNamespace()), records)
    listed = cast(dict[str, list[Any]], reader.begin())
    assert listed["hosts"] == [["a", "b"]]
    assert set(listed["names"]) >= KEPT - {ECN_REACTIONS}
    assert len(set(listed["names"])) == len(listed["names"])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind(("127.0.0.1", 0))
        sender.sendto(b"x", sender.getsockname())
        sender.recv(1)
    reader.take(5)
    number = listed["names"].index("Udp:InDatagrams")
    assert [value >= 1 for time, host, counter, value in rows(tmp_path, records)
            if (time, host, counter) == (5, 0, number)] == [True]  # fmt: skip


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What the files show; the last text is what they show next."""
    texts = [FIRST]
    monkeypatch.setattr(counters, "_text", lambda _files: texts[-1])
    return texts


def test_only_what_changes_is_written(tmp_path: Path, shown: list[bytes]) -> None:
    """A line for kinds of ICMP messages comes when the first message does."""
    records = Records(str(tmp_path))
    reader = HostCounters(cast(Any, OneNamespace()), records)
    assert reader.begin()["names"] == ["TcpExt:A", "TcpExt:B", "Tcp:MaxConn", "Tcp:X"]
    reader.take(0)
    shown.append(b"TcpExt: A B\nTcpExt: 4 2\nIcmpMsg: InType8\nIcmpMsg: 3\n"
                 b"Tcp: MaxConn X\nTcp: -1 6\n")  # fmt: skip
    reader.take(1)
    reader.take(2)
    shown.append(FIRST)
    reader.take(3)
    assert rows(tmp_path, records) == [(1, 0, 0, 3), (1, 0, 3, -1), (3, 0, 0, 0), (3, 0, 3, 0)]


@pytest.mark.parametrize(
    ("more", "written"),
    [
        ((), "10.0.0.3 0"),  # any port: no other flow of UDP is there
        ((PROGRAMS[1], {"source": "a", "sink": "c", "engine": "builtin"}), "10.0.0.3 0"),
        (({"source": "c", "sink": "a", "engine": "udp"},), "10.0.0.3 80"),
        (({**PROGRAMS[0], "parameters": {"ready": {"port": 81}}},), "10.0.0.3 80"),
    ],
)
def test_a_programs_datagrams_are_told_apart_by_its_port_where_others_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[Any, ...], written: str
) -> None:
    files: list[Path] = []

    def path(_table: str) -> str:
        files.append(tmp_path / str(len(files)))
        files[-1].touch()
        return str(files[-1])

    monkeypatch.setattr(snmp, "path", path)
    datagrams.opened(cast(Any, OneNamespace(PROGRAMS[0], *more)), ["a"])
    texts = [file.read_text() for file in files]
    assert next(text for text in texts if text) == written


def test_datagrams_without_a_port_that_tells_are_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "table").touch()
    monkeypatch.setattr(snmp, "path", lambda _table: str(tmp_path / "table"))
    beside = {"source": "b", "sink": "c", "engine": "udp"}
    datagrams.opened(cast(Any, OneNamespace(PROGRAMS[1], beside)), ["b"])
    assert (tmp_path / "table").read_text() == ""


def test_a_module_that_does_not_count_datagrams_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snmp, "path", lambda table: str(tmp_path / table))
    with pytest.raises(RuntimeError, match=r"run_counts is not loaded.*earlier version"):
        datagrams.opened(cast(Any, OneNamespace(*PROGRAMS)), ["a"])
    assert datagrams.opened(cast(Any, OneNamespace()), ["a"]) == []


def test_hosts_have_different_numbers_of_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are those of the host with most; they are equal where both have them."""
    lines = b"Udp: SentPackets SentBytes\nUdp: 1 20\n"
    monkeypatch.setattr(snmp, "text", lambda _file: lines)
    assert datagrams.text([7, 8]) == (
        b"ProgramUdp0: SentPackets SentBytes\nProgramUdp0: 1 20\n"
        b"ProgramUdp1: SentPackets SentBytes\nProgramUdp1: 1 20\n"
    )
    monkeypatch.setattr(counters, "_text", lambda _files: FIRST)
    monkeypatch.setattr(datagrams, "opened", lambda _bed, hosts: [] if hosts == ["a"] else [7, 8])
    bed = OneNamespace(*PROGRAMS)
    monkeypatch.setattr(bed, "place", lambda name: name)
    records = Records(str(tmp_path))
    reader = HostCounters(cast(Any, bed), records)
    listed = cast(dict[str, list[Any]], reader.begin())
    assert listed["hosts"] == [["a"], ["b"]]
    assert listed["names"][-4:] == [
        "ProgramUdp0:SentPackets", "ProgramUdp0:SentBytes",
        "ProgramUdp1:SentPackets", "ProgramUdp1:SentBytes",
    ]  # fmt: skip
    lines = lines.replace(b"1 20", b"3 20")
    reader.take(5)
    first = len(listed["names"]) - 4
    assert rows(tmp_path, records) == [(5, 1, first, 2), (5, 1, first + 2, 2)]
