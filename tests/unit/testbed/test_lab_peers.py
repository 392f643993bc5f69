"""Programs whose two ends are on two machines of a lab, at one of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from orchestrator.testbed.kernel import system
from orchestrator.testbed.lab.bed import LabBed
from orchestrator.testbed.lab.peers import Peers
from orchestrator.testbed.lab.undo_log import UndoLog
from orchestrator.testbed.programs import launcher
from orchestrator.testbed.sampling.records import Records
from orchestrator.testbed.traffic import Services
from orchestrator.testbed.traffic.program import ProgramFlow

if TYPE_CHECKING:
    from orchestrator.protocol.specification import AgentSpec, FlowSpec

S = 10**9
FLOW: dict[str, Any] = {
    "name": "page", "number": 3, "engine": "program", "source": "a", "sink": "b",
    "server": "source", "start_ns": 0, "stop_ns": None,
    "parameters": {
        "server": ["true"], "client": ["true"], "files": None, "env": {},
        "ready": {"port": 1, "transport": "tcp"}, "timeout_ns": 50_000_000,
    },
}  # fmt: skip


class End:
    """The client's end of a flow, whose server is on another machine."""

    def __init__(self, folder: Path, **parameters: object) -> None:
        self.said: list[tuple[int, str]] = []
        self.peers = Peers(lambda flow, signal: self.said.append((flow, signal)))
        spec: Any = {**FLOW, "parameters": {**FLOW["parameters"], **parameters}}
        document = {
            "nodes": ["b"], "ports": [1, 1], "flows": [spec],
            "addresses": {"a": "10.0.0.1", "b": "10.0.0.2"},
        }  # fmt: skip
        self._records = Records(str(folder), far=False)
        self.bed = LabBed(
            cast("AgentSpec", document), self._records, UndoLog(str(folder / "undo_log")),
            str(folder), self.peers,
        )  # fmt: skip
        services = Services(self._records, 3, "page")
        self.flow = ProgramFlow(self.bed, cast("FlowSpec", spec), services)
        self._facts = folder / "facts.jsonl"

    def facts(self) -> list[Any]:
        """Return the facts by the end of the run."""
        self.flow.finish()
        self.bed.wires.close()
        return [json.loads(line) for line in self._facts.read_text().splitlines()]


def test_a_signal_is_readable_until_it_is_taken() -> None:
    said: list[tuple[int, str]] = []
    peers = Peers(lambda flow, signal: said.append((flow, signal)))
    for signal in ("ready", "over"):
        peers.of(7).told(signal)
    assert peers.of(7).take() == ["ready", "over"]
    os.set_blocking(peers.of(7).fileno(), False)
    with pytest.raises(BlockingIOError):
        peers.of(7).take()
    peers.of(7).tell("over")
    assert said == [(7, "over")]


def test_a_client_does_not_start_without_its_server(tmp_path: Path) -> None:
    end = End(tmp_path)
    end.flow.start(system.monotonic_ns())
    end.flow._over.wait(10)
    assert end.said == [(3, "over")]
    assert end.facts() == []


def test_a_client_does_not_start_when_the_other_end_is_over(tmp_path: Path) -> None:
    end = End(tmp_path, timeout_ns=None)
    end.peers.of(3).told("ready")
    end.peers.of(3).told("over")
    end.flow.start(system.monotonic_ns())
    end.flow._over.wait(10)
    assert end.said == [(3, "over")]
    assert end.facts() == []


def test_a_client_that_waits_ends_with_the_run(tmp_path: Path) -> None:
    end = End(tmp_path, timeout_ns=None)
    end.flow.start(system.monotonic_ns())
    assert end.facts() == []
    assert end.said == [(3, "over")]


def test_names_of_hosts_are_those_of_machines(tmp_path: Path) -> None:
    end = End(tmp_path)
    text = end.flow._names()
    assert text == "127.0.0.1 localhost\n10.0.0.1 a server\n10.0.0.2 b client\n"
    end.bed.wires.close()


def test_nothing_starts_when_the_agent_has_ended_already() -> None:
    request = {"parent": 1, "arguments": ["true"]}
    done = subprocess.run(
        [sys.executable, "-I", "-S", launcher.__file__, json.dumps(request)],
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
