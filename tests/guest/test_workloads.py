"""Workloads in the guest: rounds of incast, and sizes by a distribution at a load."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from guest.build import GuestKernel
from orchestrator.backends.guest import Guest
from orchestrator.execution.runner import RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from results.store.store import Store
from tests.guest.conftest import Quiet

pytestmark = pytest.mark.guest

ROUNDS, HOSTS = 4, 5
SCENARIO = f"""\
version: 1
name: workloads
duration: 2s
topology:
  kind: dumbbell
  bottleneck: {{rate: 100mbit, delay: 1ms, queue: {{kind: droptail, limit: 100p}}}}
  access: {{rate: 1gbit, delay: 1ms}}
  groups:
    - {{name: servers, hosts: {HOSTS}}}
    - {{name: web, hosts: 1}}
flows:
  - name: answer
    group: servers
    congestion: reno
    traffic: {{kind: incast, bytes: 100kB, rounds: {ROUNDS}, gap: 20ms,
              jitter: {{distribution: uniform, most: 1ms}}}}
  - name: small
    group: web
    start: 1s
    traffic: {{kind: transfers, size: {{cdf: sizes.txt}}, load: 40%}}
"""


def test_rounds_begin_together_and_a_load_is_what_is_asked(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    (tmp_path / "sizes.txt").write_text("1000 10\n5000 60\n20000 100\n")
    file = tmp_path / "workloads.yaml"
    file.write_text(SCENARIO)
    db = tmp_path / "runs.db"
    ids = [
        run_id
        for _time in range(2)
        for run_id in run_plan(plan(load(file)), RunOptions(db, Guest(kernel)), Quiet())
    ]
    with Store.open_read_only(db) as store:
        runs = [store.load(run_id) for run_id in ids]
        assert len({run.row.digest for run in runs}) == 1
        assert runs[0].row.verdict == "faithful"
        names = ("start_ns", "end_ns", "bytes")
        columns = [
            {name: runs[0].transfer_columns(flow)[name] for name in names}
            for flow in range(HOSTS + 1)
        ]
    starts = np.array([one["start_ns"] for one in columns[:HOSTS]])
    ends = np.array([one["end_ns"] for one in columns[:HOSTS]])
    assert starts.shape == (HOSTS, ROUNDS)
    assert {int(size) for one in columns[:HOSTS] for size in one["bytes"]} == {100_000 // HOSTS}
    # Requests of a round leave within the jitter, and not at once.
    spread_ns = starts.max(axis=0) - starts.min(axis=0)
    assert (spread_ns > 0).all()
    assert (spread_ns <= 1_000_000).all()
    # The next round begins a gap after the last answer, and up to the jitter later.
    waited_ns = starts.min(axis=0)[1:] - ends.max(axis=0)[:-1]
    assert (waited_ns >= 20_000_000).all()
    assert (waited_ns <= 21_000_000).all()

    sizes = columns[HOSTS]["bytes"][~np.isnan(columns[HOSTS]["end_ns"])]
    assert sizes.min() >= 1000
    assert sizes.max() <= 20_000
    # 40 Mbit/s of the link layer for a second, in some 600 transfers of 6.9 kB on average.
    wire_bytes = (sizes * 1514 / 1448 + 4 * 66 + 8).sum()
    assert wire_bytes * 8 == pytest.approx(40e6, rel=0.15)
