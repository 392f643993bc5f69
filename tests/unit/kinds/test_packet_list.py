"""Lists of packets to lose: how they are written, refused, stored and described."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from orchestrator.kinds.losses.packet_list import PacketList
from orchestrator.planning.network import network_json
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.links.chosen import MOST_RANGES, ChosenPackets
from orchestrator.protocol.links.netem import IndependentLoss
from orchestrator.scenario import load
from tests.support.smallest import LINK_LINE, link_faults

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"


def run(text: str) -> RunSpec:
    return plan(load(QUICKSTART, [f"topology.bottleneck.loss={text}"])).runs[0]


def model(text: str) -> PacketList:
    """The forward loss of the quickstart's bottleneck."""
    found = run(text).network.links[0].forward.loss
    assert isinstance(found, PacketList)
    return found


@pytest.mark.parametrize(
    ("text", "chosen", "described"),
    [
        ("packets: [10]", ChosenPackets(((10, 10),)), "packet 10"),
        (
            "packets: [10, 20-25, 100]",
            ChosenPackets(((10, 10), (20, 25), (100, 100))),
            "packets 10, 20-25, 100",
        ),
        (
            "packets: [1-2, 3], flow: reno, count: data",
            ChosenPackets(((1, 2), (3, 3)), "reno", True),
            "packets 1-2, 3 with data of reno",
        ),
        ("packets: [4294967295]", ChosenPackets(((2**32 - 1, 2**32 - 1),)), "packet 4294967295"),
    ],
)
def test_a_list_has_numbers_and_ranges(text: str, chosen: ChosenPackets, described: str) -> None:
    found = model(f"{{kind: list, {text}}}")
    assert (found.chosen, found.described) == (chosen, described)
    assert found.caption == f"loses {described}"
    written = found.model_dump(mode="json", exclude_none=True)
    assert PacketList.model_validate(written) == found


def test_a_list_is_no_loss_by_chance() -> None:
    found = model("{kind: list, packets: [3, 5-9]}")
    assert (found.mean, found.state_losses, found.states_per_s) == (0.0, (), 0.0)
    assert found.impairment() == IndependentLoss(0.0)
    assert found.drops(10**6, 1e-6) == (0, 0)
    assert found.loses


def test_a_channel_with_a_list_is_impaired_and_one_without_losses_is_not() -> None:
    spec = run("{forward: {kind: list, packets: [3]}, reverse: 0}")
    forward, reverse = spec.network.links[0].forward, spec.network.links[0].reverse
    assert (forward.loses, forward.impaired, reverse.loses) == (True, True, False)
    assert (forward.chosen, reverse.chosen) == ((ChosenPackets(((3, 3),)),), ())


def test_a_stored_network_has_its_lists() -> None:
    network = run("{kind: list, packets: [3, 5-9], count: data}").network
    stored = network_json.decode(network_json.encode(network))
    assert dataclasses.asdict(stored) == dataclasses.asdict(network)


FORM = "write 7, or a range such as 20-25"
REFUSED = [
    # what is written behind `loss: {kind: list, `, the column of the fault, and its message
    ("packets: []", 33, "must have at least 1 item"),
    ("packets: 10", 33, "must be a list, not `10`"),
    ("packets: [0]", 34, "there is no packet 0: the first packet has the number 1"),
    ("packets: [-3]", 34, f"`-3` is no packet's number: {FORM}"),
    ("packets: [1.5]", 34, f"`1.5` is no packet's number: {FORM}"),
    ("packets: [banana]", 34, f"`banana` is no packet's number: {FORM}"),
    ("packets: [true]", 34, f"`true` is no packet's number: {FORM}"),
    ("packets: [5-]", 34, f"`5-` is no packet's number: {FORM}"),
    ("packets: [1, 9-7]", 37, "ends before it begins: write 7-9"),
    ("packets: [4294967296]", 34, "a packet's number may be 4294967295 at most"),
    ("packets: [5, 5]", 37, "5 must be above 5: numbers ascend, and each is given once"),
    ("packets: [5-9, 9-12]", 39, "9-12 must be above 5-9: numbers ascend"),
    ("packets: [10, 3]", 38, "3 must be above 10: numbers ascend"),
    ("packets: [3], count: acks", 45, "`acks` is not valid; valid: all, data"),
    ("packets: [3], flows: f", 38, "unknown key `flows`"),
    ("packets: [3], flow: g", 44, "there is no flow `g`; the flows are: f"),
    ("count: data", 11, "`packets` is missing"),
]


@pytest.mark.parametrize(("text", "column", "message"), REFUSED, ids=[each[0] for each in REFUSED])
def test_a_wrong_list_is_refused_at_its_place(
    tmp_path: Path, text: str, column: int, message: str
) -> None:
    reported = link_faults(tmp_path, f"loss: {{kind: list, {text}}}")
    assert {place: message in told for place, told in reported.items()} == {
        (LINK_LINE, column): True
    }


def test_a_list_has_as_many_ranges_as_the_kernel_takes(tmp_path: Path) -> None:
    numbers = [2 * number for number in range(1, MOST_RANGES + 1)]
    assert len(model(f"{{kind: list, packets: {numbers}}}").chosen.ranges) == MOST_RANGES
    reported = link_faults(tmp_path, f"loss: {{kind: list, packets: {[*numbers, 1000]}}}")
    assert reported == {(LINK_LINE, 33): f"must have {MOST_RANGES} items at most, not 257"}
