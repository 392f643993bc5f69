"""Every congestion control that a scenario may name runs and is the one in use."""

from __future__ import annotations

import pytest

from orchestrator.kinds.congestion import MAINLINE
from tests.guest.conftest import Run

pytestmark = pytest.mark.guest


@pytest.mark.parametrize("name", sorted(MAINLINE))
def test_a_mainline_congestion_control_is_in_use_and_fills_a_link(run: Run, name: str) -> None:
    document = run(
        f"flows=[{{name: one, group: a, congestion: {name}, traffic: {{kind: bulk}}}}]",
        "duration=20s",
        "warmup=5s",
    )
    assert document["status"] == "ok", document["error"]
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    assert document["flows"][0]["congestion_control"] == name
    # LP leaves a link to others and CDG backs off from delay: no more is said of them here.
    least = {"lp": 0.5, "cdg": 0.5, "nv": 0.5}.get(name, 0.85)
    assert document["metrics"]["utilisation"] > least
