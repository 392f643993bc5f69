"""``orchestrator plan``: what would be run, as text, as JSON, and drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli import commands

SCENARIOS = Path(__file__).parents[3] / "scenarios"
QUICKSTART = str(SCENARIOS / "quickstart.yaml")
LOT = str(SCENARIOS / "tutorial" / "11-parking-lot.yaml")


def orchestrator(*args: str) -> Result:
    return CliRunner().invoke(commands, args)


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip()]


def test_the_text_names_flows_and_bottlenecks() -> None:
    result = orchestrator("plan", QUICKSTART)
    assert (result.exit_code, result.stderr) == (0, "")
    found = rows(result.stdout)
    assert ["westwood", "1", "westwood", "100.000", "bottleneck"] in found
    assert [
        "bottleneck:forward", "10.000", "10.000", "82.6", "droptail", "100.0", "121.120", "0",
    ] in found  # fmt: skip
    assert result.stdout.endswith(
        "1 run, about 2 s of wall time in the guest (over 60 s in real time) and 1.9 MB\n"
    )


def test_changing_rates_and_policers_are_listed() -> None:
    found = rows(orchestrator("plan", str(SCENARIOS / "tutorial" / "27-policer.yaml")).stdout)
    assert ["bottleneck:forward", "10.000", "60.000"] in found
    events = (
        "[{at: 1500ms, link: bottleneck, rate: 2mbit}, {at: 4s, link: bottleneck, jitter: 1ms}]"
    )
    found = rows(orchestrator("plan", QUICKSTART, "--set", f"events={events}").stdout)
    assert ["1.5", "link:", "bottleneck,", "rate:", "2mbit"] in found
    assert ["4", "link:", "bottleneck,", "jitter:", "1ms"] in found
    assert ["bottleneck:forward", "10.000", "->", "2.000"] in [row[:4] for row in found]
    found = rows(
        orchestrator("plan", str(SCENARIOS / "tutorial" / "53-capacity-trace.yaml")).stdout
    )
    assert any(cell.startswith("~") for row in found for cell in row)


def test_flows_that_differ_only_in_their_hosts_are_one_line() -> None:
    many = ("--set", "topology.groups.a.hosts=3", "--set", "flows.westwood.count=2")
    found = rows(orchestrator("plan", QUICKSTART, *many).stdout)
    assert ["westwood[0]", "to", "westwood[5]", "6", "westwood", "100.000", "bottleneck"] in found


def test_paths_are_shown_between_the_hosts() -> None:
    found = rows(orchestrator("plan", LOT).stdout)
    assert ["c1", "1", "westwood", "140.000", "hop1", "hop2", "hop3"] in found
    assert ["back[1]", "1", "reno", "100.000", "hop2:reverse"] in found


def test_a_udp_flow_has_no_congestion_control() -> None:
    found = rows(orchestrator("plan", str(SCENARIOS / "tutorial" / "40-udp-cbr.yaml")).stdout)
    assert ["cbr", "1", "-", "100.000", "bottleneck"] in found


def test_every_variant_is_shown_once() -> None:
    result = orchestrator(
        "plan", QUICKSTART, "--set", "repetitions=3",
        "--set", "matrix={topology.bottleneck.delay: [5ms, 30ms]}",
    )  # fmt: skip
    headings = [line for line in result.stdout.splitlines() if line.startswith("topology.bott")]
    assert headings == ["topology.bottleneck.delay=5ms", "topology.bottleneck.delay=30ms"]
    assert [row[3] for row in rows(result.stdout) if row[:2] == ["reno", "1"]] == [
        "90.000",
        "140.000",
    ]


def test_warnings_are_on_standard_error_and_in_the_json() -> None:
    small = ("--set", "topology.bottleneck.queue.limit=3p")
    result = orchestrator("plan", QUICKSTART, *small, "--json")
    (warning,) = json.loads(result.stdout)["warnings"]
    assert warning["where"] == "--set topology.bottleneck.queue.limit=3p:1:33"
    assert result.stderr == f"{warning['where']}: warning: {warning['message']}\n"
    assert result.exit_code == 0


def test_svg_draws_every_variant_of_the_topology(tmp_path: Path) -> None:
    file = tmp_path / "net.svg"
    result = orchestrator(
        "plan", LOT, "--svg", str(file), "--set", "matrix={topology.hops.count: [3, 5]}"
    )
    assert result.exit_code == 0
    text = file.read_text(encoding="utf-8")
    assert "<title>parking-lot: topology.hops.count=3</title>" in text
    assert ">hop3<" in text
    assert ">hop4<" not in text


def test_a_drawing_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    result = orchestrator("plan", QUICKSTART, "--svg", str(tmp_path / "no" / "net.svg"))
    assert result.exit_code == 2
    assert "net.svg: cannot be written: No such file or directory" in result.stderr


@pytest.mark.parametrize("name", sorted(path.name for path in (SCENARIOS / "tutorial").glob("1*")))
def test_the_tutorials_of_topologies_can_be_drawn(name: str, tmp_path: Path) -> None:
    file = tmp_path / "net.svg"
    result = orchestrator("plan", str(SCENARIOS / "tutorial" / name), "--svg", str(file))
    assert result.exit_code == 0
    assert file.read_text(encoding="utf-8").startswith("<svg ")
