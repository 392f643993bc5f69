"""What changed between kernels: changes that `track` found, and regressions made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.other_kernels import SCENARIOS, kernels, run

pytestmark = [pytest.mark.guest, pytest.mark.long]


def test_hystarts_round_start_is_made_again_by_a_patch_that_reverts_its_fix(tmp_path: Path) -> None:
    file = str(SCENARIOS / "regressions/hystart-round-start.yaml")
    made = run(file, "--repetitions", "2", "--db", str(tmp_path / "runs.db"))
    assert [each["fidelity"]["verdict"] for each in made] == ["faithful"] * 4
    cwnd: dict[str, list[float]] = {"with": [], "without": []}
    for each in made:
        cwnd[each["variant"]["fix"]].append(each["flows"][0]["hystart_exit_cwnd_segments"])
    assert min(cwnd["with"]) > 619 > max(cwnd["without"]), "the path holds 619 packets"


def test_a_lost_syn_is_sent_again_sooner_since_linux_6_5(tmp_path: Path) -> None:
    """The first three SYNs are lost by their numbers, which a kernel before 6.6 can do, too."""
    words = (str(SCENARIOS / "changes/lost-syns.yaml"), "--reduced", *kernels(("6.1", "6.12")))
    old, new = run(*words, "--db", str(tmp_path / "runs.db"))
    assert old["flows"][0]["timeouts"] == new["flows"][0]["timeouts"] == 3
    took_s = [each["flows"][0]["completion_time_s"] for each in (old, new)]
    assert 7 < took_s[0] < 9
    assert 3 < took_s[1] < 5


def test_acks_wait_for_less_than_the_minimum_rto_since_linux_6_7(tmp_path: Path) -> None:
    """An answer whose ACK waits for 40 ms is sent again where the sender waits for 10 ms."""
    words = (str(SCENARIOS / "changes/delayed-acks.yaml"), "--reduced", *kernels(("6.1", "6.12")))
    for each in run(*words, "--db", str(tmp_path / "runs.db")):
        asked = [flow for flow in each["flows"] if flow["name"].startswith("ask")]
        again = sum(flow["retransmitted_segments"] for flow in asked)
        assert (len(asked), again > 0) == (8, each["kernel"].startswith("6.1.")), again


def test_the_receive_window_doubles_each_round_trip_and_each_second_without_its_fix(
    tmp_path: Path,
) -> None:
    file = str(SCENARIOS / "regressions/receive-window-growth.yaml")
    made = run(file, "--repetitions", "1", "--db", str(tmp_path / "runs.db"))
    assert [each["fidelity"]["verdict"] for each in made] == ["faithful"] * 2
    growth = {}
    for each in made:
        (flow,) = each["windows"]["slow-start"]["flows"]
        growth[each["variant"]["fix"]] = flow["receive_window_growth"]
    assert growth["with"] == pytest.approx(2, rel=0.02)
    assert growth["without"] == pytest.approx(2**0.5, rel=0.02)


def test_without_sack_each_reduction_is_undone_without_the_fix(tmp_path: Path) -> None:
    file = str(SCENARIOS / "regressions/undo-without-sack.yaml")
    words = ("--repetitions", "1", "--set", "duration=2s", "--db", str(tmp_path / "runs.db"))
    fixed, broken = (each["flows"][0] for each in run(file, *words))
    assert (fixed["undos"], fixed["recoveries"] > 5) == (0, True)
    assert broken["undos"] > 0.95 * broken["recoveries"] > 100
    assert broken["retransmitted_segments"] > 5 * fixed["retransmitted_segments"]
