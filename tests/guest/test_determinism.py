"""Equal scenario and seed give an equal digest, whatever the run samples and the host does."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from guest.build import GuestKernel
from orchestrator.backends.guest import Guest
from orchestrator.decode.digest import RECEIVER_COLUMNS, SENDER_COLUMNS
from orchestrator.execution.runner import RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.recording.model import RECEIVER, SENDER
from orchestrator.scenario import load
from results.store.store import Store
from results.store.stored import StoredRun
from tests.guest.conftest import Quiet

pytestmark = pytest.mark.guest

TRACE = Path(__file__).parents[2] / "scenarios" / "tutorial" / "cellular.trace"
SCENARIO = """\
version: 1
name: kind
description: Flows of one kind of scenario.
seed: 3
duration: 3s
warmup: 1s
start_jitter: 10ms
topology:
  kind: dumbbell
  bottleneck: {bottleneck}
  access: {{rate: 100mbit, delay: 5ms}}
  groups: [{{name: a}}, {{name: b}}, {{name: c}}]
flows:
{flows}
sample: {{tcp: {sample}, queue: {sample}}}
"""
PLAIN = "{rate: 10mbit, delay: 10ms, queue: {kind: droptail, limit: 40p}}"
RED = "{kind: red, limit: 200p, min: 10p, max: 30p, probability: 10%, weight: 0.002, ecn: true}"
BULK = "{name: bulk, group: b, congestion: cubic}"

KINDS: dict[str, tuple[str, Sequence[str], str]] = {
    "bulk": (
        PLAIN,
        [
            "{name: cubic, group: a, congestion: cubic}",
            "{name: bbr, group: b, congestion: bbr}",
            "{name: westwood, group: c, congestion: westwood}",
            "{name: vegas, group: c, congestion: vegas, direction: reverse}",
        ],
        "",
    ),
    "udp": (
        "{rate: 10mbit, delay: 10ms, jitter: 2ms, queue: {limit: 40p}}",
        [
            "{name: cbr, group: a, traffic: {kind: cbr, rate: 3mbit}, stop: 2s}",
            "{name: poisson, group: b, traffic: {kind: poisson, rate: 3mbit, packet_size: 700B}}",
        ],
        "",
    ),
    "request-response": (
        PLAIN,
        [
            "{name: small, group: a, traffic: "
            "{kind: request-response, request: 200B, response: 1kB, think: 20ms}}",
            BULK,
        ],
        "",
    ),
    "web": (
        PLAIN,
        ["{name: web, group: a, congestion: cubic, traffic: {kind: web, load: 30%}}", BULK],
        "",
    ),
    "on-off": (
        PLAIN,
        [
            "{name: onoff, group: a, congestion: reno, traffic: {kind: onoff, on: 1s, off: 500ms}}",
            "{name: back, group: b, congestion: cubic, direction: reverse}",
        ],
        "",
    ),
    "marks": (
        f"{{rate: 10mbit, delay: 10ms, queue: {RED}}}",
        ["{name: ecn, group: a, congestion: reno, tcp: {ecn: true}}", BULK],
        "",
    ),
    "loss": (
        "{rate: 10mbit, delay: 10ms, loss: 1%, jitter: {spread: 1ms, keep_order: true}, "
        "queue: {limit: 40p}}",
        ["{name: reno, group: a, congestion: reno}", BULK],
        "",
    ),
    "events": (
        PLAIN,
        [BULK, "{name: cbr, group: c, traffic: {kind: cbr, rate: 1mbit}}"],
        "events:\n"
        "  - {at: 500ms, link: bottleneck, rate: 5mbit}\n"
        "  - {at: 1s, link: bottleneck, rate: 10mbit, delay: 40ms, queue: {limit: 30p}}\n"
        "  - {at: 2s, link: bottleneck, loss: 0.5%, direction: forward}\n",
    ),
    "trace": (
        f"{{capacity: {{forward: {{trace: {TRACE}}}, reverse: {{rate: 5mbit}}}}, delay: 20ms, "
        "queue: {limit: 100p}}",
        ["{name: bbr, group: a, congestion: bbr}", BULK],
        "",
    ),
}
IPERF3 = (
    "{rate: 2mbit, delay: 2ms, queue: {limit: 20p}}",
    [
        "{name: one, group: a, congestion: cubic, traffic: {kind: bulk, engine: iperf3}}",
        "{name: two, group: b, congestion: reno, traffic: {kind: bulk, engine: iperf3}}",
    ],
    "",
)
BRIEF = ("duration=1s", "warmup=0s", "topology.access.delay=1ms")
"""With short round trips a run of iperf3 takes a fraction of the wall time."""
SAMPLES = ("1ms", "37ms", "1s")


class Runs:
    """Runs kinds of scenario and returns their digests."""

    def __init__(self, kernel: GuestKernel, folder: Path, opened: contextlib.ExitStack) -> None:
        self._kernel, self._folder, self._opened = kernel, folder, opened
        self._numbers = itertools.count()

    def digests(
        self, kind: tuple[str, Sequence[str], str], sample: str, *overrides: str, jobs: int = 1
    ) -> list[str]:
        """Return the digests of a run, or of two runs with equal seeds beside each other."""
        return [str(one.row.digest) for one in self.stored(kind, sample, *overrides, jobs=jobs)]

    def stored(
        self, kind: tuple[str, Sequence[str], str], sample: str, *overrides: str, jobs: int = 1
    ) -> list[StoredRun]:
        """Return a stored run, or two runs with equal seeds that ran beside each other."""
        bottleneck, flows, more = kind
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        file = folder / "kind.yaml"
        lines = "\n".join(f"  - {flow}" for flow in flows)
        file.write_text(SCENARIO.format(bottleneck=bottleneck, flows=lines, sample=sample) + more)
        planned = plan(load(file, overrides))
        planned.runs.extend(planned.runs * (jobs - 1))
        options = RunOptions(folder / "runs.db", Guest(self._kernel), jobs)
        ids = run_plan(planned, options, Quiet())
        store = self._opened.enter_context(Store.open_read_only(folder / "runs.db"))
        found = [store.load(run_id) for run_id in ids]
        assert [one.row.status for one in found] == ["ok"] * jobs, [one.row.error for one in found]
        inexact = any("iperf3" in flow for flow in flows)
        assert {one.row.digest_depends_on_sampling for one in found} == {inexact}
        return found


@pytest.fixture
def runs(kernel: GuestKernel, tmp_path: Path) -> Iterator[Runs]:
    with contextlib.ExitStack() as opened:
        yield Runs(kernel, tmp_path, opened)


@contextlib.contextmanager
def busy_host() -> Iterator[None]:
    """Keep every CPU busy."""
    loop = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(loop) for _cpu in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    "name",
    [name if name == "bulk" else pytest.param(name, marks=pytest.mark.long)
     for name in KINDS],
)  # fmt: skip
def test_equal_seeds_give_equal_digests(runs: Runs, name: str) -> None:
    kind = KINDS[name]
    (idle,) = runs.digests(kind, "1s")
    with busy_host():
        assert runs.digests(kind, "7ms", jobs=2) == [idle, idle]


ROUNDED = ("rtt_us", "rttvar_us", "min_rtt_us")


@pytest.mark.long
def test_sampling_moves_no_packet_of_an_iperf3_run_by_more_than_a_microsecond(runs: Runs) -> None:
    """iperf3 polls the clock in steps of 256 ns, so an RTT may be rounded to another number."""
    often, seldom = (runs.stored(IPERF3, sample, *BRIEF)[0] for sample in ("1ms", "1s"))
    for flow in (0, 1):
        for end, names in ((SENDER, SENDER_COLUMNS), (RECEIVER, RECEIVER_COLUMNS)):
            columns, others = (each.tcp(flow, end) for each in (often, seldom))
            on_grid = np.isin(columns["time_ns"], others["time_ns"])
            assert on_grid.sum() == len(others["time_ns"]) >= 9
            for name in names:
                off = np.abs(np.nan_to_num(columns[name][on_grid] - others[name]))
                assert off.max() <= (2 if name in ROUNDED else 0), name


@pytest.mark.long
def test_equal_iperf3_runs_give_equal_digests(runs: Runs) -> None:
    (idle,) = runs.digests(IPERF3, "100ms", *BRIEF)
    with busy_host():
        assert runs.digests(IPERF3, "100ms", *BRIEF, jobs=2) == [idle, idle]


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_equal_seeds_give_equal_digests_in_every_way(runs: Runs, name: str) -> None:
    kind = KINDS[name]
    idle = {sample: runs.digests(kind, sample) for sample in SAMPLES}
    beside = {sample: runs.digests(kind, sample, jobs=2) for sample in SAMPLES}
    with busy_host():
        busy = {sample: runs.digests(kind, sample) for sample in SAMPLES}
    digests = {found for each in (idle, beside, busy) for two in each.values() for found in two}
    assert len(digests) == 1, (idle, beside, busy)
    assert runs.digests(kind, "1s", "seed=4") != idle["1s"]


def test_delay_and_jitter_of_a_udp_flows_link_change_the_digest(runs: Runs) -> None:
    """The flow ends long before the run, so all counters of packets are equal."""
    kind = (PLAIN, ["{name: cbr, group: a, traffic: {kind: cbr, rate: 3mbit}, stop: 1s}"], "")
    link = "topology.bottleneck"
    changes = [
        (),
        (f"{link}.delay=10001us",),
        (f"{link}.jitter=1ms",),
        (f"{link}.jitter=2ms",),
    ]
    found = [runs.digests(kind, "1s", *change)[0] for change in changes]
    assert len(set(found)) == len(changes), found
