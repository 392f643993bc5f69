"""Kinds of queues: settings in the kernel, and refused values."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import ScenarioError
from orchestrator.kinds.queues import QueueFault
from orchestrator.kinds.queues._red import idle_table, weight_log
from orchestrator.network import Queue
from orchestrator.planning.plan import plan
from orchestrator.scenario import load

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
QUEUE = "topology.bottleneck.queue"
RED = "kind: red, limit: 100p, min: 10p, max: 30p"


def queue(text: str) -> Queue:
    """The forward queue of the quickstart's bottleneck of 10 Mbit/s."""
    run = plan(load(QUICKSTART, [f"{QUEUE}={{{text}}}"])).runs[0]
    found = run.network.links[0].forward.queue
    assert found is not None
    return found


def sent(text: str) -> dict[str, Any]:
    return {setting.name: setting.value for setting in queue(text).qdisc.settings}


def read(text: str) -> dict[str, Any]:
    """Return the values that must be read back."""
    settings = [setting.document() for setting in queue(text).qdisc.settings]
    return {setting["name"]: setting["expected"] for setting in settings}


DEFAULTS = {
    "codel": ("codel", {"target_us": 5000, "limit_packets": 1000, "interval_us": 100_000}),
    "fq_codel": (
        "fq_codel",
        {"limit_packets": 10240, "flows": 1024, "quantum_bytes": 1514, "ecn": 1},
    ),
    "pie": (
        "pie",
        {"target_us": 15_000, "tupdate_us": 15_000, "alpha_sixteenths": 2, "beta_sixteenths": 20},
    ),
    "fq_pie": ("fq_pie", {"limit_packets": 10240, "flows": 1024, "ecn_percent": 10, "ecn": 0}),
    "fq": ("fq", {"limit_packets": 10_000, "flow_limit_packets": 100, "pacing": 0}),
    "sfq": ("sfq", {"limit_packets": 127, "depth_packets": 127, "flows": 128, "divisor": 1024}),
    "dualpi2": (
        "dualpi2",
        {
            "limit_packets": 10_000,
            "target_us": 15_000,
            "tupdate_us": 16_000,
            "alpha_256ths": 41,
            "beta_256ths": 819,
            "step_us": 1000,
            "coupling": 2,
            "classic_protection": 10,
            "l_queue_ecn": 1,
            "split_gso": 1,
        },
    ),
    "cake": ("cake", {"rtt_us": 100_000, "target_us": 5000, "diffserv_mode": 3, "flow_mode": 7}),
}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_a_kind_without_keys_has_the_defaults_of_the_kernel_or_the_rfc(kind: str) -> None:
    name, expected = DEFAULTS[kind]
    assert queue(f"kind: {kind}").qdisc.kind == name
    assert sent(f"kind: {kind}").items() >= expected.items()


def test_values_that_the_kernel_rounds_are_expected_rounded() -> None:
    # CoDel counts in 1024 ns, PIE in 64 ns and in ticks of 4 ms.
    assert read("kind: codel, target: 5ms, interval: 100ms")["target_us"] == 4999
    assert read("kind: codel, interval: 102400us")["interval_us"] == 102_400
    found = read("kind: pie, target: 15001us, tupdate: 17ms")
    assert (found["target_us"], found["tupdate_us"]) == (15_000, 20_000)
    assert read("kind: sfq, flows: 200, limit: 100p")["flows"] == 100
    # dualpi2_scale_alpha_beta() and its inverse of sch_dualpi2.c each round down.
    found = read("kind: dualpi2")
    assert (found["alpha_256ths"], found["beta_256ths"]) == (40, 818)


def test_the_statistics_of_dualpi2_are_where_the_kernel_has_them() -> None:
    """struct tc_dualpi2_xstats of include/uapi/linux/pkt_sched.h, but for its memory_limit."""
    fields = ("prob", "delay_c", "delay_l", "packets_in_c", "packets_in_l", "maxq", "ecn_mark",
              "step_marks", "credit", "memory_used", "max_memory_used")  # fmt: skip
    kernels = {
        "probability": "prob", "classic_delay": "delay_c", "l_queue_delay": "delay_l",
        "classic_enqueued": "packets_in_c", "l_queue_enqueued": "packets_in_l",
        "largest_queue": "maxq", "marks": "ecn_mark", "step_marks": "step_marks",
        "classic_credit": "credit", "memory": "memory_used", "largest_memory": "max_memory_used",
    }  # fmt: skip
    found = {one.name: one for one in queue("kind: dualpi2").qdisc.statistics}
    # Packets without room are the overlimits of struct gnet_stats_queue.
    assert found.pop("overflow_drops").words == (((7, 3), 16),)
    assert {name: one.words for name, one in found.items()} == {
        name: (((7, 4), 4 * fields.index(field)),) for name, field in kernels.items()
    }
    assert [name for name, one in found.items() if one.signed] == ["classic_credit"]
    # A digest covers the first four, so these stay the first ones.
    assert list(found)[:4] == ["marks", "probability", "classic_delay", "l_queue_delay"]


def test_the_step_of_dualpi2_is_a_time_or_a_number_of_packets() -> None:
    found = sent("kind: dualpi2, step_packets: 5, l_queue_ecn: any, memory_limit: 1MB")
    assert (found["step_packets"], found["l_queue_ecn"]) == (5, 3)
    assert found["memory_limit_bytes"] == 1_000_000
    assert "step_us" not in found
    with pytest.raises(ScenarioError, match=r"the kernel takes 4\.29s at most"):
        queue("kind: dualpi2, step: 5s")


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("kind: codel, limit: 150kB", "limit_packets", 99),
        ("kind: pie, limit: 20ms", "limit_packets", 16),
        ("kind: fq_codel, limit: 1bdp", "limit_packets", 82),
        (RED, "limit_bytes", 151_400),
        ("kind: red, limit: 2bdp, min: 5ms, max: 60kB", "min_bytes", 6250),
        ("kind: cake, limit: 100p", "memory_bytes", 230_400),
    ],
)
def test_lengths_are_in_the_kernels_units(text: str, name: str, value: int) -> None:
    assert sent(text)[name] == value


def test_the_recorded_limit_is_the_kernels() -> None:
    assert (queue("kind: codel, limit: 150kB").limit_packets) == 99
    assert (queue(RED).limit_bytes, queue(RED).limit_packets) == (151_400, None)
    assert queue("kind: cake, limit: 100p").limit_packets == 100


def test_reds_settings_are_exactly_the_requested_ones() -> None:
    found = sent(f"{RED}, probability: 10%, weight: 0.002, ecn: true, nodrop: true")
    assert found["probability_q32"] == round(0.1 * 2**32)
    assert (found["weight_log"], found["min_bytes"], found["max_bytes"]) == (9, 15_140, 45_420)
    # Flags go by the attribute of their own, and only the old ones are reported in the structure.
    assert (found["flags"], found["flags_all"]) == (0, 9)
    assert read(f"{RED}, ecn: true, nodrop: true")["flags"] == 1
    assert 0.05 <= (45_420 - 15_140) / 2 ** found["slope_log"] <= 0.1  # max_p, roughly


def test_adaptive_red_chooses_parameters_as_floyd_specifies() -> None:
    found = sent("kind: ared, limit: 200p")
    assert (found["min_bytes"], found["max_bytes"]) == (7570, 22_710)  # 5 packets at 10 Mbit/s
    assert 2.0 ** -found["weight_log"] == pytest.approx(1 - math.exp(-1 / 825.6), rel=0.42)
    slow = sent("kind: ared, limit: 200p, target: 100ms")
    assert (slow["min_bytes"], slow["max_bytes"]) == (62_500, 187_500)
    assert found["flags"] == 4
    assert read("kind: ared, limit: 200p")["probability_q32"] is None  # the kernel moves it


@pytest.mark.parametrize("log", [1, 4, 9, 14])
@pytest.mark.parametrize("rate_bps", [5_000_000, 10_000_000, 10_000_000_000])
def test_the_average_decays_while_idle_as_in_the_paper(log: int, rate_bps: int) -> None:
    """(1 - w)^(t / s) within a factor of two, as red_calc_qavg_from_idle_time computes it."""
    cell_log, table = idle_table(log, 1514, rate_bps)
    assert (len(table), table[0]) == (256, 0)
    assert max(table) < 32
    packet_us = 1514 * 8e6 / rate_bps
    average = 2**30
    for packets in (0.1, 0.3, 1, 3, 10):
        idle_us = int(packets * 2**log * packet_us)
        if idle_us < 2:
            continue  # the kernel counts whole microseconds
        expected = (1 - 2.0**-log) ** (idle_us / packet_us)
        within = min(idle_us, 255 << cell_log)
        shift = table[(within >> cell_log) & 255]
        if shift:
            left = average >> shift
        else:
            gone = (average * within) >> cell_log
            left = average - gone if gone < average >> 1 else average >> 1
        if expected > 2**-20:
            assert 0.49 <= left / average / expected <= 2.05, (packets, left / average, expected)


def test_with_a_weight_of_1_the_average_is_the_queue() -> None:
    assert weight_log(1.0) == 0
    assert idle_table(0, 1514, 10**7) == (0, bytes([0] + [31] * 255))


def test_an_average_slower_than_the_kernel_can_count_is_refused() -> None:
    with pytest.raises(QueueFault, match="would halve in 67 s; the kernel counts 47 s at most"):
        idle_table(9, 1514, 64_000)


@pytest.mark.parametrize(
    ("text", "key", "why"),
    [
        (f"{RED}, weight: 0.003", "weight", "powers of two; the nearest are 0.001953 or 0.003906"),
        ("kind: red, limit: 100p, min: 30p, max: 10p", "max", "is below min of 45420 bytes"),
        ("kind: red, limit: 20p, min: 10p, max: 30p", "limit", "is below max of 45420 bytes"),
        ("kind: red, limit: 9000p, min: 10p, max: 3000p", "max", "at most 4194303 bytes"),
        ("kind: red, limit: 100p, min: 1us, max: 30p", "min", "min of 1us holds 1 bytes"),
        (f"{RED}, nodrop: true", "nodrop", "nodrop needs `ecn: true`"),
        ("kind: codel, target: 500ns", "target", "the kernel takes whole microseconds"),
        ("kind: codel, interval: 2h", "interval", "whole microseconds below 2^32"),
        ("kind: fq_codel, limit: 600000p", "limit", "at most 524288p"),
        ("kind: sfq, limit: 1p", "limit", "2 to 16256"),
        ("kind: sfq, limit: 2000p, flows: 10", "limit", "2 to 1270"),
        ("kind: cake, limit: 3000000p", "limit", "at most 1864135p"),
    ],
)
def test_what_the_kernel_cannot_do_is_refused_at_its_place(text: str, key: str, why: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        queue(text)
    (fault,) = refused.value.faults
    assert why in fault.message
    column = f"{QUEUE}={{{text}}}".index(f"{key}:") + 1
    assert fault.column in (column, column + len(key) + 2), fault


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{RED}, probability: 0", "must be above zero"),
        ("kind: pie, alpha: 0.1", "sixteenths; the nearest is 0.125"),
        ("kind: pie, target: 5s", "target of 5s: the kernel reports 4294ms at most"),
        (f"{RED}, weight: heavy", "must be a number, not `heavy`"),
        ("kind: sfq, divisor: 1000", "must be a power of two"),
        ("kind: sfq, perturb: 1.5s", "whole seconds"),
        ("kind: fq_codel, quantum: 100B", "the kernel takes 256B to 1MiB"),
        ("kind: red, limit: 100p, min: 10p", "`max`"),
        ("kind: cake, isolation: host", "dual-dsthost, triple-isolate"),
        ("kind: codell", "did you mean `codel`?"),
    ],
)
def test_impossible_values_of_a_queue_are_refused(text: str, why: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        queue(text)
    assert why in str(refused.value), str(refused.value)


def test_every_kinds_statistics_fit_into_a_sample() -> None:
    from orchestrator.recording.model import STATISTIC_SLOTS

    for text in [*(f"kind: {kind}" for kind in DEFAULTS), RED, "kind: ared, limit: 99p"]:
        qdisc = queue(text).qdisc
        assert len(qdisc.statistics) <= STATISTIC_SLOTS
        assert len(qdisc.document()["words"]) == sum(len(one.words) for one in qdisc.statistics)
