"""The check of packets that are lost by their numbers, and others beside it."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.fidelity import check_duplication, check_loss
from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol.links import chosen
from orchestrator.protocol.links.chosen import ChosenPackets
from orchestrator.recording.model import Check
from tests.support.checks import evidence, sample

LIST = "{kind: list, packets: [10, 20-25, 100], flow: reno, count: data}"
CHOSEN = ChosenPackets(((10, 10), (20, 25), (100, 100)), "reno", True)


def told(
    packets: int, lost: int, given: ChosenPackets = CHOSEN, port: int = 5002
) -> tuple[Any, ...]:
    """What the bed reports of a list."""
    packed, _port, data_only = (setting.value for setting in chosen.settings(given, port))
    return packed, port, data_only, packets, lost


def timeline(*lists: tuple[Any, ...], **values: Any) -> list[dict[str, Any]]:
    fact = {"fact": "timeline", "steps": 0, "netem_changes": {}, "impairments": {}, **values}
    return [{**fact, "chosen_losses": {"bottleneck:forward": list(lists)} if lists else {}}]


def run(facts: list[dict[str, Any]], drops: int, *overrides: str, loss: str = LIST) -> Evidence:
    """Evidence of a netem of the bottleneck that passed 500 packets."""
    rows = [sample(0, 0), sample(0, 1, packets=500, drops=drops), sample(0, 2)]
    asked = f"topology.bottleneck.loss={{forward: {loss}, reverse: 0}}"
    return evidence(facts, rows, overrides=(asked, *overrides))


def checks(found: Evidence) -> dict[str, Check]:
    return {check.name: check for check in check_loss.check(found)}


@pytest.mark.parametrize(
    ("packets", "lost", "ok", "detail"),
    [
        (400, 8, True, "8 lost of 400 packets that count"),
        (100, 8, True, "8 lost of 100 packets that count"),
        (400, 7, False, "7 lost of 400 packets that count"),
        (400, 9, False, "9 lost of 400 packets that count"),
        (
            22,
            4,
            True,
            "4 lost of 22 packets that count; 4 of the 8 chosen packets were reached",
        ),
        (22, 8, False, "8 lost of 22 packets that count; 4 of the 8 chosen packets were reached"),
        (0, 0, True, "0 lost of 0 packets that count; 0 of the 8 chosen packets were reached"),
    ],
)
def test_the_chosen_packets_that_were_reached_must_be_lost(
    packets: int, lost: int, ok: bool, detail: str
) -> None:
    by_name = checks(run(timeline(told(packets, lost)), drops=lost))
    check = by_name["loss by number bottleneck:forward"]
    assert (check.ok, check.measured, check.tolerance) == (ok, lost, 0)
    assert check.detail == detail
    assert by_name["loss elsewhere"].ok is True


def test_a_loss_by_chance_beside_the_list_is_seen() -> None:
    by_name = checks(run(timeline(told(400, 8)), drops=9))
    assert by_name["loss by number bottleneck:forward"].ok is True
    elsewhere = by_name["loss elsewhere"]
    assert (elsewhere.ok, elsewhere.detail[:6]) == (False, "1 of 5")


@pytest.mark.parametrize(
    "given",
    [
        told(400, 8, CHOSEN._replace(ranges=((10, 17),))),
        told(400, 8, CHOSEN._replace(data_only=False)),
        told(400, 8, port=0),
    ],
    ids=["other packets", "all count", "of all flows"],
)
def test_a_list_that_nobody_asked_for_is_seen(given: tuple[Any, ...]) -> None:
    by_name = checks(run(timeline(given), drops=8))
    assert by_name["loss by number bottleneck:forward"].ok is False


def test_a_link_without_the_list_is_seen() -> None:
    check = checks(run(timeline(), drops=0))["loss by number bottleneck:forward"]
    assert (check.ok, check.detail) == (False, "the link had no list")


def test_each_list_is_judged_by_itself() -> None:
    event = "events=[{at: 2s, link: bottleneck, direction: forward, loss: %s}]"
    later = ChosenPackets(((1, 5),))
    edit = event % "{kind: list, packets: [1-5]}"
    spans = {"impairments": {"bottleneck:forward": [[{"loss_q32": 0}, 500, 0, 0]]}}
    for lost, ok in (((8, 5), True), ((7, 6), False)):
        lists = told(400, lost[0]), told(50, lost[1], later, port=0)
        by_name = checks(run(timeline(*lists, **spans), 13, edit))
        assert by_name["loss by number bottleneck:forward"].ok is ok
        assert by_name["loss bottleneck:forward"].ok is True
    ended = told(400, 8), told(0, 0, chosen.NOTHING, port=0)
    by_name = checks(run(timeline(*ended, **spans), 8, event % "0"))
    assert by_name["loss by number bottleneck:forward"].ok is True


def test_packets_lost_by_number_never_came_to_be_duplicated() -> None:
    rows = [sample(0, 0), sample(0, 1), sample(0, 2)]
    rows += [sample(1, 0, packets=100_008), sample(1, 1, packets=101_000, drops=8)]
    asked = f"topology.bottleneck.loss={{forward: {LIST}, reverse: 0}}"
    found = evidence(
        timeline(told(100_008, 8)),
        rows,
        overrides=(asked, "topology.bottleneck.duplication=1%"),
    )
    (check,) = check_duplication.check(found)
    assert check.detail.startswith("1000 of 100000 packets")
    assert check.ok is True
