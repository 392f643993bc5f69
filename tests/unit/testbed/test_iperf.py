"""The commands that the engine iperf3 starts, without iperf3."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.testbed.kernel import system
from orchestrator.testbed.traffic.iperf import IperfFlow

SPEC = {
    "name": "one",
    "source": "h1",
    "sink": "h2",
    "port": 5001,
    "client_port": 40001,
    "congestion": "reno",
    "start_ns": 0,
    "stop_ns": None,
}
REPORT = {"end": {"sum_sent": {"bytes": 2}, "sum_received": {"bytes": 1}}}


class Bed:
    """A bed with the source only, which records the client's command and ends it at once."""

    pid = 4711

    def __init__(self) -> None:
        self.command: list[str] = []
        self.sent_bytes: int | None = None

    def holds(self, name: str) -> bool:
        return name == "h1"

    def address(self, name: str) -> str:
        return {"h1": "10.0.0.1", "h2": "10.0.0.2"}[name]

    def host(self, _name: str) -> Bed:
        return self

    def spawn(self, arguments: list[str], pass_fds: tuple[int, ...], **_params: Any) -> Bed:
        self.command = arguments
        if "-F" in arguments:
            path = Path(arguments[arguments.index("-F") + 1])
            assert [path] == [Path(f"/proc/self/fd/{number}") for number in pass_fds]
            self.sent_bytes = len(path.read_bytes())
        return self

    def communicate(self) -> tuple[str, str]:
        return json.dumps(REPORT), ""


class Services:
    """Waits for what the engine reports."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.noted: dict[str, int] = {}

    def note(self, **values: int) -> None:
        self.noted = values
        self.done.set()


def open_files() -> Iterator[str]:
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the folder's own descriptor
            yield str(entry.readlink())


@pytest.mark.parametrize(
    ("size_bytes", "stop_ns", "seconds"),
    [(None, None, "86400"), (None, 1_500_000_000, "2"), (300_001, None, "86400")],
)
def test_a_client_sends_for_its_time_or_a_file_of_its_size(
    size_bytes: int | None, stop_ns: int | None, seconds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From iperf3 3.16 on, a client with -n spins at its end, which never ends in virtual time."""
    bed, services = Bed(), Services()
    ranked: list[tuple[int, bool]] = []
    monkeypatch.setattr(system, "rank_program", lambda pid, polls: ranked.append((pid, polls)))
    make_flow: Any = IperfFlow
    spec = {**SPEC, "stop_ns": stop_ns, "parameters": {"bytes": size_bytes}}
    make_flow(bed, spec, services).start(0)
    assert services.done.wait(10)
    assert services.noted == {"sent_bytes": 2, "received_bytes": 1}
    assert ranked == [(Bed.pid, True)]
    assert bed.sent_bytes == size_bytes
    assert bed.command[bed.command.index("-t") + 1] == seconds
    assert "-n" not in bed.command
    assert not [target for target in open_files() if "memfd:iperf3" in target]
