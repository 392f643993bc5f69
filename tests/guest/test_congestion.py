"""Every congestion control that a scenario may name runs and is the one in use."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from orchestrator.kinds.congestion import MAINLINE
from orchestrator.kinds.linux_parameters import LINUX_MODULES
from results.store.store import Store
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


VALUES = """
import os
from orchestrator.testbed.kernel import system

if not os.path.isdir("/run/sysfs"):
    os.makedirs("/run/sysfs")
    system.mount("sysfs", "/run/sysfs", "sysfs")
for module, values in EXPECTED.items():
    for name, value in values.items():
        with open(f"/run/sysfs/module/tcp_{module}/parameters/{name}") as file:
            text = file.read().strip()
        assert int({"Y": "1", "N": "0"}.get(text, text)) == value, (module, name, text, value)
"""


@pytest.mark.parametrize("given", ["default", "low", "high"])
def test_parameters_of_linux_have_their_defaults_and_take_both_ends_of_their_ranges(
    run: Run, tmp_path: Path, given: str
) -> None:
    expected = {
        name: {
            parameter.name: getattr(parameter, given) for parameter in module.parameters.values()
        }
        for name, module in LINUX_MODULES.items()
    }
    hook = tmp_path / "hook.py"
    hook.write_text(f"EXPECTED = {expected!r}\n{VALUES}", encoding="utf-8")
    flows = []
    for name, values in expected.items():
        set_here = {} if given == "default" else values
        texts = ", ".join(f"{key}: {value}" for key, value in set_here.items())
        congestion = f"{{name: {name}, parameters: {{{texts}}}}}"
        flows.append(f"{{name: {name}, group: a, congestion: {congestion}}}")
    document = run(f"flows=[{', '.join(flows)}]", "duration=10s", "warmup=2s", hook=hook)
    assert document["status"] == "ok", document["error"]
    assert [flow["congestion_control"] for flow in document["flows"]] == list(LINUX_MODULES)


def test_vegas_keeps_as_many_packets_in_the_queue_as_its_parameters_say(run: Run) -> None:
    """Vegas compares alpha with diff = cwnd (RTT - base RTT) / base RTT (tcp_vegas.c).

    With q packets in the queue of a link of BDP b, cwnd is b + q and the RTT (1 + q / b) base RTTs.
    So diff is (1 + q / b) q.
    """
    packet_s, bdp = 1514 * 8 / 10e6, 0.1 * 10e6 / 8 / 1514
    queued, delays_s = {}, {}
    for diff in (10, 20):
        congestion = f"{{name: vegas, parameters: {{alpha: {diff}, beta: {diff}}}}}"
        flows = f"flows=[{{name: one, group: a, congestion: {congestion}}}]"
        document = run(flows, "duration=30s", "warmup=10s")
        assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
        delays_s[diff] = document["flows"][0]["queueing_delay_mean_s"]
        queued[diff] = (math.sqrt(bdp * bdp + 4 * bdp * diff) - bdp) / 2
    expected_s = (queued[20] - queued[10]) * packet_s
    assert delays_s[20] - delays_s[10] == pytest.approx(expected_s, rel=0.15)


def test_a_parameter_of_built_in_cubic_changes_what_it_does(run: Run, db: Path) -> None:
    """Without HyStart, slow start ends at initial_ssthresh."""
    largest = {}
    for segments in (20, 40):
        parameters = f"{{hystart: 0, initial_ssthresh: {segments}}}"
        document = run(
            "flows=[{name: one, group: a, congestion: {name: cubic, parameters: "
            f"{parameters}}}}}]",
            "duration=3s",
            "warmup=1s",
            "sample.tcp=10ms",
        )
        assert document["status"] == "ok", document["error"]
        with Store.open_read_only(db) as store:
            stored = store.load(document["id"])
            samples = stored.tcp(0, 0, ["snd_ssthresh_segments"])
            modules = stored.provenance["modules"]
        largest[segments] = set(samples["snd_ssthresh_segments"][10:50].tolist())
        assert modules["tcp_cubic"] == {"parameters": f"hystart=0 initial_ssthresh={segments}"}
    assert largest == {20: {20}, 40: {40}}
