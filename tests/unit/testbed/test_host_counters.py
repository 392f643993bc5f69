"""Counters of hosts are read as the kernel shows them; here those of this machine."""

from __future__ import annotations

import socket
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, cast

import pytest

from orchestrator.protocol.reports.records import COUNTER_ROW
from orchestrator.recording.counters import ECN_REACTIONS, KEPT
from orchestrator.testbed.sampling import counters
from orchestrator.testbed.sampling.counters import HostCounters
from orchestrator.testbed.sampling.records import Records

FIRST = b"TcpExt: A B\nTcpExt: 1 2\nTcp: MaxConn X\nTcp: -1 7\n"


class OneNamespace:
    """A bed whose hosts a and b are this machine, and whose host c is elsewhere."""

    spec = {"flows": [{"source": "a", "sink": "c"}, {"source": "b", "sink": "a"}]}

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
