"""Packets that a link loses by their numbers: which ones, what counts, and what the checks see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.guest.conftest import Run
from tests.support.failed_checks import failed_checks
from tests.support.openloop import Send
from tests.support.openloop import send as send

__all__ = ["send"]

pytestmark = pytest.mark.guest

# Two flows whose windows fill no queue, so that nothing but the lists loses packets.
SCENARIO = """
version: 1
name: chosen
duration: 6s
topology:
  kind: dumbbell
  bottleneck: {rate: 20mbit, delay: 5ms, queue: {limit: 200p}}
  groups: [{name: a, hosts: 2, access: {delay: 1ms}}]
flows:
  - {name: one, group: a, congestion: reno, traffic: {kind: bulk, window: 20p}}
"""
LOSS = "topology.bottleneck.loss"

# The kernel refuses lists that are not valid, and says why.
INVALID = """
from orchestrator.protocol.links import chosen
from orchestrator.testbed.kernel import netlink
from orchestrator.testbed.network.queues import qdisc

def refused(packed, *more):
    options = netlink.attribute(8, packed) if packed is not None else b""
    name, index = bed.links["bottleneck"].device("b")
    qdisc.change_root(bed.wires, index, "link", options + b"".join(more), "list")
    try:
        bed.wires.flush()
    except netlink.NetlinkError as error:
        print("refused", error.errno, error.strerror, flush=True)

def words(*numbers):
    return b"".join(number.to_bytes(4, "little") for number in numbers)

refused(words(0, 1))
refused(words(5, 4))
refused(words(1, 5, 5, 6))
refused(words(1, 5, 7))
refused(words(*(number for place in range(257) for number in (2 * place + 1,) * 2)))
refused(None, netlink.attribute(9, (5001).to_bytes(2, "little")))
refused(words(1, 1), netlink.attribute(10, bytes([2])))
"""


def checks_of(document: dict[str, Any]) -> dict[str, Any]:
    return {check["name"]: check for check in document["fidelity"]["checks"]}


def test_exactly_the_listed_datagrams_are_lost(send: Send) -> None:
    """Probes and set-up do not count: the first datagram is the first packet."""
    passed = send(
        "loss={forward: {kind: list, packets: [1, 10, 20-25, 1999, 2000]}, reverse: 0}",
        count=2000,
        before=INVALID,
    )
    assert passed.lost.nonzero()[0].tolist() == [0, 9, *range(19, 25), 1998, 1999]
    assert passed.check("loss by number bottleneck:forward") is True
    assert passed.recording.verdict == "faithful"
    refused = [line for line in passed.recording.log.split("\n") if line.startswith("refused ")]
    ascend = "refused 22 list: packets to lose must ascend from 1, each number once"
    assert refused[:4] == [
        *[ascend] * 3,
        "refused 22 list: packets to lose are pairs of 32-bit numbers",
    ]
    assert refused[5] == "refused 22 list: a port or data only go with packets to lose"
    # ERANGE of the attributes' policies: more than 256 pairs, and no flag.
    assert refused[4].startswith("refused 34 list: ")
    assert refused[6].startswith("refused 34 list: ")


def test_segments_of_one_flow_are_lost_and_a_later_list_counts_anew(
    run: Run, tmp_path: Path
) -> None:
    scenario = tmp_path / "chosen.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    first = "{kind: list, packets: [1, 500-502], flow: 'one[1]', count: data}"
    acks = "{kind: list, packets: [1-4294967295], flow: 'one[0]', count: data}"
    later = "{kind: list, packets: [1, 3], flow: 'one[0]', count: data}"
    document = run(
        f"{LOSS}={{forward: {first}, reverse: {acks}}}",
        f"events=[{{at: 4s, link: bottleneck, direction: forward, loss: {later}}}]",
        scenario=scenario,
    )
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    again = {flow["name"]: flow["retransmitted_segments"] for flow in document["flows"]}
    assert again == {"one[0]": 2, "one[1]": 4}
    checks = checks_of(document)
    forward, reverse = (
        checks[f"loss by number bottleneck:{way}"] for way in ("forward", "reverse")
    )
    assert (forward["measured"], forward["expected"]) == (6, 6)
    # ACKs have no payload.
    assert (reverse["measured"], reverse["expected"]) == (0, 0)
    assert reverse["detail"].startswith("0 lost of 0 packets that count")


BEGUN = """
from orchestrator.protocol.links import chosen
from orchestrator.testbed.network.chosen_losses import ChosenLosses
begin = ChosenLosses.begin
def set_list(losses, ranges):
    settings = chosen.settings(chosen.ChosenPackets(ranges), 0)
    losses._set("bottleneck:forward", [each.document() for each in settings])
    losses._route.flush()
def changed(losses):
"""
BROKEN = {
    "another packet in the kernel": (
        {"loss", "settings_changed"},
        BEGUN + "    begin(losses)\n    set_list(losses, ((10, 10), (20, 26)))\n",
    ),
    "another list in the specification": (
        {"loss"},
        """
setting = bed.links["bottleneck"].spec["forward"]["chosen"][0]
setting["value"] = setting["expected"] = setting["value"][:-16] + "1400000018000000"
""",
    ),
    "no list": ({"loss"}, BEGUN + "    pass\n"),
    "a loss by chance beside the list": (
        {"loss", "settings_changed"},
        """
from orchestrator.protocol.links.netem import IndependentLoss, loss_settings
from orchestrator.testbed.network.queues import qdisc
link = bed.links["bottleneck"]
name, index = link.device("b")
new = loss_settings(IndependentLoss(0.01))[0].document()
settings = [new if one["name"] == new["name"] else one
            for one in link.spec["forward"]["netem"]["settings"]]
netem = {**link.spec["forward"]["netem"], "settings": settings}
qdisc.add_netem(bed.wires, index, netem, name, change=True)
bed.wires.flush()
""",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_list_that_is_not_as_requested_fails_its_check(
    run: Run, tmp_path: Path, what: str
) -> None:
    checks, code = BROKEN[what]
    scenario, hook = tmp_path / "chosen.yaml", tmp_path / "hook.py"
    scenario.write_text(SCENARIO, encoding="utf-8")
    ending = "ChosenLosses.begin = changed\n" if code.startswith(BEGUN) else ""
    hook.write_text(code + ending, encoding="utf-8")
    edit = f"{LOSS}={{forward: {{kind: list, packets: [10, 20-25]}}, reverse: 0}}"
    document = run(edit, "duration=2s", scenario=scenario, hook=hook)
    assert checks == failed_checks(document), document["fidelity"]
    assert document["fidelity"]["verdict"] == "unfaithful"
