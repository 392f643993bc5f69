"""Independent losses hold most controls' traffic, and so the estimate of a run's wall time."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.compile import bounds
from orchestrator.planning.costs.estimate import costs
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario import load

FIG04 = Path(__file__).parents[3] / "scenarios" / "papers" / "logwestwood" / "fig04.yaml"
"""One flow over 100 Mbit/s and an RTT of 180 ms, with independent losses forward."""


def run(loss: str, congestion: str, *overrides: str) -> RunSpec:
    axes = [
        f"matrix.topology.bottleneck.loss.forward=[{loss}]",
        f"matrix.flows.one.congestion=[{congestion}]",
    ]
    return plan(load(FIG04, ["figures=[]", *axes, *overrides])).runs[0]


def packets_s(loss: str, congestion: str) -> float:
    return costs(run(loss, congestion)).packets_s


def test_losses_hold_a_control_to_the_inverse_of_their_root() -> None:
    # Reno sends 1.22 * 1448 B * 8 / (180 ms * sqrt(1e-2)) of 100 Mbit/s.
    share = 1.22 * 1448 * 8 / 0.180 / 0.1 / 100e6
    assert packets_s("1e-2", "reno") == pytest.approx(share * packets_s("1e-8", "reno"), rel=0.01)
    assert packets_s("1e-4", "reno") == pytest.approx(10 * packets_s("1e-2", "reno"))
    assert packets_s("1e-2", "cubic") == pytest.approx(4 * packets_s("1e-2", "reno"))


def test_rare_losses_and_losses_of_acks_leave_the_link_full() -> None:
    assert packets_s("1e-8", "reno") == packets_s("1e-9", "reno")
    back = run("0%", "reno", "topology.bottleneck.loss={forward: 0%, reverse: 1%}")
    assert costs(back).packets_s == packets_s("1e-8", "reno")


def test_a_loss_that_an_event_changes_leaves_the_link_full() -> None:
    ends = "events=[{at: 1s, link: bottleneck, direction: forward, loss: 0%}]"
    assert costs(run("1e-2", "reno", ends)).packets_s == packets_s("1e-8", "reno")


def test_bbr_sends_on_at_losses() -> None:
    assert packets_s("1e-2", "bbr") == packets_s("1e-8", "bbr")


def test_the_limit_of_wall_time_allows_a_control_that_sends_on() -> None:
    assert bounds.of(run("1e-2", "cubic")).wall_s == bounds.of(run("1e-8", "cubic")).wall_s
