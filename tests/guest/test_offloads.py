"""Network cards of hosts: TSO, and small queues.

TCP's super-packets become frames before anything happens to them.

The kernel cuts them for a device without TSO by the same rules, at the same simulated time. So a
run with TSO must be equal to the bit to one without.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.guest.conftest import QUICKSTART, Run
from tests.support.failed_checks import failed_checks

pytestmark = pytest.mark.guest

TSO = "host.offloads=[tso]"
SHORT = ("duration=8s", "warmup=2s")
TUTORIAL = QUICKSTART.parent / "tutorial"
QUEUE = "topology.bottleneck.queue"


def check(document: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (one for one in document["fidelity"]["checks"] if one["name"] == name)
    assert isinstance(found, dict)
    return found


def cut(document: dict[str, Any]) -> tuple[int, int]:
    """Return how many super-packets became how many frames."""
    found = re.fullmatch(r"(\d+) became (\d+) frames", check(document, "super_packets")["detail"])
    assert found is not None
    return int(found[1]), int(found[2])


def is_equal(run: Run, *overrides: str, asked: str = TSO) -> float:
    """Compare a run with TSO with one without; return the frames of a mean super-packet."""
    without = run(*overrides)
    with_tso = run(*overrides, asked)
    assert failed_checks(without) == failed_checks(with_tso) == set(), with_tso["fidelity"]
    assert with_tso["digest"] == without["digest"]
    packets, frames = cut(with_tso)
    assert packets > 100
    return frames / packets


def test_every_frame_of_a_super_packet_is_queued_dropped_and_delayed_alone(run: Run) -> None:
    assert is_equal(run, *SHORT) >= 2  # at 10 Mbit/s the least of TCP, two segments


@pytest.mark.long
def test_one_host_alone_may_have_tso(run: Run) -> None:
    assert is_equal(run, *SHORT, asked="host.hosts.a_src0.offloads=[tso]") >= 2


@pytest.mark.long
@pytest.mark.parametrize(
    "overrides",
    [
        (f"{QUEUE}={{kind: codel, ecn: true}}", "tcp={ecn: true}"),
        (f"{QUEUE}={{kind: fq_codel}}",),
        (f"{QUEUE}={{kind: cake}}",),
        (f"{QUEUE}={{kind: red, limit: 100p, min: 10p, max: 30p, ecn: true}}", "tcp={ecn: true}"),
        ("topology.groups.a.access={rate: 100mbit, delay: 20ms, loss: 1%}",),
        ("topology.groups.a.access={rate: 100mbit, delay: 20ms, jitter: 2ms}",),
        ("topology.groups.a.access={rate: 100mbit, delay: 20ms, duplication: 1%}",),
        ("topology.groups.a.access={delay: 20ms, duplication: 1%}",),
        ("topology.groups.a.access={delay: 0s}",),
        ("topology.groups.a.access={rate: 100mbit, delay: 20ms, mtu: 9000}",),
    ],
)
def test_queues_impairments_and_mtus_see_the_same_frames(
    run: Run, overrides: tuple[str, ...]
) -> None:
    assert is_equal(run, *SHORT, *overrides) >= 2


@pytest.mark.long
@pytest.mark.parametrize("control", ["cubic", "bbr", "dctcp"])
def test_at_1_gbit_s_super_packets_are_large_and_frames_the_same(run: Run, control: str) -> None:
    """Linux sizes super-packets by the pacing rate: a millisecond of it, up to 64 kB."""
    frames = is_equal(
        run, "duration=2s", "warmup=1s",
        "topology.bottleneck={rate: 1gbit, delay: 1ms, queue: {kind: droptail, limit: 1bdp}}",
        "topology.groups=[{name: a, hosts: 1, access: {rate: 10gbit, delay: 1ms}}]",
        f"flows=[{{name: f, group: a, congestion: {control}}}]",
    )  # fmt: skip
    assert 20 < frames <= 45


# The sender's own link is the slowest of the path.
OWN_LINK = (
    "duration=4s", "warmup=2s",
    "topology.bottleneck.rate=200mbit",
    "topology.groups=[{name: a, hosts: 1, access: {rate: 100mbit, delay: 1ms}}]",
    "flows=[{name: f, group: a, congestion: cubic}]",
)  # fmt: skip
SMALL = "host.small_queues=true"


@pytest.mark.parametrize("offloads", ["[]", "[tso]"])
def test_small_queues_limit_what_a_host_has_in_its_own_link(run: Run, offloads: str) -> None:
    """TCP lets about 1/1024 s of its pacing rate, as truesize, wait in the card, and two buffers.

    See tcp_small_queue_check() of net/ipv4/tcp_output.c. The pacing rate is up to 1.2 times cwnd
    by RTT, and the truesize up to twice the length; so 5 ms are well above what may wait.
    """
    link, without = ("a_src0", "forward"), run(*OWN_LINK)
    found = run(*OWN_LINK, SMALL, f"host.offloads={offloads}")
    assert failed_checks(without) == failed_checks(found) == set(), found["fidelity"]
    waits, few = (queue_delay_s(document, *link) for document in (without, found))
    assert (waits > 0.05, 0.0005 < few < 0.005) == (True, True), (waits, few)
    goodputs = [document["flows"][0]["goodput_bps"] for document in (without, found)]
    assert goodputs[1] == pytest.approx(goodputs[0], rel=0.002)


def queue_delay_s(document: dict[str, Any], name: str, direction: str) -> float:
    (delay_s,) = (
        link["queue_delay_mean_s"]
        for link in document["links"]
        if (link["name"], link["direction"]) == (name, direction)
    )
    assert isinstance(delay_s, float)
    return delay_s


@pytest.mark.long
@pytest.mark.parametrize(
    "event",
    [
        "{at: 3s, link: a_src0, rate: 50mbit}",
        "{at: 3s, link: a_src0, state: hold}, {at: 3100ms, link: a_src0, state: up}",
        "{at: 3s, link: a_src0, state: down}, {at: 3100ms, link: a_src0, state: up}",
        "{at: 3s, link: a_src0, loss: 1%}",
    ],
)
def test_small_queues_go_on_when_the_own_link_changes(run: Run, event: str) -> None:
    found = [run(*OWN_LINK, SMALL, TSO, f"events=[{event}]") for _again in range(2)]
    assert failed_checks(found[0]) == set(), found[0]["fidelity"]
    assert found[0]["flows"][0]["goodput_bps"] > 20e6
    assert found[0]["digest"] == found[1]["digest"]


UNCUT = """
from orchestrator.protocol.links.qdisc import Setting
from orchestrator.testbed.network import link
name, index = bed.links["a_src0"].device("b")
link.change(bed.wires, index, [Setting("cuts", (13,), 0, "B").document()], name)
"""

NO_OWNER = UNCUT.replace('"cuts", (13,)', '"owned", (14,)')

NO_TSO = """
from orchestrator.testbed.network.ethtool import Ethtool
with bed.enter("b_src0"):
    Ethtool().set_offloads("eth0", on=False)
"""


@pytest.mark.parametrize(
    ("code", "failed", "detail"),
    [
        (UNCUT, {"super_packets", "settings_changed", "conservation"}, r"\d+ at a_src0:forward"),
        (NO_OWNER, {"settings_changed"}, "a_src0:forward: link owned is 0, requested was 1"),
        (NO_TSO, {"offloads_on"}, "gso of b_src0/eth0 is off, tso of b_src0/eth0 is off"),
    ],
)
def test_what_is_not_as_asked_is_found(
    run: Run, tmp_path: Path, code: str, failed: set[str], detail: str
) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(code, encoding="utf-8")
    document = run(*SHORT, TSO, SMALL, hook=hook)
    assert failed <= failed_checks(document), document["fidelity"]
    assert document["fidelity"]["verdict"] == "unfaithful"
    assert any(re.match(detail, check(document, name)["detail"]) for name in failed)
