"""Policers of any rate and bucket are measured right, whatever other probes have left in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.guest.conftest import Run

pytestmark = pytest.mark.guest

RATES = ("64kbit", "256kbit", "1mbit", "10mbit", "100mbit", "1gbit")
BURSTS = ("1514B", "15.2kB", "62.5kB", "400kB")
FRAME_BYTES = 1514


def grid() -> str:
    """Return a scenario with a pair of hosts for each rate and bucket."""
    policers = [(rate, burst) for rate in RATES for burst in BURSTS]
    pairs = range(len(policers))
    links = [
        f"    - {{name: p{n}, between: [s{n}, r0], delay: 1ms, rate: 2gbit, "
        f"policer: {{forward: {{rate: {rate}, burst: {burst}}}}}}}\n"
        f"    - {{name: q{n}, between: [r1, d{n}], delay: 1ms}}\n"
        for n, (rate, burst) in enumerate(policers)
    ]
    groups = [f"    - {{name: g{n}, sources: [s{n}], sinks: [d{n}]}}\n" for n in pairs]
    flows = [
        f"  - {{name: f{n}, group: g{n}, congestion: reno, traffic: {{kind: bulk, bytes: 3kB}}}}\n"
        for n in pairs
    ]
    hosts = ", ".join(f"s{n}, d{n}" for n in pairs)
    return (
        "version: 1\nname: policers\nduration: 3s\ntopology:\n  kind: custom\n"
        f"  hosts: [{hosts}]\n  routers: [r0, r1]\n  links:\n"
        "    - {between: [r0, r1], delay: 1ms}\n"
        f"{''.join(links)}  groups:\n{''.join(groups)}flows:\n{''.join(flows)}"
    )


def policed(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the checks of policers' buckets of a run that must be faithful."""
    assert document["status"] == "ok", document["error"]
    checks = document["fidelity"]["checks"]
    wrong = [check for check in checks if check["ok"] is not True]
    assert document["fidelity"]["verdict"] == "faithful", wrong
    return [check for check in checks if check["name"].startswith("policer_burst")]


def test_every_rate_and_bucket_is_measured_right(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "policers.yaml"
    file.write_text(grid(), encoding="utf-8")
    found = policed(run(scenario=file))
    assert len(found) == len(RATES) * len(BURSTS)
    for check in found:
        assert abs(check["measured"] - check["expected"]) <= FRAME_BYTES


@pytest.mark.parametrize(
    ("rate", "burst"), [("1mbit", "15.2kB"), ("500kbit", "62.5kB"), ("256kbit", "32kB")]
)
def test_a_policer_slower_than_its_probes_is_measured_right(
    run: Run, rate: str, burst: str
) -> None:
    """Base RTTs are measured through it first. The bucket had 13.5 kB, 58.8 kB and 27.2 kB."""
    found = policed(
        run(
            "topology.bottleneck={rate: 100mbit, delay: 1ms, queue: {limit: 1000p}, "
            f"policer: {{forward: {{rate: {rate}, burst: {burst}}}}}}}",
            "topology.groups=[{name: a, hosts: 1, access: {rate: 100mbit, delay: 2ms}}, "
            "{name: b, hosts: 1, access: {rate: 100mbit, delay: 2ms}}]",
            "duration=5s",
            "warmup=0s",
        )
    )
    assert len(found) == 1


@pytest.mark.parametrize(
    "queue",
    [
        "{kind: red, limit: 60p, min: 2p, max: 4p, weight: 0.5}",
        "{kind: codel, target: 1ms, interval: 5ms}",
        "{kind: pie, target: 1ms}",
        "{kind: fq_codel, target: 1ms, interval: 5ms}",
        "{kind: cake}",
    ],
)
def test_an_aqm_that_drops_early_is_measured_before_and_after_traffic(run: Run, queue: str) -> None:
    """On a slow link an AQM remembers a burst, and the traffic, for seconds."""
    document = run(
        f"topology.bottleneck={{rate: 256kbit, delay: 10ms, queue: {queue}}}",
        "duration=10s",
        "warmup=2s",
    )
    policed(document)
    names = {check["name"].split()[0] for check in document["fidelity"]["checks"]}
    assert {"burst_rate", "base_rtt", "base_rtt_end"} <= names
