"""A link stores and forwards: each frame takes its transmission, also at an idle link."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from orchestrator.testbed.traffic.udp import random_packet_times
from tests.guest.conftest import Run
from tests.guest.idle_path import ACK_BYTES, IdleLink, crossing_s, frames_of

pytestmark = pytest.mark.guest

ETHERNET_BYTES = 14
DELAYS_S = (0.002, 0.003, 0.002)

NETWORK = """\
version: 1
name: links
seed: 3
duration: {duration}
topology:
  kind: dumbbell
  bottleneck: {{rate: {rate}, delay: 3ms, queue: {{limit: 10000p}}}}
  access: {{delay: 2ms{access}}}
  groups: [{{name: a}}]
flows:
  - {{name: f, group: a, {flow}}}
"""


def written(folder: Path, **values: str) -> Path:
    path = folder / "links.yaml"
    path.write_text(NETWORK.format(**{"access": "", **values}), encoding="utf-8")
    return path


def path_of(rate_bps: float, access_bps: float = float("inf")) -> list[IdleLink]:
    rates = (access_bps, rate_bps, access_bps)
    return [IdleLink(*link) for link in zip(rates, DELAYS_S, strict=True)]


def ran(run: Run, scenario: Path, *overrides: str) -> dict[str, Any]:
    document = run(*overrides, scenario=scenario)
    assert document["status"] == "ok", document["error"]
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    return document


@pytest.mark.parametrize(("rate", "rate_bps"), [("64kbit", 64e3), ("1mbit", 1e6), ("10mbit", 10e6)])
def test_request_and_response_take_what_store_and_forward_gives(
    run: Run, tmp_path: Path, rate: str, rate_bps: float
) -> None:
    """100 bytes and 1000 bytes over 14 ms: 168, 23.9 and 15.0 ms instead of 14."""
    traffic = "{kind: request-response, request: 100B, response: 1000B, think: 1s}"
    scenario = written(
        tmp_path, rate=rate, duration="20s", flow=f"congestion: reno, traffic: {traffic}"
    )
    document = ran(run, scenario)
    path = path_of(rate_bps)
    expected_s = crossing_s(path, 100 + ACK_BYTES) + crossing_s(path, *frames_of(1000))
    # The first exchange goes behind the handshake's ACK, so the median is of the others.
    assert document["flows"][0]["fct_p50_s"] == pytest.approx(expected_s, abs=2e-6)


@pytest.mark.parametrize("packet_bytes", [44, 700, 1500])
def test_an_idle_path_takes_transmission_and_propagation_of_each_link(
    run: Run, tmp_path: Path, packet_bytes: int
) -> None:
    traffic = f"{{kind: cbr, rate: 50kbit, packet_size: {packet_bytes}B}}"
    scenario = written(
        tmp_path, rate="2mbit", access=", rate: 20mbit", duration="5s", flow=f"traffic: {traffic}"
    )
    (flow,) = ran(run, scenario)["flows"]
    expected_s = crossing_s(path_of(2e6, 20e6), packet_bytes + ETHERNET_BYTES)
    assert flow["one_way_delay_min_s"] == pytest.approx(expected_s, abs=2e-9)
    assert flow["one_way_delay_max_s"] == pytest.approx(expected_s, abs=2e-9)


QUICK = ((0.5, 200), (0.8, 1500))
LOADS = [
    pytest.param(load, size, marks=() if (load, size) in QUICK else pytest.mark.long)
    for size in (200, 1500) for load in (0.5, 0.8, 0.95)
]  # fmt: skip


@pytest.mark.parametrize(("share", "packet_bytes"), LOADS)
def test_poisson_packets_wait_as_in_an_m_d_1_queue(
    run: Run, tmp_path: Path, share: float, packet_bytes: int
) -> None:
    """Pollaczek and Khinchine's mean wait is load / (2 (1 - load)) transmissions.

    The bed's mean is that of the very packets that were drawn, to the nanosecond. The theory's is
    within the interval of means of 20 batches.
    """
    rate_bps, duration_s = 10_000_000, 20 if packet_bytes == 200 else 100
    traffic = f"{{kind: poisson, rate: {share:.0%}, packet_size: {packet_bytes}B}}"
    scenario = written(
        tmp_path, rate="10mbit", duration=f"{duration_s}s", flow=f"traffic: {traffic}"
    )
    (flow,) = ran(run, scenario)["flows"]
    frame_bits = 8 * (packet_bytes + ETHERNET_BYTES)
    (spec,) = bed_spec(plan(load(scenario)).runs[0], 2**30)["flows"]
    assert spec["parameters"]["rate_bps"] == round(share * rate_bps)
    sent_ns = np.array(
        list(
            random_packet_times(
                random.Random(spec["seed"]), 0, duration_s * 10**9, frame_bits,
                spec["parameters"]["rate_bps"],
            )
        )
    )  # fmt: skip
    service_s = frame_bits / rate_bps
    waits_s = fifo_waits_s(sent_ns / 1e9, service_s)
    delays_s = waits_s + service_s + sum(DELAYS_S)
    received = int(np.count_nonzero(sent_ns / 1e9 + delays_s <= duration_s))
    assert flow["received_packets"] == pytest.approx(received, abs=1)
    assert flow["one_way_delay_mean_s"] == pytest.approx(delays_s[:received].mean(), abs=1e-7)
    assert flow["one_way_delay_max_s"] == pytest.approx(delays_s[:received].max(), abs=1e-7)
    batches = [batch.mean() for batch in np.array_split(waits_s, 20)]
    low, high = stats.t.interval(0.99, 19, np.mean(batches), stats.sem(batches))
    assert low <= share / (2 * (1 - share)) * service_s <= high


def fifo_waits_s(arrivals_s: np.ndarray[Any, np.dtype[np.float64]], service_s: float) -> Any:
    """Return each packet's wait by Lindley's recursion."""
    waits = np.empty(len(arrivals_s))
    free_s = 0.0
    for number, arrival_s in enumerate(arrivals_s):
        begin_s = max(free_s, arrival_s)
        waits[number], free_s = begin_s - arrival_s, begin_s + service_s
    return waits
