"""Workloads in the guest: incast, sizes by a distribution, lists, RPC, replays and ping."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from guest.build import GuestKernel
from orchestrator.backends.guest import Guest
from orchestrator.execution.runner import RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from results.records.model import WHOLE
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


TOGETHER = """\
version: 1
name: together
duration: 1s
topology:
  kind: dumbbell
  bottleneck: {rate: 100mbit, delay: 500us, queue: {kind: droptail, limit: 100p}}
  access: {rate: 1gbit, delay: 50us}
  groups:
    - {name: servers, hosts: 8}
    - {name: others, hosts: 8}
flows:
  - {name: ask, group: servers, congestion: reno, start: 100ms,
     traffic: {kind: rpc, think: 10ms}}
  - {name: answer, group: others, congestion: reno,
     traffic: {kind: incast, bytes: 100kB, rounds: 5}}
"""


def test_a_trace_changes_nothing_of_flows_that_begin_together(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    """Whoever is asked first answers first; tracing moves objects in memory."""
    file, db = tmp_path / "together.yaml", tmp_path / "runs.db"
    digests = set()
    for capture in ("", "capture: {trace: [drops]}\n"):
        file.write_text(TOGETHER + capture)
        (run_id,) = run_plan(plan(load(file)), RunOptions(db, Guest(kernel)), Quiet())
        with Store.open_read_only(db) as store:
            digests.add(store.load(run_id).row.digest)
    assert len(digests) == 1


LISTED = """\
version: 1
name: listed
duration: 2s
topology:
  kind: dumbbell
  bottleneck: {rate: 100mbit, delay: 1ms, queue: {kind: droptail, limit: 100p}}
  access: {rate: 1gbit, delay: 1ms}
  groups:
    - {name: a, hosts: 3}
    - {name: b}
flows:
  - {name: jobs, congestion: cubic, traffic: {kind: schedule, file: jobs.csv}}
  - name: ask
    group: a
    congestion: reno
    start: 1s
    traffic: {kind: rpc, response: {distribution: exponential, mean: 20kB}, think: 10ms,
              queries: 20}
  - {name: call, group: b, start: 100ms, traffic: {kind: replay, file: call.csv}}
  - {name: echo, group: b, start: 150ms, traffic: {kind: ping, interval: 50ms, packet_size: 1000B}}
  - {name: back, group: b, direction: reverse, traffic: {kind: ping, interval: 10ms, number: 5}}
  - {name: film, group: b, stop: 1500ms, traffic: {kind: replay, file: film.pcap, port: 5004}}
"""
JOBS = """\
start,source,destination,bytes,congestion
200ms,a_src0,b_dst0,100kB,
0s,b_dst0,a_src1,1MB,bbr
200ms,a_src0,b_dst0,1000,
200ms,a_src0,a_src2,2000,
"""
CALL = [(0, 160), (20, 1000), (20, 16), (45, 160), (3000, 160)]


def film() -> bytes:
    """Return a capture of Ethernet: each second packet has 1200 bytes for the port 5004."""
    packets = []
    for number in range(2000):
        port = 5004 if number % 2 else 53
        ip = struct.pack(">BBHHHBBH8x", 0x45, 0, 1228, 0, 0, 64, 17, 0)
        frame = bytes(12) + b"\x08\x00" + ip + struct.pack(">HHHH", 4000, port, 1208, 0)
        seconds, rest_us = divmod(750 * number, 10**6)
        packets.append(struct.pack("<IIII", 7 + seconds, rest_us, len(frame), 1242) + frame)
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 64, 1) + b"".join(packets)


def test_lists_rpc_and_replays_do_what_their_files_say_three_times_equally(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    (tmp_path / "jobs.csv").write_text(JOBS)
    lines = ["time_ms,bytes", *(f"{time_ms},{size}" for time_ms, size in CALL)]
    (tmp_path / "call.csv").write_text("\n".join(lines))
    (tmp_path / "film.pcap").write_bytes(film())
    file = tmp_path / "listed.yaml"
    file.write_text(LISTED)
    db = tmp_path / "runs.db"
    ids = [
        run_id
        for _time in range(3)
        for run_id in run_plan(plan(load(file)), RunOptions(db, Guest(kernel)), Quiet())
    ]
    with Store.open_read_only(db) as store:
        runs = [store.load(run_id) for run_id in ids]
        assert len({run.row.digest for run in runs}) == 1
        assert runs[0].row.verdict == "faithful"
        flows = {flow.name: number for number, flow in enumerate(runs[0].flows)}
        made = {
            name: {key: columns[key] for key in ("start_ns", "end_ns", "bytes")}
            for name, number in flows.items()
            if len((columns := runs[0].transfer_columns(number))["bytes"])
        }
        packets = {
            name: {
                key: runs[0].datagram_columns(flows[name])[key][-1]
                for key in ("sent_packets", "sent_bytes", "received_bytes")
            }
            for name in ("call", "film")
        }
        found = runs[0].metrics()[WHOLE].run
        echoes = [
            {
                key: value or 0.0
                for key, value in runs[0].metrics()[WHOLE].flows[flows[name]].items()
            }
            for name in ("echo", "back")
        ]
        back_s = runs[0].flows[flows["back"]].base_rtt_s
        assert runs[0].flows[flows["jobs[1]"]].congestion_control == "bbr"

    assert {
        name: [*zip(columns["start_ns"], columns["bytes"], strict=True)]
        for name, columns in made.items()
        if name.startswith("jobs")
    } == {
        "jobs[0]": [(200_000_000, 1000), (200_000_000, 100_000)],
        "jobs[1]": [(0, 1_000_000)],
        "jobs[2]": [(200_000_000, 2000)],
    }
    begun = np.array([made[f"ask[{number}]"]["start_ns"] for number in range(3)])
    assert begun.shape == (3, 20)
    assert (begun == begun[0]).all()  # without jitter all servers are asked at once
    assert found["queries_completed"] == 20
    ends = np.max([made[f"ask[{number}]"]["end_ns"] for number in range(3)], axis=0)
    assert (begun[0][1:] - ends[:-1] >= 10_000_000).all()
    assert (begun[0][1:] - ends[:-1] < 10_100_000).all()
    assert found["query_time_mean_s"] == pytest.approx((ends - begun[0]).mean() / 1e9)

    # Before the other flows a reply takes the base RTT, and its larger frames take longer.
    assert [each["echoes_sent"] for each in echoes] == [37, 5]
    assert [each["echoes_lost"] for each in echoes] == [0, 0]
    sent_ns = made["echo"]["start_ns"]
    assert (abs(sent_ns - (150_000_000 + 50_000_000 * np.arange(37))) < 20_000).all()
    assert back_s <= echoes[1]["echo_rtt_min_s"] < back_s + 30e-6
    larger_s = 2 * 8 * (1000 - 84) * (1 / 1e8 + 2 / 1e9)
    assert echoes[0]["echo_rtt_min_s"] == pytest.approx(back_s + larger_s, abs=30e-6)
    assert echoes[0]["echo_rtt_p99_s"] > echoes[0]["echo_rtt_mean_s"]
    assert found["transfers"] == 64  # echoes are none

    # What is due after the end is not sent.
    sent_bytes = sum(size for _time, size in CALL[:-1])
    assert packets["call"] == {"sent_packets": len(CALL) - 1, "sent_bytes": sent_bytes,
                               "received_bytes": sent_bytes}  # fmt: skip
    # The capture's first datagram with the port leaves at 0, and the last one before the stop.
    assert packets["film"]["sent_packets"] == 1000
    assert packets["film"]["sent_bytes"] == 1000 * 1200
    assert 0 < packets["film"]["received_bytes"] <= 1000 * 1200
