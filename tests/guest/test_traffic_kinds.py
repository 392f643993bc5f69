"""Every kind of TCP traffic does what the scenario says, and its transfers take what they must."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from guest.build import GuestKernel
from orchestrator.backends.guest import Guest
from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.execution.runner import RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.protocol.links.random_quantities import draw, periods
from orchestrator.protocol.specification import FlowSpec
from orchestrator.recording.model import RECEIVER, SENDER
from orchestrator.scenario import load
from results.documents import run_document
from results.store.store import Store
from tests.guest.conftest import Quiet
from tests.guest.idle_path import ACK_BYTES, SYN_BYTES, IdleLink, crossing_s, frames_of

pytestmark = pytest.mark.guest

S = 10**9
RATE_BPS, RTT_S = 10_000_000, 0.1
FRAME_S = 1514 * 8 / RATE_BPS
PATH = (IdleLink(1e9, 0.02), IdleLink(RATE_BPS, 0.01), IdleLink(1e9, 0.02))
"""All links of HEAD's network, in either direction."""

HEAD = """\
version: 1
name: kinds
seed: 5
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 10ms, queue: {kind: droptail, limit: 100p}}
  groups:
    - {name: a, hosts: 1, access: {rate: 1gbit, delay: 20ms}}
"""

# One after another on the same path, so that each has it for itself.
ROW = (
    HEAD
    + """\
duration: 40s
measure:
  - {name: window, from: 8s, to: 12s}
  - {name: on-1, from: 14s, to: 16s}
  - {name: off-1, from: 16250ms, to: 18s}
  - {name: on-2, from: 18s, to: 20s}
  - {name: off-2, from: 20250ms, to: 22s}
flows:
  - {name: short, group: a, congestion: reno,
     traffic: {kind: transfers, size: 10kB, gap: 300ms, number: 3}}
  - {name: latency, group: a, start: 3s, stop: 4s,
     traffic: {kind: request-response, request: 100B, response: 1kB, think: 100ms}}
  - {name: latency-5k, group: a, start: 4500ms, stop: 5500ms,
     traffic: {kind: request-response, request: 100B, response: 5kB, think: 100ms}}
  - {name: window, group: a, start: 6s, stop: 12s, traffic: {kind: bulk, window: 64p}}
  - {name: pausing, group: a, start: 14s, congestion: westwood,
     traffic: {kind: onoff, intervals: [[0s, 2s], [4s, 6s]]}}
  - {name: files, group: a, start: 22s, stop: 30s,
     traffic: {kind: uploads, files: [100kB, 300kB], gap: 500ms, number: 4}}
  - {name: turns, group: a, start: 30s,
     traffic: {kind: campaign, controls: [reno, westwood], turn: 2s, idle: 1s}}
"""
)

# Everything random at once, with enough loss that connections fail to be quick.
RANDOM = (
    HEAD.replace("delay: 10ms,", "delay: 10ms, loss: 1%,")
    + """\
duration: 30s
flows:
  - {name: on-off, group: a, start: 1s, traffic: {kind: onoff, reconnect: true,
     on: {distribution: exponential, mean: 500ms}, off: {distribution: pareto, mean: 1s, shape: 2}}}
  - {name: poisson, group: a, start: 100ms, traffic: {kind: transfers, arrivals: 5/s,
     size: {distribution: lognormal, mean: 10kB, deviation: 20kB, most: 100kB}}}
  - {name: web, group: a, traffic: {kind: web, sessions: 4/s, objects: 2,
     pages: {distribution: exponential, mean: 2}, think: {distribution: exponential, mean: 300ms}}}
  - {name: back, group: a, direction: reverse, traffic: {kind: web, load: 10%, window: 20p}}
"""
)

WEB = (
    HEAD.replace("10mbit", "100mbit").replace("100p", "1000p")
    + """\
duration: 20s
flows:
  - {name: web, group: a, traffic: {kind: web, load: 30%,
     response: {distribution: pareto, mean: 12kB, shape: 1.2, most: 100kB}}}
sample: {tcp: 1s, queue: 1s}
"""
)


class Transfer(NamedTuple):
    start_ns: int
    end_ns: int | None
    size_bytes: int

    @property
    def time_s(self) -> float | None:
        return None if self.end_ns is None else (self.end_ns - self.start_ns) / S


class Ran(NamedTuple):
    """A run of one scenario, with what was stored of it."""

    document: dict[str, Any]
    path: Path
    db: Path

    @property
    def flows(self) -> dict[str, dict[str, Any]]:
        return {flow["name"]: flow for flow in self.document["flows"]}

    def goodputs_bps(self, flow: str) -> dict[str, float]:
        """Return the flow's goodput in each window."""
        return {
            name: next(each["goodput_bps"] for each in found["flows"] if each["name"] == flow)
            for name, found in self.document["windows"].items()
        }

    def transfers(self, flow: str) -> list[Transfer]:
        with Store.open_read_only(self.db) as store:
            found = store.load(self.document["id"]).transfers(flow)
        ends = [None if end != end else int(end) for end in found["end_ns"].tolist()]
        return [
            Transfer(*each)
            for each in zip(found["start_ns"].tolist(), ends, found["bytes"].tolist(), strict=True)
        ]

    def series(self, flow: str, end: int, *columns: str) -> dict[int, tuple[int, ...]]:
        """Return {time in ns: values} of the samples of one end."""
        with Store.open_read_only(self.db) as store:
            found = store.load(self.document["id"]).tcp(flow, end, ["time_ns", *columns])
        values = zip(*(found[column].tolist() for column in columns), strict=True)
        return dict(zip(found["time_ns"].tolist(), values, strict=True))


def ran(text: str, folder: Path, kernel: GuestKernel, *overrides: str, **options: Any) -> Ran:
    path, db = folder / "kinds.yaml", folder / "runs.db"
    path.write_text(text, encoding="utf-8")
    planned = plan(load(path, overrides))
    ids = run_plan(planned, RunOptions(db, Guest(kernel, **options)), Quiet())
    with Store.open_read_only(db) as store:
        (document,) = run_document.of_ids(store, ids)["runs"]
    assert document["status"] == "ok", document["error"]
    return Ran(document, path, db)


@pytest.fixture(scope="module")
def row(kernel: GuestKernel, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return ran(ROW, tmp_path_factory.mktemp("row"), kernel)


@pytest.fixture(scope="module")
def drawn(kernel: GuestKernel, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return ran(RANDOM, tmp_path_factory.mktemp("drawn"), kernel)


def frames(size_bytes: int) -> int:
    """Return the link-layer bytes of a message, in full-size segments with timestamps."""
    return size_bytes + 66 * -(-size_bytes // 1448)


def test_a_short_transfer_takes_its_round_trips_and_its_serialisation(row: Ran) -> None:
    """A round trip for the handshake, half of one for the data: ten segments go at once."""
    assert row.document["fidelity"]["verdict"] == "faithful", row.document["fidelity"]
    handshake_s = 2 * crossing_s(PATH, SYN_BYTES)
    expected_s = handshake_s + crossing_s(PATH, ACK_BYTES, *frames_of(10_000))
    transfers = row.transfers("short")
    assert [transfer.size_bytes for transfer in transfers] == [10_000] * 3
    assert [transfer.time_s for transfer in transfers] == pytest.approx([expected_s] * 3, abs=2e-6)
    # Behind the last byte the sender's FIN, half a round trip for the receiver's, and the gap.
    pauses_s = [(b.start_ns - (a.end_ns or 0)) / S for a, b in itertools.pairwise(transfers)]
    fin_s = ACK_BYTES * 8 / RATE_BPS + crossing_s(PATH, ACK_BYTES)
    assert pauses_s == pytest.approx([fin_s + 0.3] * 2, abs=2e-6)
    flow = row.flows["short"]
    assert flow["fct_mean_s"] == pytest.approx(expected_s, abs=2e-6)
    assert flow["goodput_bps"] == 30_000 * 8 / 40
    assert flow["congestion_control"] == "reno"


@pytest.mark.parametrize(("name", "size_bytes"), [("latency", 1000), ("latency-5k", 5000)])
def test_an_exchange_takes_a_round_trip_and_its_serialisation(
    row: Ran, name: str, size_bytes: int
) -> None:
    # The first response goes behind an ACK: a new connection acknowledges at once.
    # So does the first request, behind the handshake's ACK.
    first_s, later_s = (
        crossing_s(PATH, *before, 100 + ACK_BYTES)
        + crossing_s(PATH, *before, *frames_of(size_bytes))
        for before in ([ACK_BYTES], [])
    )
    transfers = row.transfers(name)
    assert [transfer.time_s for transfer in transfers] == pytest.approx(
        [first_s] + 4 * [later_s], abs=2e-6
    )
    pauses_s = [(b.start_ns - (a.end_ns or 0)) / S for a, b in itertools.pairwise(transfers)]
    assert pauses_s == pytest.approx([0.1] * 4, abs=1e-9)
    # The data are the responses: they go from the source, which is the server.
    assert row.flows[name]["goodput_bps"] == 5 * size_bytes * 8 / 40


def test_a_window_limits_the_rate_to_a_window_in_each_round_trip(row: Ran) -> None:
    """With delayed ACKs a round trip takes a frame longer."""
    idle_s = crossing_s(PATH, 1514) + crossing_s(PATH, ACK_BYTES)
    expected_bps = 64 * 1448 * 8 / (idle_s + FRAME_S)
    assert row.goodputs_bps("window")["window"] == pytest.approx(expected_bps, rel=0.003)
    (check,) = [
        each
        for each in row.document["fidelity"]["checks"]
        if each["name"].startswith("receive_window")
    ]
    assert (check["measured"], check["ok"]) == (64 * 1448, True)


def test_a_sender_that_is_off_sends_only_what_the_kernel_has_buffered(row: Ran) -> None:
    goodputs_bps = row.goodputs_bps("pausing")
    assert goodputs_bps["off-1"] == goodputs_bps["off-2"] == 0
    assert min(goodputs_bps["on-1"], goodputs_bps["on-2"]) > 0.3 * RATE_BPS
    sent = row.series("pausing", SENDER, "bytes_sent", "bytes_retrans")
    once = {time_ns: sent_bytes - again for time_ns, (sent_bytes, again) in sent.items()}
    for off_s in (16, 20):
        assert 0 <= once[off_s * S + 19 * S // 10] - once[off_s * S] <= 12 * 1448
    # On again: the initial window within a round trip, as after a time idle.
    assert once[18 * S] - once[18 * S - S // 10] == 10 * 1448


def test_uploads_follow_each_other(row: Ran) -> None:
    transfers = row.transfers("files")
    assert [transfer.size_bytes for transfer in transfers] == [100_000, 300_000, 100_000, 300_000]
    assert transfers[0].start_ns == 22 * S
    for before, after in itertools.pairwise(transfers):
        pause_s = (after.start_ns - (before.end_ns or 0)) / S
        assert pause_s == pytest.approx(0.5 + RTT_S / 2, abs=2e-4)
    # Slow start sends 10, 20 and 40 segments: 70 are 100 kB.
    for each in transfers[::2]:
        assert 3.5 * RTT_S + 40 * FRAME_S < (each.time_s or 0) < 3.5 * RTT_S + 60 * FRAME_S
    flow = row.flows["files"]
    assert flow["goodput_bps"] == 800_000 * 8 / 40
    mean_bps = sum(transfer.size_bytes * 8 / (transfer.time_s or 1) for transfer in transfers) / 4
    assert flow["transfer_goodput_mean_bps"] == pytest.approx(mean_bps)


def test_the_controls_of_a_campaign_take_turns(row: Ran) -> None:
    for name, first_s in (("reno", 30), ("westwood", 32)):
        transfers = row.transfers(f"turns-{name}")
        assert [transfer.start_ns for transfer in transfers] == [first_s * S, (first_s + 5) * S]
        for each in transfers:
            assert 2.0 < (each.time_s or 0) < 2.0 + 2 * RTT_S
        flow = row.flows[f"turns-{name}"]
        assert (flow["congestion_control"], flow["traffic"]) == (name, "campaign")
        total_bytes = sum(transfer.size_bytes for transfer in transfers)
        assert flow["goodput_bps"] == total_bytes * 8 / 40
        assert flow["transfer_goodput_ci95_bps"] is not None
    # A turn begins anew: the second is as the first.
    assert row.flows["turns-reno"]["transfer_goodput_ci95_bps"] == pytest.approx(0, abs=1)


def test_counters_include_all_connections(row: Ran) -> None:
    (received,) = row.series("files", RECEIVER, "bytes_received")[40 * S]
    sent = row.series("files", SENDER, "bytes_sent", "total_retrans_segments", "state")
    assert received == 800_000
    # None is open behind the last: the counters stay, and only the first and last row are kept.
    assert sent[40 * S] == (800_000, 0, 7)
    assert len([time_ns for time_ns in sent if time_ns > 28 * S]) == 1


@pytest.mark.long
def test_equal_seeds_give_equal_runs_with_any_sampling(
    row: Ran, drawn: Ran, kernel: GuestKernel, tmp_path: Path
) -> None:
    for text, first in ((ROW, row), (RANDOM, drawn)):
        again = ran(text, tmp_path, kernel, "sample={tcp: 30ms, queue: 7ms}", "measure=[]")
        assert again.document["digest"] == first.document["digest"]
    other = ran(RANDOM, tmp_path, kernel, "seed=6")
    assert other.document["digest"] != drawn.document["digest"]


def spec_of(run: Ran, flow: str) -> FlowSpec:
    flows = bed_spec(plan(load(run.path)).runs[0], 2**30)["flows"]
    return next(each for each in flows if each["name"] == flow)


def test_periods_and_arrivals_follow_from_the_flows_seed(drawn: Ran) -> None:
    assert drawn.document["fidelity"]["verdict"] == "faithful", drawn.document["fidelity"]
    spec = spec_of(drawn, "on-off")
    expected = [
        spec["start_ns"] + begin_ns
        for begin_ns, _end_ns in itertools.takewhile(
            lambda period: spec["start_ns"] + period[0] < 30 * S,
            periods(random.Random(spec["seed"]), spec["parameters"]),
        )
    ]
    assert [transfer.start_ns for transfer in drawn.transfers("on-off")] == expected
    assert len(expected) > 10

    spec = spec_of(drawn, "poisson")
    times, sizes = (random.Random(f"{spec['seed']}:{what}") for what in ("times", "sizes"))
    found = drawn.transfers("poisson")
    time_ns = spec["start_ns"]
    for each in found:
        time_ns += int(times.expovariate(5 / S))
        size_bytes = draw(sizes, spec["parameters"]["sizes"][0])
        assert each.start_ns == time_ns
        assert each.size_bytes == size_bytes or each.end_ns is None
    assert 100 < len(found) < 200


def test_bytes_of_many_connections_are_counted_exactly(drawn: Ran) -> None:
    for name in ("on-off", "poisson", "web", "back"):
        flow = drawn.flows[name]
        came_bytes = sum(transfer.size_bytes for transfer in drawn.transfers(name))
        assert flow["goodput_bps"] == pytest.approx(came_bytes * 8 / 30, abs=1e-3), name
        assert flow["retransmitted_segments"] > 0
        assert flow["congestion_control"] == "cubic"
    assert drawn.flows["web"]["rtt_mean_s"] is None
    assert len(drawn.series("web", SENDER, "bytes_sent")) <= 31


@pytest.mark.long
def test_web_traffic_makes_the_requested_load(kernel: GuestKernel, tmp_path: Path) -> None:
    """6700 responses of a deviation of 1.4 means: 5% are 2.4 standard errors."""
    run = ran(WEB, tmp_path, kernel)
    with Store.open_read_only(run.db) as store:
        stored = store.load(run.document["id"])
        sent = stored.queue_samples("bottleneck:forward:queue", ["bytes"])["bytes"].tolist()
    wire_bytes = sent[-1] - sent[0]
    assert wire_bytes * 8 / 20 == pytest.approx(0.3 * 100e6, rel=0.05)
    # To the byte, but for what was under way at the end: SYN, ACK, FIN and ACK of each connection.
    found = [
        transfer.size_bytes for transfer in run.transfers("web") if transfer.end_ns is not None
    ]
    expected = sum(frames(size_bytes) + 4 * 66 + 8 for size_bytes in found)
    assert wire_bytes == pytest.approx(expected, rel=0.003)
    assert run.document["fidelity"]["verdict"] == "faithful", run.document["fidelity"]


def test_a_flow_that_stops_leaves_its_transfers_unfinished(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    text = (
        HEAD
        + """\
duration: 6s
flows:
  - {name: files, group: a, stop: 2s, traffic: {kind: uploads, files: [10MB]}}
  - {name: web, group: a, stop: 2s, traffic: {kind: web, sessions: 3/s, response: 3MB}}
  - {name: late, group: a, start: 3s, traffic: {kind: transfers, size: 20MB}}
"""
    )
    run = ran(text, tmp_path, kernel)
    for name in ("files", "web", "late"):
        found = run.transfers(name)
        assert [each for each in found if each.end_ns is None], name
        came_bytes = sum(each.size_bytes for each in found)
        assert run.flows[name]["goodput_bps"] == pytest.approx(came_bytes * 8 / 6, abs=1e-3), name
