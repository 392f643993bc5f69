"""What a run reports does not depend on what it samples: equal digests have equal numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.build import GuestKernel
from orchestrator.backends.guest import Guest
from orchestrator.execution.runner import RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from results.documents import run_document
from results.metrics import METRICS
from results.store.store import Store
from tests.guest.conftest import Quiet

pytestmark = pytest.mark.guest

SCENARIO = """\
version: 1
name: sampled
description: Every kind of flow, so that each metric of flows has a value.
seed: 3
duration: 6s
warmup: 1500ms
start_jitter: 10ms
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 5ms, queue: {kind: droptail, limit: 40p}}
  groups:
    - {name: a, hosts: 2, access: {rate: 100mbit, delay: 3ms}}
    - {name: b, hosts: 1, access: {rate: 100mbit, delay: 7ms}}
flows:
  - {name: cubic, group: a, congestion: cubic}
  - {name: bbr, group: b, congestion: bbr, start: 1s, stop: 5.215s}
  - {name: back, group: b, congestion: westwoodplus, direction: reverse}
  - {name: sized, group: a, congestion: reno, traffic: {kind: bulk, bytes: 200kB}, start: 2s}
  - {name: onoff, group: b, congestion: reno, traffic: {kind: onoff, on: 700ms, off: 300ms}}
  - {name: web, group: a, congestion: cubic, traffic: {kind: web, load: 5%}}
  - name: exchanges
    group: b
    congestion: cubic
    traffic: {kind: request-response, request: 200B, response: 20kB, think: 50ms}
  - {name: cbr, group: b, traffic: {kind: cbr, rate: 500kbit}, stop: 4.833s}
measure:
  - {name: early, from: 1.5155s, to: 3.0155s}
  - {name: late, from: 3.0155s, to: 6s}
"""
SAMPLES = ("1ms", "7ms", "100ms", "1s")


def numbers(run: dict[str, Any]) -> dict[tuple[object, ...], Any]:
    """Return every metric of a run's document by its place."""
    found: dict[tuple[object, ...], Any] = {}
    for window, each in {"": run, **run["windows"]}.items():
        of_flows = {flow["name"]: flow for flow in each["flows"]}
        of_links = {f"{one['name']}:{one['direction']}": one for one in each.get("links", [])}
        scopes = {"run": {None: each["metrics"]}, "flow": of_flows, "link": of_links}
        for scope, subjects in scopes.items():
            for name, values in subjects.items():
                for metric in (one for one, of in METRICS if of == scope):
                    found[window, scope, name, metric] = values[metric]
    return found


def documents(kernel: GuestKernel, folder: Path) -> dict[str, dict[str, Any]]:
    """Run the scenario with each sampling period, and return the runs' documents."""
    file = folder / "sampled.yaml"
    file.write_text(SCENARIO)
    found = {}
    for sample in SAMPLES:
        planned = plan(load(file, (f"sample.tcp={sample}", f"sample.queue={sample}")))
        options = RunOptions(folder / f"{sample}.db", Guest(kernel))
        ids = run_plan(planned, options, Quiet())
        with Store.open_read_only(folder / f"{sample}.db") as store:
            (found[sample],) = run_document.of_ids(store, ids)["runs"]
    return found


@pytest.mark.long
def test_equal_digests_have_equal_metrics_whatever_is_sampled(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    runs = documents(kernel, tmp_path)
    assert len({run["digest"] for run in runs.values()}) == 1
    assert {run["fidelity"]["verdict"] for run in runs.values()} == {"faithful"}
    assert {run["metrics_grid_s"] for run in runs.values()} == {0.022}
    every = {sample: numbers(run) for sample, run in runs.items()}
    first = every[SAMPLES[0]]
    for sample, each in every.items():
        different = {place: (first[place], each[place]) for place in first if
                     first[place] != each[place]}  # fmt: skip
        assert not different, sample
    # Without values, equality would say nothing.
    valued = {place[3] for place, value in first.items() if value is not None}
    without = {name for name, _scope in METRICS} - valued
    assert without <= WITHOUT_A_VALUE, without


WITHOUT_A_VALUE = {
    # A drop-tail queue does not mark, and there is no policer.
    "mark_ratio", "marks_packets", "early_drops_packets", "overflow_drops_packets",
    "policer_drops_packets",
    "l_queue_packets", "classic_queue_packets", "step_marks_packets",  # there is no DualPI2
    # tcp_info of this kernel has no fields of ECN.
    *(f"received_{name}" for name in ("ce_segments", "ce_bytes", "ect0_bytes", "ect1_bytes")),
    *(f"delivered_{name}_bytes" for name in ("ce", "ect0", "ect1")),
    "convergence_time_s",  # flows with such different RTTs do not converge
    "hystart_exit_cwnd_segments",  # no slow start ends by HyStart
    # There are no programs.
    "exit_status", "udp_other_packets",
    *(f"udp_{way}{name}" for way in ("", "reverse_")
      for name in ("sent_packets", "sent_bytes", "received_packets", "received_bytes",
                   "goodput_bps", "loss_ratio")),
    # Nor Multipath TCP, which this kernel does not have.
    *(f"mptcp_{name}" for name in ("goodput_bps", "share", "reinjected_bytes", "subflows")),
    # Nor ping, incast or RPC.
    "echoes_sent", "echoes_lost", *(f"echo_rtt_{of}_s" for of in ("min", "mean", "p99", "max")),
    "rounds_completed", *(f"round_time_{of}_s" for of in ("mean", "p50", "p99")),
    "queries_completed", *(f"query_time_{of}_s" for of in ("mean", "p50", "p99")),
    # Transfers have 10 kB.
    *(f"fct_{of}_{size}_s" for of in ("mean", "p99") for size in ("medium", "long")),
    *(f"slowdown_{of}_{size}" for of in ("mean", "p99") for size in ("medium", "long")),
}  # fmt: skip
