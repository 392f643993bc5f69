"""``orchestrator plan``: what would be run, as text, as JSON, and drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli import commands
from tests.support import golden

GOLDEN = Path(__file__).parent / "golden"
SCENARIOS = Path(__file__).parents[3] / "scenarios"
QUICKSTART = str(SCENARIOS / "quickstart.yaml")
LOT = str(SCENARIOS / "tutorial" / "11-parking-lot.yaml")


def orchestrator(*args: str) -> Result:
    return CliRunner().invoke(commands, args)


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip()]


def rtts_ms(propagation_ms: float, *rates_mbps: float, answer_bytes: int = 66) -> list[str]:
    """The base RTT, and that of a full frame and its answer, over links of these rates."""

    def sent_ms(frame_bytes: int) -> float:
        return sum(frame_bytes * 8 / (1000 * rate) for rate in rates_mbps)

    base_ms = propagation_ms + 2 * sent_ms(50)
    segment_ms = propagation_ms + sent_ms(1514) + sent_ms(answer_bytes)
    return [f"{base_ms:.3f}", f"{segment_ms:.3f}"]


QUICKSTART_RTTS = rtts_ms(100, 10, 100, 100)


def test_the_text_names_flows_and_bottlenecks(tmp_path: Path) -> None:
    result = orchestrator("plan", QUICKSTART, "--db", str(tmp_path / "none.db"))
    assert (result.exit_code, result.stderr) == (0, "")
    found = rows(result.stdout)
    assert QUICKSTART_RTTS == ["100.096", "101.517"]
    assert ["westwood", "1", "westwood", *QUICKSTART_RTTS, "bottleneck"] in found
    assert [
        "bottleneck:forward", "10.000", "10.000", "82.6", "droptail", "100", "121.120", "0",
    ] in found  # fmt: skip
    golden.check(GOLDEN / "plan.txt", result.stdout)


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
    flows = ["westwood[0]", "to", "westwood[5]", "6", "westwood"]
    assert [*flows, *QUICKSTART_RTTS, "bottleneck"] in found


def test_paths_are_shown_between_the_hosts() -> None:
    found = rows(orchestrator("plan", LOT).stdout)
    rtts = rtts_ms(140, 10, 10, 10, 100, 100)
    assert ["c1", "1", "westwood", *rtts, "hop1", "hop2", "hop3"] in found
    assert ["back[1]", "1", "reno", *QUICKSTART_RTTS, "hop2:reverse"] in found


def test_a_udp_flow_has_no_congestion_control() -> None:
    found = rows(orchestrator("plan", str(SCENARIOS / "tutorial" / "40-udp-cbr.yaml")).stdout)
    rtts = rtts_ms(100, 10, 100, 100, answer_bytes=1514)
    assert ["cbr", "1", "-", *rtts, "bottleneck"] in found


def test_a_live_path_has_no_planned_rtts() -> None:
    live = SCENARIOS / "lab" / "live-campaign.yaml"
    found = rows(orchestrator("plan", str(live)).stdout)
    flows = [row for row in found if row[3:5] == ["-", "-"]]
    assert flows


def test_every_variant_is_shown_once() -> None:
    result = orchestrator(
        "plan", QUICKSTART, "--set", "repetitions=3",
        "--set", "matrix={topology.bottleneck.delay: [5ms, 30ms]}",
    )  # fmt: skip
    headings = [line for line in result.stdout.splitlines() if line in ("delay=5ms", "delay=30ms")]
    assert headings == ["delay=5ms", "delay=30ms"] * 2  # of flows, and of bottlenecks
    assert [row[3:5] for row in rows(result.stdout) if row[:2] == ["reno", "1"]] == [
        rtts_ms(90, 10, 100, 100), rtts_ms(140, 10, 100, 100),
    ]  # fmt: skip


def test_variants_with_equal_tables_share_one() -> None:
    """Three starts and two controls have two tables of flows and one of bottlenecks, not twelve."""
    axes = "{flows.reno.start: [0s, 1s, 2s], flows.westwood.congestion: [cubic, vegas]}"
    lines = orchestrator("plan", QUICKSTART, "--set", f"matrix={axes}").stdout.splitlines()
    tables = [line.split()[0] for line in lines if line.startswith(("flow ", "bottleneck "))]
    assert tables == ["flow", "flow", "bottleneck"]
    assert [line for line in lines if line.endswith(" variants)") or line == "all 6 variants"] == [
        "congestion=cubic (3 variants)", "congestion=vegas (3 variants)", "all 6 variants",
    ]  # fmt: skip


def test_runs_are_grouped_by_variant(tmp_path: Path) -> None:
    axis = "matrix={topology.bottleneck.delay: [5ms, 30ms]}"
    words = ("--set", "repetitions=5", "--set", axis, "--db", str(tmp_path / "none.db"))
    text = orchestrator("plan", QUICKSTART, *words).stdout
    found = rows(text)
    assert [row[:4] for row in found[2:4]] == [
        [f"delay={delay}", "5", "2", "300"] for delay in ("5ms", "30ms")
    ]
    golden.check(GOLDEN / "plan-variants.txt", text)


def test_a_rule_for_repetitions_is_said(tmp_path: Path) -> None:
    rule = "repetitions={until: {metric: goodput_bps, interval: 2%}, least: 5, most: 50}"
    words = ("--set", rule, "--db", str(tmp_path / "none.db"))
    golden.check(GOLDEN / "plan-until.txt", orchestrator("plan", QUICKSTART, *words).stdout)
    described = json.loads(orchestrator("plan", QUICKSTART, "--set", rule, "--json").stdout)
    assert described["repetition_rule"]["most"] == 50
    assert json.loads(orchestrator("plan", QUICKSTART, "--json").stdout)["repetition_rule"] is None


def test_validate_warns_as_plan_does_and_its_status_stays() -> None:
    small = ("--set", "topology.bottleneck.queue.limit=3p")
    result, planned = (orchestrator(name, QUICKSTART, *small) for name in ("validate", "plan"))
    assert result.exit_code == 0
    assert result.stdout == f"{QUICKSTART}: valid, 1 run\n"
    assert "warning: the queue of bottleneck:forward holds 3 full-size packets" in result.stderr
    assert result.stderr == planned.stderr
    assert not orchestrator("validate", QUICKSTART).stderr


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
