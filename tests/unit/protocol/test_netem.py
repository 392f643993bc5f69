"""Impairments in the units and attributes of sch_netem."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.protocol.links import netem
from orchestrator.protocol.links.netem import IndependentLoss, Jitter, Netem, Reordering
from orchestrator.protocol.links.qdisc import Setting
from orchestrator.testbed.network.queues import qdisc


def values(settings: tuple[Setting, ...]) -> dict[str, int | str]:
    return {setting.name: setting.value for setting in settings}


@pytest.mark.parametrize(
    ("probability", "steps"), [(1e-8, 43), (0.0, 0), (1.0, 2**32), (0.5, 2**31), (2.0**-31, 2)]
)
def test_probabilities_are_in_netems_units(probability: float, steps: int) -> None:
    assert netem.chance_steps(probability) == steps
    threshold = netem.chance_threshold(probability)
    assert 0 <= threshold < 2**32
    assert netem.threshold_chance(threshold) == steps * 2.0**-32


def test_a_netem_has_the_attributes_of_the_kernels_header() -> None:
    whole = Netem(
        0.01, 7, IndependentLoss(0.5), Jitter(1000, (8192, -8192)), Reordering(0.25, 3), 0.5, 0.125,
        keep_order=True,
    ).qdisc()  # fmt: skip
    assert whole.kind == "netem"
    packed = qdisc.pack(whole.document()["settings"])
    fixed, rest = np.frombuffer(packed[:24], "<u4").tolist(), packed[24:]
    assert fixed == [0, 10_000_000, 2**31 - 1, 3, 2**31 - 1, 0]
    found = {}
    while rest:
        length, kind = np.frombuffer(rest[:4], "<u2").tolist()
        found[kind] = rest[4:length]
        rest = rest[-(-length // 4) * 4 :]
    assert found == {
        10: (10_000_000).to_bytes(8, "little"),  # LATENCY64
        14: (7).to_bytes(8, "little"),  # PRNG_SEED
        11: (1000).to_bytes(8, "little"),  # JITTER64
        2: np.array([8192, -8192], "<i2").tobytes(),  # DELAY_DIST
        8: (2**62).to_bytes(8, "little"),  # RATE64
        3: np.array([2**30 - 1, 0], "<u4").tobytes(),  # REORDER
        4: np.array([2**29 - 1, 0], "<u4").tobytes(),  # CORRUPT
    }


def test_unused_impairments_are_not_sent() -> None:
    plain = values(Netem(0.01, 7).qdisc().settings)
    assert plain == {
        "limit_packets": 10_000_000, "jitter_ticks": 0, "delay_ns": 10_000_000, "seed": 7,
    }  # fmt: skip


def test_a_uniform_jitter_after_a_table_is_a_table() -> None:
    assert values(netem.jitter_settings(Jitter(1000))) == {"jitter_ns": 1000}
    tabled = values(netem.jitter_settings(Jitter(1000), tabled=True))
    entries = np.frombuffer(bytes.fromhex(str(tabled["jitter_table"])), "<i2") / 8192
    assert len(entries) == 4096
    assert entries.mean() == 0
    assert (entries[0], entries[-1]) == (-1 + 1 / 4096, 1 - 1 / 4096)
    assert (np.diff(entries) == 2 / 4096).all()
    assert values(netem.jitter_settings(None, tabled=True)) == {"jitter_ns": 0}


def test_an_offset_is_a_table_of_one_entry() -> None:
    assert Jitter.offset(-5) == Jitter(5, (-8192,))
    assert Jitter.offset(0) == Jitter(0, (8192,))
    assert set(values(netem.jitter_settings(Jitter.offset(0)))) == {"jitter_ns", "jitter_table"}
