"""Receive windows that a scenario limits: their exact limits, and broken ones that are detected."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guest.conftest import Run
from tests.support.failed_checks import failed_checks

pytestmark = pytest.mark.guest

RTT_S = 0.1


@pytest.mark.parametrize(
    ("method", "traffic", "more"),
    [
        ("hold", "{kind: bulk, window: 20p}", []),
        # Many connections at a time, most of them shorter than a sampling period.
        ("hold", "{kind: web, sessions: 5/s, response: 200kB, window: 20p}", []),
    ],
)
def test_a_window_that_is_exceeded_is_detected(
    run: Run, tmp_path: Path, method: str, traffic: str, more: list[str]
) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(
        "from orchestrator.testbed.traffic.sockets import ReceiveWindow\n"
        f"ReceiveWindow.{method} = lambda *_given: None\n"
    )
    document = run(
        f"flows=[{{name: one, group: a, traffic: {traffic}}}]",
        "duration=3s",
        "warmup=0s",
        "sample.tcp=2ms",
        *more,
        hook=hook,
    )
    assert "receive_window" in failed_checks(document), document["fidelity"]


def test_a_window_that_is_too_small_is_detected(run: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(
        "from orchestrator.testbed.traffic.sockets import ReceiveWindow\n"
        "ReceiveWindow.hold = lambda self, receiver: self._clamp(receiver, 4 * 1448)\n"
    )
    document = run(
        "flows=[{name: one, group: a, traffic: {kind: bulk, window: 5p}}]",
        "duration=3s",
        "warmup=0s",
        hook=hook,
    )
    assert failed_checks(document) == {"receive_window"}, document["fidelity"]


SMALL_WINDOWS = {
    "1p": 1448, "2p": 2896, "3p": 4344, "4p": 5792, "5p": 7240,
    "1152B": 1152, "2800B": 1448, "3000B": 2896, "100003B": 100_002, "1000001B": 1_000_000,
}  # fmt: skip
"""Windows by their limits. Below 64 KiB they have whole segments."""


@pytest.mark.parametrize("options", ["", "mss: 1000, ", "timestamps: false, "])
def test_small_windows_are_exact_from_the_first_segment_on(run: Run, options: str) -> None:
    """A window and its goodput, window / RTT, for limits of one segment and more."""
    payload = {"": 1448, "mss: 1000, ": 988, "timestamps: false, ": 1460}[options]
    limits = [f"{segments}p" for segments in range(1 + (payload < 1152), 6)]
    flows = ", ".join(
        f"{{name: w{limit}, group: a, traffic: {{kind: bulk, window: {limit}}}}}"
        for limit in limits
    )
    document = run(
        f"flows=[{flows}]",
        f"tcp={{{options}delayed_ack: false}}",
        "topology.groups.a.access={delay: 20ms}",
        "topology.bottleneck={rate: 1gbit, delay: 10ms, queue: {kind: droptail, limit: 100p}}",
        "duration=3s",
        "warmup=1s",
        "start_jitter=0ms",
        "sample.tcp=10ms",
    )
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    checks = {check["name"]: check["measured"] for check in document["fidelity"]["checks"]}
    for limit, flow in zip(limits, document["flows"], strict=True):
        size_bytes = int(limit[:-1]) * payload
        assert checks[f"receive_window {size_bytes}"] == size_bytes
        assert flow["goodput_bps"] == pytest.approx(size_bytes * 8 / RTT_S, rel=0.001), limit


def test_windows_of_bytes_are_rounded_down_as_linux_rounds_them(run: Run) -> None:
    flows = ", ".join(
        f"{{name: w{limit}, group: a, traffic: {{kind: bulk, window: {limit}}}}}"
        for limit in SMALL_WINDOWS
    )
    document = run(
        f"flows=[{flows}]",
        "topology.bottleneck.rate=1gbit",
        "topology.bottleneck.queue.limit=10000p",
        "duration=4s",
        "warmup=1s",
    )
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    checks = [
        check for check in document["fidelity"]["checks"] if "receive_window" in check["name"]
    ]
    found = {check["name"].split()[1]: check["measured"] for check in checks}
    for limit, window_bytes in SMALL_WINDOWS.items():
        size_bytes = int(limit[:-1]) * (1448 if limit.endswith("p") else 1)
        assert found[str(size_bytes)] == window_bytes, limit


def test_small_windows_hold_for_short_connections(run: Run) -> None:
    """Responses of less than a segment come before and between those of several segments."""
    flows = ", ".join(
        f"{{name: {name}, group: a, traffic: {{{traffic}, window: {limit}}}}}"
        for name, limit, traffic in (
            ("web", "2p", "kind: web, sessions: 5/s, response: {distribution: pareto, "
             "mean: 4kB, shape: 1.2, most: 100kB}"),
            ("files", "3p", "kind: transfers, arrivals: 5/s, "
             "size: {distribution: exponential, mean: 10kB}"),
            ("on-off", "4p", "kind: onoff, on: {distribution: exponential, mean: 500ms}, "
             "off: {distribution: exponential, mean: 500ms}"),
        )
    )  # fmt: skip
    document = run(
        f"flows=[{flows}]", "topology.bottleneck.loss=1%", "duration=10s", "warmup=1s",
        "sample.tcp=10ms",
    )  # fmt: skip
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]


def test_a_window_is_not_judged_by_segments_that_come_before_the_receiver_can_read(
    run: Run,
) -> None:
    """Jitter that keeps the order delivers several of a connection's first segments at once."""
    flow = "{name: small, group: a, count: 10, traffic: {kind: bulk, window: 10p}}"
    document = run(
        f"flows=[{flow}]",
        "topology.groups.a.access={delay: 10ms, jitter: {spread: 5ms, keep_order: true}}",
        "topology.bottleneck.rate=100mbit",
        "duration=3s",
        "warmup=1s",
        "start_jitter=500ms",
        "sample.tcp=10ms",
    )
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    (window,) = (
        check["measured"]
        for check in document["fidelity"]["checks"]
        if check["name"].startswith("receive_window")
    )
    assert window == 14480
