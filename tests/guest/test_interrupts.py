"""Network cards that moderate interrupts, and kernels that merge what one brings (GRO).

Frames come from the bottleneck one by one. With a time T from the first of them to the interrupt,
and frames every s seconds, one interrupt brings floor(T / s) + 1 frames.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from results.store.store import Store
from tests.guest.conftest import Run
from tests.support.failed_checks import failed_checks

pytestmark = pytest.mark.guest

RATE_BPS, FRAME_BITS = 100_000_000, 1514 * 8
PATH = (
    "duration=3s", "warmup=1s", "sample.tcp=10ms",
    "topology.bottleneck={rate: 100mbit, delay: 2ms, queue: {kind: droptail, limit: 3000p}}",
    "topology.groups=[{name: a, hosts: 1, access: {rate: 1gbit, delay: 1ms}}]",
)  # fmt: skip
CUBIC = (*PATH, "flows=[{name: f, group: a, congestion: cubic}]")
UDP = (*PATH, "flows=[{name: f, group: a, traffic: {kind: cbr, rate: 90mbit, packet_size: 1500B}}]")
BOTH = "host={offloads: [tso, gro], coalesce: 1ms}"


def check(document: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (one for one in document["fidelity"]["checks"] if one["name"] == name)
    assert isinstance(found, dict)
    return found


def interrupts(document: dict[str, Any]) -> tuple[str, int, int, int]:
    """Return the card with most interrupts; frames, interrupts and drops of all cards."""
    detail = check(document, "interrupts")["detail"]
    found = re.fullmatch(
        r"most at (\S+); (\d+) frames in (\d+) interrupts of all cards, (\d+) dropped .*", detail
    )
    assert found is not None, detail
    return found[1], int(found[2]), int(found[3]), int(found[4])


def at_once(coalesce_s: float) -> int:
    return math.floor(coalesce_s / (FRAME_BITS / RATE_BPS)) + 1


@pytest.mark.parametrize(
    ("coalesce", "frames"),
    [("1ms", at_once(1e-3)), ("100us", 1), ("{time: 10ms, frames: 8}", 8)],
)
def test_an_interrupt_brings_what_came_since_the_first_frame(
    run: Run, coalesce: str, frames: int
) -> None:
    found = run(*CUBIC, f"host.hosts.a_dst0={{offloads: [gro], coalesce: {coalesce}}}")
    assert failed_checks(found) == set(), found["fidelity"]
    name, delivered, times, dropped = interrupts(found)
    assert (name, dropped) == ("a_dst0:forward", 0)
    assert delivered / times == pytest.approx(frames, rel=0.02)
    assert delivered > 20_000
    # One ACK for what an interrupt brings. Without GRO, and of single frames, for two segments.
    acks = found["flows"][0]["acks_per_segment"]
    assert acks == pytest.approx(min(0.5, 1 / frames), rel=0.1)


def ip_packets(db: Path, found: dict[str, Any]) -> tuple[int, int]:
    """Return the frames that came to the receiver, and the packets that its IP layer got."""
    with Store.open_read_only(db) as store:
        stored = store.load(found["id"])
        counted = stored.counter_series(stored.counter_names.place_of["a_dst0"])
    frames, packets = (counted[name][1][-1] for name in ("IpExt:InNoECTPkts", "Ip:InReceives"))
    return int(frames), int(packets)


def test_without_gro_each_segment_comes_alone_and_acks_wait_for_the_program(
    run: Run, db: Path
) -> None:
    """A receiver whose program has not read the first segments of an interrupt delays ACKs.

    The window is not larger yet then (__tcp_ack_snd_check() of net/ipv4/tcp_input.c).
    """
    plain, moderated = run(*CUBIC), run(*CUBIC, "host.hosts.a_dst0.coalesce=1ms")
    assert failed_checks(plain) == failed_checks(moderated) == set(), moderated["fidelity"]
    assert plain["flows"][0]["acks_per_segment"] == pytest.approx(0.5, rel=0.02)
    assert 1 / at_once(1e-3) < moderated["flows"][0]["acks_per_segment"] < 0.25
    for found in (plain, moderated):
        frames, packets = ip_packets(db, found)
        assert frames == packets


def test_a_full_ring_drops_what_does_not_fit_and_all_is_counted(run: Run) -> None:
    """Of frames that come every s seconds, each interrupt brings as many as the ring holds."""
    ring, spacing_s = 4, 1472 * 8 / 90e6
    came = math.floor(1e-3 / spacing_s) + 1
    found = run(*UDP, f"host.hosts.a_dst0={{coalesce: 1ms, ring: {ring}p}}")
    assert failed_checks(found) == set(), found["fidelity"]
    _name, delivered, times, dropped = interrupts(found)
    assert delivered / times == pytest.approx(ring, rel=0.001)
    assert dropped / times == pytest.approx(came - ring, rel=0.01)
    flow = found["flows"][0]
    assert flow["sent_packets"] - flow["received_packets"] == pytest.approx(
        flow["sent_packets"] * (came - ring) / came, rel=0.01
    )


@pytest.mark.long
@pytest.mark.parametrize("rate", ["100mbit", "1gbit"])
def test_what_a_kernel_merges_ends_where_the_senders_super_packet_does(
    run: Run, db: Path, rate: str
) -> None:
    """The last segment of a super-packet has PSH (__tcp_transmit_skb()), which ends a merged one.

    NAPI handles 64 frames at a time, and what is merged ends there, too. Between two such ends are
    n frames of super-packets of s frames: pieces of n / s + 1 - 1 / s of them, as their phase is
    even. None has 65 536 bytes or more (net/core/gro.c), so 45 segments of 1448 bytes at most.
    """
    asked = "host={offloads: [tso], hosts: {a_dst0: {offloads: [gro], coalesce: 10ms}}}"
    found = run(*CUBIC, asked, f"topology.bottleneck.rate={rate}", "duration=1500ms")
    assert failed_checks(found) == set(), found["fidelity"]
    packets, frames = map(int, re.findall(r"\d+", check(found, "super_packets")["detail"]))
    _name, delivered, times, _dropped = interrupts(found)
    size, batch = frames / packets, delivered / times
    pieces = batch / size + math.ceil(batch / 64) * (1 - 1 / size)
    came, merged = ip_packets(db, found)
    assert came / merged == pytest.approx(batch / pieces, rel=0.05)
    assert came / merged <= 45


@pytest.mark.long
@pytest.mark.parametrize(
    "override",
    [
        "topology.groups.a.access={rate: 1gbit, delay: 1ms, loss: 0.1%}",
        "topology.groups.a.access={rate: 1gbit, delay: 1ms, jitter: 200us}",
        "topology.groups.a.access={delay: 0s}",
        "topology.groups.a.access={rate: 1gbit, delay: 1ms, duplication: 1%}",
        "topology.bottleneck.corruption=0.1%",
        "events=[{at: 2s, link: a_dst0, state: down}, {at: 2100ms, link: a_dst0, state: up}]",
        "topology.bottleneck.queue={kind: fq_codel}",
    ],
)
def test_all_is_counted_on_links_with_impairments_too(run: Run, override: str) -> None:
    asked = BOTH.replace("tso, ", "") if "corruption" in override else BOTH
    found = run(*CUBIC, override, asked)
    assert failed_checks(found) == set(), found["fidelity"]
    assert interrupts(found)[1] > 1000


def test_equal_runs_give_equal_bits(run: Run) -> None:
    digests = {run(*CUBIC, BOTH)["digest"] for _again in range(3)}
    assert len(digests) == 1


OTHER = """
from orchestrator.protocol.links.qdisc import Setting
from orchestrator.testbed.network import link
name, index = bed.links["a_dst0"].device("b")
link.change(bed.wires, index, [Setting({}).document()], name)
"""
NO_GRO = """
from orchestrator.testbed.network.ethtool import Ethtool
with bed.enter("a_dst0"):
    Ethtool().set_offloads("eth0", on=False)
"""


@pytest.mark.parametrize(
    ("code", "failed", "detail"),
    [
        (
            OTHER.format('"coalesce_ns", (15,), 1000, "Q"'),
            {"interrupts", "settings_changed", "base_rtt", "base_rtt_end"},
            r"a_dst0:forward: link coalesce_ns is 1000, requested was 1000000",
        ),
        (
            OTHER.format('"ring_packets", (17,), 3'),
            {"settings_changed"},
            r"a_dst0:forward: link ring_packets is 3, requested was 0",
        ),
        (NO_GRO, {"offloads_on"}, r"gro of a_dst0/eth0 is off"),
    ],
)
def test_what_is_not_as_asked_is_found(
    run: Run, tmp_path: Path, code: str, failed: set[str], detail: str
) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(code, encoding="utf-8")
    document = run(*CUBIC, "host={offloads: [gro], coalesce: 1ms}", hook=hook)
    assert failed <= failed_checks(document), document["fidelity"]
    assert document["fidelity"]["verdict"] == "unfaithful"
    assert any(re.search(detail, check(document, name)["detail"]) for name in failed)
