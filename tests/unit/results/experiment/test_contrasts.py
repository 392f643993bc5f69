"""Differences: what is a family, and that each label follows from the interval that is shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import UsageError
from results.experiment import contrasts
from results.experiment.contrasts import ComparedSides, contrast, judge
from results.experiment.model import Comparison
from results.experiment.observations import Observation, VariantValues
from results.experiment.values import Subject
from results.matrix.axes import axes
from results.statistics.differences import bonferroni, paired

Numbers = Sequence[float]


def observed(values: Numbers, first_seed: int = 0) -> list[Observation]:
    return [
        Observation(f"r{place}", first_seed + place, place, value)
        for place, value in enumerate(values)
    ]


def family(series: Sequence[tuple[Numbers, Numbers]], seeds: int = 0) -> list[Comparison]:
    place = ComparedSides("a", "b", "goodput_bps")
    return judge([contrast(observed(a), observed(b, seeds), place) for a, b in series])


few = st.lists(st.floats(-1e9, 1e9).map(lambda value: round(value, 3)), min_size=1, max_size=6)
sameness = st.sampled_from([0, 1000])
"""Seeds of the second sample begin here: paired, or independent."""


@pytest.mark.slow
@given(st.lists(st.tuples(few, few), min_size=1, max_size=8), sameness)
def test_a_label_follows_from_the_interval_that_is_shown(
    series: list[tuple[list[float], list[float]]], seeds: int
) -> None:
    for found in family(series, seeds):
        low, high = found.low_family, found.high_family
        if low is None or high is None:
            assert found.label == contrasts.TOO_FEW
            assert found.low is None
            continue
        assert found.low is not None
        assert found.high is not None
        excludes_zero = not low <= 0 <= high
        assert (found.label != contrasts.NONE_SHOWN) == excludes_zero
        assert low <= found.low <= found.high <= high
        assert found.sign == (np.sign(found.mean) if excludes_zero else 0)
        if excludes_zero:
            higher = found.label.split()[0]
            assert higher == ("b" if found.mean > 0 else "a")
        if found.p is None:
            continue
        assert found.p_family is not None
        assert found.p_holm is not None
        if abs(found.p_family - 0.05) > 1e-9:
            assert (found.p_family < 0.05) == excludes_zero
            assert found.p <= found.p_holm <= found.p_family


def _ends(one: Comparison) -> tuple[float, float]:
    assert one.low is not None
    assert one.high is not None
    return one.low, one.high


def test_the_intervals_of_a_family_hold_together() -> None:
    """Of 400 families of 10 differences of zero, at most about 5% have a result."""
    draw = np.random.default_rng(1)
    wrong = alone = 0
    for _number in range(400):
        series = [(draw.normal(size=5).tolist(), draw.normal(size=5).tolist()) for _ in range(10)]
        made = family(series)
        wrong += any(one.sign for one in made)
        alone += any(not low <= 0 <= high for low, high in map(_ends, made))
    assert wrong <= 0.08 * 400
    assert alone > 0.25 * 400  # intervals of 95% each do not


def test_the_interval_has_bonferronis_level() -> None:
    a, b = [1.0, 2.0, 4.0], [2.0, 4.5, 5.0]
    found = family([(a, b), (a, [3.0, 5.0, 9.0]), ([1.0], [2.0])])
    assert [one.family_n for one in found] == [2, 2, 2]  # a single value is no test
    expected = paired(a, b, bonferroni(2))
    assert expected is not None
    assert found[0].low_family == pytest.approx(expected.low)
    assert found[0].high_family == pytest.approx(expected.high)


def test_equal_differences_are_one_of_a_family() -> None:
    """A run with one flow has the flow's goodput: nothing more is asked."""
    a, b = [1.0, 2.0, 4.0], [2.0, 4.5, 5.0]
    (once,) = family([(a, b)])
    for one in family([(a, b), (a, b)]):
        assert one == once
        assert one.low_family == pytest.approx(one.low)


def test_a_difference_that_is_the_same_in_each_run_is_one() -> None:
    (found,) = family([([1.0, 2.0], [2.0, 3.0])])
    assert found.label == "b above a, the same in each run"
    (none,) = family([([1.0, 2.0], [1.0, 2.0])])
    assert none.label == contrasts.NONE_SHOWN


def variants() -> list[VariantValues]:
    """Two rates, three controls and two flow entries: 6 differences of flows, 18 along an axis."""
    made = []
    draw = np.random.default_rng(2)
    for rate in ("5mbit", "10mbit"):
        for control in ("reno", "cubic", "bbr"):
            values = {
                (subject, "goodput_bps"): observed(draw.normal(size=3).tolist())
                for subject in (Subject(), Subject("mine"), Subject("cross"))
            }
            variant = {"rate": rate, "control": control}
            made.append(VariantValues(variant, values=values, entries=["mine", "cross"]))
    return made


@pytest.mark.parametrize(
    ("by", "compare", "sizes"),
    [
        ((), (), {None: 6, "control": 18}),  # each question is a family of its own
        ((), ("mine,cross",), {None: 6}),
        ((), ("reno,bbr",), {"control": 6}),
        (("control",), (), {"control": 18}),
        (("rate",), (), {"rate": 9}),
        (("control",), ("reno,cubic", "reno,bbr"), {"control": 12}),
        ((), ("mine,cross", "reno,bbr"), {None: 6, "control": 6}),
    ],
)
def test_a_family_is_what_one_question_asks(
    by: tuple[str, ...], compare: tuple[str, ...], sizes: dict[str | None, int]
) -> None:
    groups = variants()
    there = axes([dict(group.variant) for group in groups])
    asked = contrasts.questions(groups, there, by, compare)
    found = contrasts.contrasts(groups, there, ["goodput_bps"], asked)
    assert contrasts.families(found) == {("goodput_bps", axis): n for axis, n in sizes.items()}
    assert len(found) == sum(sizes.values())


def test_names_that_fit_several_axes_need_one() -> None:
    groups = [
        VariantValues({"first": a, "second": b}) for a in ("x", "y") for b in ("x", "y")
    ]  # fmt: skip
    there = axes([dict(group.variant) for group in groups])
    with pytest.raises(UsageError, match="several axes have these values: first, second"):
        contrasts.questions(groups, there, (), ("x,y",))
    (asked,) = contrasts.questions(groups, there, ("second",), ("x,y",))
    assert asked.along is not None
    assert asked.along.label == "second"
