"""``explain`` names planted causes, and none that is not there."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.recording.model import SENDER
from results.store.store import Store
from tests.support.run import orchestrator

pytestmark = pytest.mark.guest

SCENARIO = """\
version: 1
name: planted
description: One flow and one cause.
duration: {duration}
warmup: 500ms
topology:
  kind: dumbbell
  bottleneck: {bottleneck}
  groups: [{{name: a, access: {{rate: 1gbit, delay: 5ms}}}}]
flows:
  - {{name: mine, group: a, congestion: {congestion}, traffic: {traffic}}}
"""
MSS_BYTES = 1448
WIDE = "{rate: 20mbit, delay: 20ms, queue: {limit: 2000p}}"


@dataclass(frozen=True)
class Planted:
    """A scenario with a cause, and the kinds of all moments that it may have."""

    kinds: set[str]
    says: str
    bottleneck: str = WIDE
    congestion: str = "reno"
    traffic: str = "{kind: bulk}"
    duration: str = "4s"
    more: str = ""

    @property
    def text(self) -> str:
        """The scenario."""
        return self.more + SCENARIO.format(**vars(self))


def small(packets: int) -> str:
    return f"{{kind: bulk, window: {packets}p}}"


def losing(direction: str, packets: str) -> str:
    of = ", flow: mine, count: data" if direction == "forward" else ""
    other = "reverse" if direction == "forward" else "forward"
    return (
        f"{{rate: 20mbit, delay: 20ms, queue: {{limit: 2000p}}, loss: {{{other}: 0, "
        f"{direction}: {{kind: list, packets: [{packets}]{of}}}}}}}"
    )


STEPS = "{kind: red, limit: 500p, min: 20p, max: 20p, weight: 1, ecn: true}"
HELD = "receive window"
"""A flow with a small window is held back by it, whatever else happens."""

CAUSES = {
    "full queue": Planted(
        {"full queue", "fast recovery"},
        "the queue of bottleneck:forward was full (20 packets)",
        "{rate: 20mbit, delay: 20ms, queue: {limit: 20p}}",
    ),
    "lost retransmission": Planted(
        {"loss by number", "fast recovery", "lost retransmission", "timeout", HELD},
        "a retransmission of mine was taken for lost, too",
        losing("forward", "1000, 1120"),
        traffic=small(120),
    ),
    "lost ACKs": Planted(
        {"loss by number (ACKs)", "tail loss probe", "needless retransmission", HELD},
        "30 ACKs of mine were lost",
        losing("reverse", "500-529"),
        traffic=small(60),
    ),
    "PAWS": Planted(
        {"PAWS drop", HELD},
        "segments with an old time stamp (PAWS)",
        "{rate: 20mbit, delay: 20ms, queue: {limit: 2000p}, "
        "jitter: {forward: 0ms, reverse: {spread: 8ms, keep_order: false}}}",
        traffic=small(60),
    ),
    "receive window": Planted(
        {HELD}, "the receive window (43440 bytes) held mine back", traffic=small(30)
    ),
    "spurious timeout": Planted(
        {"tail loss probe", "spurious timeout", "undo", "needless retransmission", HELD},
        "it was spurious",
        traffic=small(60),
        more="events: [{at: 2s, link: bottleneck, delay: 900ms}]\n",
    ),
    "policer": Planted(
        {"policer", "fast recovery"},
        "a policer dropped",
        "{rate: 100mbit, delay: 20ms, policer: {forward: {rate: 10mbit, burst: 60kB}}}",
    ),
    "early mark": Planted(
        {"mark", "ECN reaction"},
        "red at bottleneck:forward marked",
        f"{{rate: 20mbit, delay: 20ms, queue: {STEPS}}}",
        congestion="dctcp",
    ),
    "idle restart": Planted(
        {"idle restart"},
        "sent again after a pause longer than its RTO",
        "{rate: 20mbit, delay: 20ms, queue: {limit: 5000p}}",
        traffic="{kind: onoff, on: 700ms, off: 700ms}",
    ),
    "lost SYN": Planted(
        {"handshake", "loss by number", HELD},
        "a SYN was lost (loss by number at bottleneck:forward); the SYN timer ran out after "
        "1000 ms; the SYN was sent again 1 time; the connection was established at 1.0",
        WIDE.replace("}}", "}, loss: {reverse: 0, forward: {kind: list, packets: [1]}}}"),
        traffic=small(60),
    ),
    "lost SYN-ACK": Planted(
        {"handshake", "loss by number", HELD},
        "1 SYN-ACK of mine was lost",
        losing("reverse", "1"),
        traffic=small(60),
    ),
    "HyStart": Planted(
        {"HyStart"},
        "HyStart ended slow start of mine",
        "{rate: 50mbit, delay: 75ms, queue: {limit: 5000p}}",
        congestion="cubic",
    ),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs of :func:`explained` are."""
    return tmp_path_factory.mktemp("explained") / "runs.db"


@pytest.fixture(scope="module")
def explained(store: Path) -> dict[str, dict[str, Any]]:
    """What ``explain`` says of a run with each cause."""
    folder, db = store.parent, str(store)
    said = {}
    for name, planted in CAUSES.items():
        file = folder / f"{name.replace(' ', '-')}.yaml"
        file.write_text(planted.text)
        made = orchestrator("run", str(file), "--db", db, "--json")
        assert made.exit_code == 0, made.stderr
        told = orchestrator("explain", "last", "--db", db, "--json")
        assert told.exit_code == 0, told.stderr
        said[name] = json.loads(told.stdout)
    return said


@pytest.mark.parametrize("name", CAUSES)
def test_a_planted_cause_is_named(explained: dict[str, dict[str, Any]], name: str) -> None:
    (flow,) = explained[name]["flows"]
    assert any(CAUSES[name].says in moment["text"] for moment in flow["moments"]), flow


@pytest.mark.parametrize("name", CAUSES)
def test_no_cause_is_named_that_is_not_there(
    explained: dict[str, dict[str, Any]], name: str
) -> None:
    (flow,) = explained[name]["flows"]
    assert set(flow["counts"]) == CAUSES[name].kinds


@pytest.mark.parametrize("name", CAUSES)
def test_each_sentence_has_rows_behind_it(explained: dict[str, dict[str, Any]], name: str) -> None:
    (flow,) = explained[name]["flows"]
    assert all(sum(moment["evidence"].values()) > 0 for moment in flow["moments"])


def test_the_receive_window_is_told_to_limit_the_time(
    explained: dict[str, dict[str, Any]],
) -> None:
    (held,), (free,) = (explained[name]["flows"] for name in ("receive window", "full queue"))
    assert held["limits_shown_by"] == free["limits_shown_by"] == "samples"
    assert held["limited_by"]["receive window"] > 0.9
    assert free["limited_by"]["receive window"] < 0.1
    assert free["limited_by"]["congestion window"] > 0.9


def test_the_time_of_a_lost_handshake_is_neither_the_application_s_nor_free(
    explained: dict[str, dict[str, Any]], store: Path
) -> None:
    run = explained["lost SYN"]
    (flow,) = run["flows"]
    (shaken,) = (each for each in flow["moments"] if each["kind"] == "handshake")
    took_s = (shaken["until_ns"] - shaken["time_ns"]) / 1e9
    assert 1 < took_s < 1.2
    assert flow["limited_by"]["handshake"] == pytest.approx(took_s / 4, abs=0.002)
    assert flow["limited_by"]["application"] < 0.01
    event = flow["costliest"][0]
    assert {flow["moments"][at]["kind"] for at in event["moments"]} >= {"handshake"}
    with Store.open_read_only(store) as opened:
        samples = opened.load(run["run"]).tcp("mine", SENDER, ["delivered_segments"])
    got = samples["delivered_segments"][-1] * MSS_BYTES
    assert event["cost_bytes"] == pytest.approx(got / (4 - took_s) * (took_s - 0.05), rel=0.03)


def test_the_timeout_after_a_lost_retransmission_cost_most(
    explained: dict[str, dict[str, Any]], store: Path
) -> None:
    """From its begin to its end it costs what the receiver did not get."""
    run = explained["lost retransmission"]
    (flow,) = run["flows"]
    event = flow["costliest"][0]
    kinds = {flow["moments"][at]["kind"] for at in event["moments"]}
    assert {"loss by number", "fast recovery", "lost retransmission", "timeout"} <= kinds
    with Store.open_read_only(store) as opened:
        samples = opened.load(run["run"]).tcp("mine", SENDER, ["time_ns", "delivered_segments"])
    times_ns = [event["time_ns"], event["until_ns"]]
    at = np.searchsorted(samples["time_ns"], times_ns)
    got = np.diff(samples["delivered_segments"][at])[0] * MSS_BYTES
    wanted = event["level_bps"] / 8 * np.diff(samples["time_ns"][at])[0] / 1e9
    assert wanted - got == pytest.approx(event["cost_bytes"], rel=0.1)
    assert event["level_bps"] == pytest.approx(20e6 * MSS_BYTES / 1514, rel=0.02)


def gained(run: str, store: Path, file: Path) -> dict[str, int]:
    """What nstat prints of the sender of a run."""
    words = ["export", run, "--at", "a_src0", "-o", str(file), "--db", str(store)]
    assert orchestrator(*words).exit_code == 0
    header, *lines = file.read_text().splitlines()
    assert header == "#kernel"
    return {name: int(value) for name, value, _rate in map(str.split, lines)}


def test_counters_as_nstat_prints_them_are_those_of_the_moments(
    explained: dict[str, dict[str, Any]], store: Path, tmp_path: Path
) -> None:
    run = explained["lost retransmission"]
    (flow,) = run["flows"]
    by_name = gained(run["run"], store, tmp_path / "sender.nstat")
    assert by_name["TcpExtTCPSackRecovery"] == flow["counts"]["fast recovery"]
    assert by_name["TcpExtTCPTimeouts"] == flow["counts"]["timeout"]
    assert by_name["TcpExtTCPLostRetransmit"] == sum(
        moment["numbers"]["by"]
        for moment in flow["moments"]
        if moment["kind"] == "lost retransmission"
    )
    of_syn = gained(explained["lost SYN"]["run"], store, tmp_path / "syn.nstat")
    assert of_syn == {"TcpExtTCPTimeouts": 1, "TcpExtTCPSynRetrans": 1}


def test_two_runs_are_compared(explained: dict[str, dict[str, Any]], store: Path) -> None:
    first, second = (explained[name]["run"] for name in ("full queue", "receive window"))
    told = orchestrator("explain", first, "--against", second, "--db", str(store), "--json")
    assert told.exit_code == 0, told.stderr
    (compared,) = json.loads(told.stdout)["comparisons"]
    assert {each["kind"] for each in compared["only_first"]} == {"full queue", "fast recovery"}
    assert {each["kind"] for each in compared["only_second"]} == {HELD}


def test_a_moment_near_the_end_is_explained_as_far_as_the_run_goes(
    explained: dict[str, dict[str, Any]], store: Path
) -> None:
    run = explained["full queue"]["run"]
    near = orchestrator("explain", run, "--at", "3.9s", "--db", str(store), "--json")
    assert near.exit_code == 0, near.stderr
    document = json.loads(near.stdout)
    assert (document["from_ns"], document["to_ns"]) == (3_400_000_000, 4_000_000_000)
    after = orchestrator("explain", run, "--at", "4.1s", "--db", str(store))
    assert after.exit_code == 2
    assert "--at 4.1s: the run goes from 0s to 4s" in after.stderr


def test_of_two_traces_the_one_that_knows_the_packets_in_the_queue_is_read(
    tmp_path: Path,
) -> None:
    file, db = tmp_path / "full.yaml", tmp_path / "runs.db"
    other = "  - {name: other, group: a, congestion: reno, traffic: {kind: bulk}}\n"
    file.write_text(CAUSES["full queue"].text + other)
    ended = orchestrator("run", str(file), "--db", str(db))
    assert ended.exit_code == 0, ended.stderr
    window = ("--window", "0s..4s")

    def told(*words: str) -> str:
        ended = orchestrator("explain", "last", *words, "--db", str(db))
        assert ended.exit_code == 0, ended.stderr
        return ended.stdout

    of_whom = re.compile(r"was full \(20 packets, \d+ of them of (mine|other)\)")
    for words in ((), window):
        assert "was full (20 packets);" in told(*words)
    closer = orchestrator("zoom", "last", *window, "--trace", "tcp,acks,queue", "--db", str(db))
    assert closer.exit_code == 0, closer.stderr
    for words in ((), window):
        assert of_whom.search(told(*words))


def test_the_time_of_bbr_is_told_to_be_paced_and_that_of_cubic_not(tmp_path: Path) -> None:
    file, db = tmp_path / "paced.yaml", tmp_path / "runs.db"
    text = CAUSES["full queue"].text.replace("queue: {limit: 20p}", "queue: {limit: 100p}")
    shares: dict[str, float] = {}
    for congestion in ("bbr", "cubic"):
        file.write_text(text.replace("congestion: reno", f"congestion: {congestion}"))
        ended = orchestrator("run", str(file), "--db", str(db))
        assert ended.exit_code == 0, ended.stderr
        told = orchestrator("explain", "last", "--db", str(db), "--json")
        assert told.exit_code == 0, told.stderr
        (flow,) = json.loads(told.stdout)["flows"]
        shares[congestion] = flow["paced_share"]
        assert flow["goodput_bps"] > 1e6
        assert flow["cwnd_mean_segments"] > 10
    assert shares["bbr"] > 0.5
    assert shares["cubic"] < 0.05
