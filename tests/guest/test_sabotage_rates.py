"""Checks see rates and delays that are wrong for a part of a run, and depend on no sampling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from results.store.store import Store
from tests.guest.conftest import Run
from tests.support.failed_checks import failed_checks

pytestmark = pytest.mark.guest

SHORT = ("duration=15s", "warmup=2s")

# Steps that the controller does not know, so that they are no part of the request.
RATE_HOOK = """
from orchestrator.protocol.links.link import rate_setting
for time_ns, rate_bps in ((BEGIN, LOW), (END, HIGH)):
    setting = rate_setting(rate_bps).document()
    step = {"time_ns": time_ns, "do": "link", "channel": "CHANNEL", "settings": [setting]}
    spec["planned_steps"].append(step)
"""

DELAY_HOOK = """
from orchestrator.protocol.links.link import delay_setting
later = delay_setting(0.011).document()
spec["planned_steps"].append(
    {"time_ns": 8 * 10**9, "do": "link", "channel": "bottleneck:reverse", "settings": [later]}
)
"""

CHANGES = (
    "events=[{at: 100ms, every: 400ms, link: bottleneck, rate: 5mbit, direction: forward},"
    " {at: 300ms, every: 400ms, link: bottleneck, rate: 12mbit, direction: forward}]"
)


def low_rate(tmp_path: Path, channel: str, high_bps: int, from_ms: int, to_ms: int) -> Path:
    """Return a hook that lowers the rate of a channel by 20% for that time."""
    values = {
        "BEGIN": from_ms * 10**6, "END": to_ms * 10**6, "LOW": high_bps * 8 // 10,
        "HIGH": high_bps, "CHANNEL": channel,
    }  # fmt: skip
    code = RATE_HOOK
    for name, value in values.items():
        code = code.replace(name, str(value))
    hook = tmp_path / "hook.py"
    hook.write_text(code, encoding="utf-8")
    return hook


def test_a_rate_that_is_20_percent_low_for_2_s_is_detected(run: Run, tmp_path: Path) -> None:
    hook = low_rate(tmp_path, "bottleneck:forward", 10_000_000, 6000, 8000)
    document = run(*SHORT, hook=hook)
    assert "rate_window" in failed_checks(document), document["fidelity"]
    assert failed_checks(document) <= {"rate_window", "backlogged_rate"}


def test_half_a_second_that_hardly_changes_the_mean_is_detected(run: Run, tmp_path: Path) -> None:
    hook = low_rate(tmp_path, "bottleneck:forward", 10_000_000, 20_000, 20_500)
    document = run("duration=30s", "warmup=2s", hook=hook)
    assert failed_checks(document) == {"rate_window"}, document["fidelity"]


def test_a_queue_outside_the_bottleneck_is_judged_while_packets_wait(
    run: Run, tmp_path: Path
) -> None:
    """Some 100 segments wait before an access link that is slower than the bottleneck."""
    slow = (
        *SHORT,
        "topology.groups.a.access.rate=4mbit",
        "flows.westwood.traffic.window=150p",
        "flows.reno.stop=1s",
    )
    document = run(*slow)
    assert failed_checks(document) == set(), document["fidelity"]
    names = [check["name"] for check in document["fidelity"]["checks"]]
    assert "rate_window a_src0:forward" in names
    hook = low_rate(tmp_path, "a_src0:forward", 4_000_000, 6000, 8000)
    document = run(*slow, hook=hook)
    failed = [c["name"] for c in document["fidelity"]["checks"] if c["ok"] is False]
    assert failed == ["rate_window a_src0:forward"], document["fidelity"]


def test_a_delay_that_changes_during_traffic_is_seen_after_it(run: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(DELAY_HOOK, encoding="utf-8")
    document = run(*SHORT, hook=hook)
    assert failed_checks(document) == {"base_rtt_end"}, document["fidelity"]


def test_delays_after_the_last_event_are_those_it_requested(run: Run) -> None:
    document = run(*SHORT, "events=[{at: 8s, link: bottleneck, delay: 20ms, rate: 5mbit}]")
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    found = {check["name"]: check for check in document["fidelity"]["checks"]}
    # With 50 bytes at 100, 10 and 100 Mbit/s there and back; or at 5 Mbit/s in place of 10.
    ends = (found["base_rtt"]["expected"], found["base_rtt_end"]["expected"])
    assert ends == pytest.approx((0.100096, 0.120176), abs=1e-6)
    assert found["base_rtt_end"]["measured"] == pytest.approx(0.120176, abs=20e-6)


@pytest.mark.long
def test_the_checks_do_not_depend_on_what_the_scenario_samples(run: Run, db: Path) -> None:
    """Packets of 145 ms at most wait, so samples at 1 s could not prove that any did."""
    found: list[tuple[str, Any]] = []
    for period in ("37ms", "100ms", "1s", "10s"):
        sampled = (f"sample.queue={period}", f"sample.tcp={period}")
        document = run("duration=10s", "warmup=1s", CHANGES, *sampled)
        found.append((document["fidelity"]["verdict"], document["fidelity"]["checks"]))
        with Store.open_read_only(db) as store:
            rows = store.load(document["id"]).queue_samples("bottleneck:forward:queue")
        kept = {int(time_ns) for time_ns in rows["time_ns"]}
        edges = {0, 10**9, 10**10}
        period_ns = {"37ms": 37, "100ms": 100, "1s": 1000, "10s": 10_000}[period] * 10**6
        assert kept == {*range(0, 10**10 + 1, period_ns), *edges}
    assert found[0][0] == "faithful", found[0]
    assert all(each == found[0] for each in found)
