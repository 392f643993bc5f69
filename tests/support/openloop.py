"""Send datagrams through the test bed at exact times, beside the run's own traffic.

A hook sends them from ``a_src0`` to ``a_dst0`` while traffic runs and prints when each one arrived.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from guest.build import GuestKernel
from orchestrator.backends import modules
from orchestrator.backends.contract import RunContext
from orchestrator.backends.guest import Guest
from orchestrator.backends.kernels import ensure
from orchestrator.execution.judging import judged
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.recording.model import Recording
from orchestrator.scenario import load

FIRST_NS, GAP_NS = 100_000_000, 100_000
PAYLOAD_BYTES = 16
FRAME_BYTES = 14 + 20 + 8 + PAYLOAD_BYTES
RATE_BPS = 10**10
BEFORE_NS = 1_000_000 + FRAME_BYTES * 8 * 10**9 // RATE_BPS
"""From a datagram's sending to the bottleneck's netem, behind its transmission."""
BASE_NS = BEFORE_NS + 21_000_000
"""From its sending to its arrival, when nothing but delays happens to it."""

SCENARIO = """
version: 1
name: openloop
duration: 4s
topology:
  kind: dumbbell
  bottleneck: {rate: 10gbit, delay: 20ms, queue: {limit: 1000p}}
  groups: [{name: a, access: {delay: 1ms}}]
flows: [{name: f, group: a, congestion: reno, traffic: {kind: bulk, bytes: 20kB}, start: 3500ms}]
"""
HOOK = """
import json, socket, threading
from orchestrator.testbed.kernel import system
from orchestrator.testbed.traffic.inbox import Inbox
from orchestrator.testbed.machines import GuestMachine
from orchestrator.testbed.kernel.timed_send import BATCH, TimedSender

address = (bed.address("a_dst0"), 4000)
with bed.enter("a_dst0"):
    inbox = Inbox()
    receiver = inbox.open(address)
with bed.enter("a_src0"):
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.connect(address)

def openloop(origin_ns):
    first_ns, timed = origin_ns + FIRST_NS, TimedSender()
    packets = [
        (first_ns + number * GAP_NS, sender.fileno(), number, PAYLOAD_BYTES, None)
        for number in range(COUNT)
    ]
    failed = []
    for begin in range(0, COUNT, BATCH):
        failed += timed.send(packets[begin : begin + BATCH])
    system.Timer().sleep_until(packets[-1][0] + 1_000_000_000)
    arrivals = [
        (number, due - origin_ns, arrived - origin_ns)
        for number, due, arrived in inbox.read(receiver, 1)
    ]
    told = json.dumps([failed, arrivals])
    for begin in range(0, len(told), LINE_CHARS):  # of a longer line the log keeps a part
        print("openloop " + told[begin : begin + LINE_CHARS], flush=True)

first_origin = GuestMachine.origin_ns

def origin(machine):
    origin_ns = first_origin(machine)
    threading.Thread(target=openloop, args=(origin_ns,), daemon=True).start()
    return origin_ns

GuestMachine.origin_ns = origin
"""


@dataclass(frozen=True)
class Passed:
    """The result of a number of datagrams; ``numbers`` and ``delays_ns`` as they arrived."""

    spec: RunSpec
    recording: Recording
    sent: int
    numbers: npt.NDArray[np.int64]
    delays_ns: npt.NDArray[np.int64]

    @property
    def lost(self) -> npt.NDArray[np.bool_]:
        """Return whether each sent datagram was lost."""
        return ~np.isin(np.arange(self.sent), self.numbers)

    @property
    def at_netem_ns(self) -> npt.NDArray[np.int64]:
        """Return when each datagram reached the bottleneck's netem, since the start of traffic."""
        return FIRST_NS + GAP_NS * np.arange(self.sent) + BEFORE_NS

    def check(self, name: str) -> bool | None:
        """Return whether the check of that name holds."""
        (found,) = [check for check in self.recording.checks if check.name == name]
        return found.ok


Send = Callable[..., Passed]


def _ignore(*_told: object) -> None:
    pass


def prepare(folder: Path, kernel: GuestKernel) -> Iterator[Send]:
    """Yield a function that runs the scenario with overrides and sends datagrams."""
    scenario, hook = folder / "openloop.yaml", folder / "hook.py"
    scenario.write_text(SCENARIO)

    def send(*overrides: str, count: int = 20_000, before: str = "") -> Passed:
        constants = f"COUNT, FIRST_NS, GAP_NS = {count}, {FIRST_NS}, {GAP_NS}\n"
        constants += f"PAYLOAD_BYTES, LINE_CHARS = {PAYLOAD_BYTES}, 3000\n"
        hook.write_text(constants + before + HOOK)
        words = [
            override
            if override.startswith(("seed", "sample."))
            else f"topology.bottleneck.{override}"
            for override in overrides
        ]
        spec = plan(load(scenario, words)).runs[0]
        workspace = Path(tempfile.mkdtemp(prefix="orchestrator-"))
        try:
            cpu = min(os.sched_getaffinity(0))
            guest = Guest(kernel, hook=hook)
            guest.modules[kernel.key] = modules.build([spec], kernel, unconfined=False)
            recording = guest.run(spec, RunContext(workspace, cpu, _ignore, _ignore), _ignore)
            recording = judged(spec, recording)
        finally:
            shutil.rmtree(workspace)
        lines = [one for one in recording.log.split("\n") if one.startswith("openloop ")]
        failed, arrivals = json.loads("".join(line.removeprefix("openloop ") for line in lines))
        assert not failed
        found = np.array(arrivals, dtype=np.int64).reshape(-1, 3)
        # Each says when it was due: nothing in it was changed on the way.
        assert (found[:, 1] == FIRST_NS + GAP_NS * found[:, 0]).all()
        return Passed(spec, recording, count, found[:, 0], found[:, 2] - found[:, 1])

    yield send


@pytest.fixture
def send(tmp_path: Path) -> Iterator[Send]:
    yield from prepare(tmp_path, ensure())
