"""Networks of many hosts: each host takes descriptors, a namespace and memory of the guest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guest.conftest import Run

pytestmark = pytest.mark.guest

SENDING = """
import subprocess
from orchestrator.testbed.kernel import system
with system.inside(bed.wires_fd, bed.home_fd):
    lines = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True).stdout.splitlines()
states = [line.split(" state ")[1].split()[0] for line in lines if " w" in line]
raise SystemExit(f"{states.count('UP')} of {len(states)} can send")
"""

PAIRS = """\
version: 1
name: pairs
duration: 2s
warmup: 500ms
start_jitter: 500ms
topology:
  kind: dumbbell
  bottleneck: {rate: 100mbit, delay: 5ms, queue: {limit: 1000p}}
  groups: [{name: a, hosts: 1000, access: {rate: 100mbit, delay: 5ms}}]
flows: [{name: f, group: a, congestion: reno}]
sample: {tcp: 1s, queue: 1s}
"""


def test_every_wire_can_send_when_the_network_is_built(run: Run, tmp_path: Path) -> None:
    scenario, hook = tmp_path / "pairs.yaml", tmp_path / "hook.py"
    scenario.write_text(PAIRS.replace("hosts: 1000", "hosts: 60"))
    hook.write_text(SENDING)
    document = run(scenario=scenario, hook=hook)
    # 121 links have two devices each among the wires. Linux starts about 100 in a second by itself.
    assert "242 of 242 can send" in document["error"]


@pytest.mark.long
def test_a_thousand_pairs_of_hosts_are_faithful(run: Run, tmp_path: Path) -> None:
    scenario = tmp_path / "pairs.yaml"
    scenario.write_text(PAIRS)
    document = run(scenario=scenario)
    assert (document["status"], document["error"]) == ("ok", None)
    assert document["fidelity"]["verdict"] == "faithful"
    assert len(document["flows"]) == 1000
    assert document["metrics"]["utilisation"] > 0.9
