"""A report card from real runs: facts that are known, and a module that never backs off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guest.build import GuestKernel
from orchestrator.evaluation import loading
from results.contract.evaluations import Card
from results.documents import card_library
from tests.support import planted
from tests.support.run import orchestrator

pytestmark = pytest.mark.guest

PLANTED = {
    "stubborn": {"utilisation", "collapse", "harm", "idle"},
    "fourth": {"utilisation"},
    "burst": {"idle"},
    "divides": {"survival"},
}
"""Modules with a fault each, by the criteria of cells that Reno meets, and they not fully."""


def card(folder: Path, *words: str) -> dict[str, Any]:
    """Make a card and return it; the runs are kept beside its folder."""
    store = ("--db", str(folder.parent / "runs.db"))
    result = orchestrator("evaluate", *words, *store, "-o", str(folder), "--quiet")
    assert result.exit_code == 0, result.output
    made: dict[str, Any] = json.loads((folder / "card.json").read_text())
    assert (made["failed"], made["unfaithful"]) == (0, 0)
    return made


def cells(made: dict[str, Any], criterion: str, row: str) -> list[dict[str, Any]]:
    (found,) = (one for one in made["criteria"] if one["name"] == criterion)
    (asked,) = (one for one in found["rows"] if one["id"] == row)
    return list(asked["cells"])


def shorten(monkeypatch: pytest.MonkeyPatch, name: str, **reduced: object) -> None:
    """Let a criterion alone be on the card, with another quick form."""
    criterion = loading.load_all()[name]
    scenario = {**criterion.scenario, "reduced": reduced}
    short = criterion.model_copy(update={"scenario": scenario})
    monkeypatch.setattr(loading, "load_all", lambda: {name: short})


def test_a_card_of_one_short_criterion(
    kernel: GuestKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ACKs are lost from 3 s to 8 s, and CUBIC backs off. A second call gives an equal card."""
    shorten(
        monkeypatch, "ack-loss", repetitions=2, duration="12s", warmup="1s",
        events=[
            {"at": "3s", "link": "bottleneck", "direction": "reverse", "state": "down"},
            {"at": "8s", "link": "bottleneck", "direction": "reverse", "state": "up"},
        ],
        measure=[
            {"name": "silence", "from": "5s", "to": "8s"},
            {"name": "after", "from": "10s", "to": "12s"},
        ],
    )  # fmt: skip
    made = card(tmp_path / "card", "cubic", "--against", "reno")
    (backoff,) = cells(made, "ack-loss", "backoff")
    assert backoff["verdict"] == "meets"
    assert 0 < backoff["candidate"]["mean"] < 100e3
    assert backoff["candidate"]["n"] == 2
    assert made["criteria"][0]["grade"] != "does not meet"
    assert len(made["kernels"]) == 1
    again = card(tmp_path / "card", "cubic", "--against", "reno")
    assert again == made


@pytest.mark.long
def test_a_module_that_never_backs_off_fails(
    kernel: GuestKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It harms Reno; Reno itself in its place meets the same row."""
    module = planted.write(tmp_path, "stubborn")
    shorten(
        monkeypatch, "harm", repetitions=3, duration="40s", warmup="10s",
        **{"matrix.topology.bottleneck.queue.limit": ["0.5bdp"]},
    )  # fmt: skip
    bad = card(tmp_path / "bad", str(module), "--against", "reno")
    assert bad["criteria"][0]["grade"] == "does not meet"
    (throughput,) = cells(bad, "harm", "throughput")
    assert throughput["verdict"] == "does not meet"
    good = card(tmp_path / "good", "reno", "--against", "reno")
    (throughput,) = cells(good, "harm", "throughput")
    assert throughput["verdict"] == "meets"


@pytest.mark.long
def test_a_module_that_divides_by_its_parameter_does_not_survive_its_draws(
    kernel: GuestKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each guest ends with the value 0, and none with another one."""
    criterion = loading.load_all()["code"]
    scenario = {**criterion.scenario, "repetitions": 2, "duration": "4s"}
    short = criterion.model_copy(update={"scenario": scenario})
    monkeypatch.setattr(loading, "load_all", lambda: {"code": short})
    monkeypatch.setattr("guest.build.built", lambda: [kernel])
    module = planted.write(tmp_path, "zero")
    store = ("--db", str(tmp_path / "runs.db"))
    words = (str(module), "--full", "--against", "reno", *store, "-o", str(tmp_path / "card"))
    made = orchestrator("evaluate", *words, "--quiet")
    assert made.exit_code == 1, made.output
    (found,) = json.loads((tmp_path / "card/card.json").read_text())["criteria"]
    verdicts = [cell["verdict"] for cell in found["rows"][0]["cells"]]
    assert verdicts[0] == "does not meet"
    assert len(verdicts) > 1
    assert "does not meet" not in verdicts[1:]
    assert "signal 8" in found["explained"]
    (built,) = found["builds"]
    assert built["verdict"] == "meets with limits"
    assert any("unused variable" in line for line in built["messages"])


@pytest.mark.long
def test_bbr_loses_much_in_a_shallow_buffer_and_cubic_does_not(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    """RFC 9743 section 5.1.3 says so of BBRv1."""
    made = card(tmp_path / "card", "bbr", "--against", "cubic", "--only", "shallow-buffers")
    many = cells(made, "shallow-buffers", "loss")[-1]
    assert many["verdict"] == "does not meet"
    (cubic,) = many["others"]
    assert cubic["mean"] < 0.02 < many["candidate"]["mean"]


@pytest.mark.long
@pytest.mark.parametrize("fault", PLANTED)
def test_a_module_with_a_planted_fault_fails_what_it_should(
    kernel: GuestKernel, tmp_path: Path, fault: str
) -> None:
    """Each is Reno with a fault, and fails its own criteria of these five beyond what Reno does."""
    module = planted.write(tmp_path, fault)
    only = "utilisation,collapse,harm,idle,survival"
    words = (str(module), "--against", "reno", "--only", only, "--no-explain", "--baseline", "reno")
    folder = tmp_path / "card"
    store = ("--db", str(tmp_path / "runs.db"))
    made = orchestrator("evaluate", *words, *store, "-o", str(folder), "--quiet")
    assert made.exit_code == int(fault == "divides"), made.output
    card = json.loads((folder / "card.json").read_text())
    levels = {(one["name"], row["id"]): row["level"] for one in card["criteria"]
              for row in one["rows"]}  # fmt: skip
    met = [cell for cell in card["changes"]["cells"] if cell["before"] == "meets"]
    musts = [cell for cell in met if levels[cell["criterion"], cell["row"]] == "must"]
    worse = {cell["criterion"] for cell in musts if cell["after"] != "meets"}
    failed = {cell["criterion"] for cell in musts if cell["after"] == "does not meet"}
    assert worse >= PLANTED[fault] >= failed


@pytest.mark.long
@pytest.mark.parametrize(
    ("control", "criteria"), [("cubic", "collapse,aqm"), ("bbr", "random-loss")]
)
def test_a_part_of_a_reference_card_is_made_again(
    tmp_path: Path, control: str, criteria: str
) -> None:
    """Each mean is equal to the digits that the library keeps."""
    kept = card_library.read(f"{control}-6.12").card
    made = Card.model_validate(card(tmp_path / "card", control, "--only", criteria))
    assert made.kernels == kept.kernels, "with another kernel the reference cards are made again"
    again = json.loads(card_library.text(made, dict.fromkeys(criteria.split(","), "")))["card"]
    assert again["criteria"]
    for one in again["criteria"]:
        (before,) = (each for each in kept.criteria if each.name == one["name"])
        assert one == before.model_dump(mode="json", by_alias=True)
