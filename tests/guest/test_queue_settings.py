"""Every kind of queue in one run: faithful, equal again, and what is changed by stealth is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guest.conftest import Run
from tests.support.failed_checks import failed_checks
from tests.support.queues import OPEN_LOOP, QUEUE

pytestmark = pytest.mark.guest

KINDS = (
    "codel", "fq_codel", "pie", "fq_pie", "fq", "sfq", "cake", "ared, limit: 200p",
    "red, limit: 200p, min: 9p, max: 27p",
)  # fmt: skip

# A setting of each, by the kernel's name of the kind.
TAMPERED = {
    "codel": "target_us",
    "fq_codel": "quantum_bytes",
    "pie": "target_us",
    "fq_pie": "quantum_bytes",
    "fq": "flow_limit_packets",
    "sfq": "depth_packets",
    "cake": "rtt_us",
    "red": "min_bytes",
}

TAMPER = """
from orchestrator.testbed.network.queues import qdisc
from orchestrator.testbed.sampling.sampler import Sampler

run = Sampler.run

def tamper():
    for link in bed.links.values():
        for direction, end in (("forward", "b"), ("reverse", "a")):
            queue = link.spec[direction]["queue"]
            if queue is not None and queue["kind"] not in qdisc.FIFOS:
                settings = [
                    {**each, "value": each["value"] // 2}
                    if each["name"] == TAMPERED[queue["kind"]]
                    else each
                    for each in queue["settings"]
                ]
                name, index = link.device(end)
                qdisc.remove_queue(bed.wires, index, name)
                qdisc.add_queue(bed.wires, index, {**queue, "settings": settings}, name)
    bed.wires.flush()

def run_with_other_queues(self, origin_ns):
    tamper()
    run(self, origin_ns)

Sampler.run = run_with_other_queues
"""


def all_kinds(tmp_path: Path) -> Path:
    """A scenario with every kind on access links, in both directions, and a policer.

    The last group is fast enough to measure the policer before traffic.
    """
    groups = "\n".join(
        f"    - {{name: g{number}, access: {{rate: 20mbit, delay: 1ms, queue: {{kind: {kind}}}}}}}"
        for number, kind in enumerate(KINDS)
    )
    flows = "\n".join(f"  - {{name: f{number}, group: g{number}}}" for number in range(len(KINDS)))
    file = tmp_path / "all.yaml"
    file.write_text(
        "version: 1\nname: all\nduration: 2s\ntopology:\n  kind: dumbbell\n"
        "  bottleneck: {rate: 50mbit, delay: 5ms, policer: {rate: 40mbit, burst: 60kB}}\n"
        f"  groups:\n{groups}\n    - {{name: fast, access: {{rate: 100mbit, delay: 1ms}}}}\n"
        f"flows:\n{flows}\n  - {{name: fast, group: fast}}\n",
        encoding="utf-8",
    )
    return file


def test_a_run_with_every_kind_is_faithful_and_repeats_bit_identically(
    run: Run, tmp_path: Path
) -> None:
    documents = [run(scenario=all_kinds(tmp_path)) for _ in range(2)]
    assert documents[0]["fidelity"]["verdict"] == "faithful", documents[0]["fidelity"]
    assert documents[0]["digest"] == documents[1]["digest"]


def test_the_duration_of_set_up_does_not_change_a_run(run: Run, tmp_path: Path) -> None:
    """FQ-PIE's burst of losses ends in a burst of packets, more than softirqs do in one go."""
    hook = tmp_path / "hook.py"
    digests = set()
    for wait_ns in (0, 50_000, 101_000):
        wait = f"system.Timer().sleep_until(system.monotonic_ns() + {wait_ns})"
        hook.write_text(
            f"from orchestrator.testbed.kernel import system\n\n{wait}\n", encoding="utf-8"
        )
        document = run(f"{QUEUE}={{kind: fq_pie}}", "duration=3s", "warmup=1s", hook=hook)
        digests.add(document["digest"])
    assert len(digests) == 1


def test_settings_changed_during_a_run_are_detected(run: Run, tmp_path: Path) -> None:
    hook = tmp_path / "tamper.py"
    hook.write_text(f"TAMPERED = {TAMPERED}\n{TAMPER}", encoding="utf-8")
    document = run(scenario=all_kinds(tmp_path), hook=hook)
    assert document["status"] == "ok", document["error"]
    assert "settings_changed" in failed_checks(document)
    (check,) = [c for c in document["fidelity"]["checks"] if c["name"] == "settings_changed"]
    # Of each group two links, each with two directions.
    assert check["measured"] == 4 * len(KINDS), check["detail"]


def test_a_policer_changed_during_a_run_is_detected(run: Run, tmp_path: Path) -> None:
    scenario = tmp_path / "open-loop.yaml"
    scenario.write_text(OPEN_LOOP, encoding="utf-8")
    hook = tmp_path / "tamper.py"
    hook.write_text(
        """
from orchestrator.testbed.network.queues import qdisc
from orchestrator.testbed.network import redirect

link = bed.links["bottleneck"]
(name, source), (_name, sink) = link.device("a"), link.device("b")
body = qdisc.TCMSG.pack(0, source, 0, qdisc.INGRESS, 0)
bed.wires.request(45, 0, body, "removing the filter")  # RTM_DELTFILTER
policer = link.spec["forward"]["policer"]
settings = [
    {**s, "value": s["value"] * 3 // 2} if s["name"] == "rate_bytes_per_s" else s
    for s in policer["settings"]
]
changed = {"settings": settings}
redirect.add_redirect(bed.wires, source, qdisc.INGRESS, sink, name, changed)
bed.wires.flush()
""",
        encoding="utf-8",
    )
    document = run(
        "topology.bottleneck.policer={forward: {rate: 4mbit, burst: 15140B}}",
        "flows.flow.traffic.rate=8mbit",
        "duration=4s",
        "warmup=1s",
        scenario=scenario,
        hook=hook,
    )
    policed = {"policer_rate", "policer_burst", "policed_rate"}
    assert failed_checks(document) == {"settings_changed", *policed}
