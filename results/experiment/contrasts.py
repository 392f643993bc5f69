"""Which differences an answer has, and what each of them shows.

A difference is ``b - a``: of two flow entries of the same runs, or of two variants that differ in
one axis. Values are paired by seed. Variants without a common seed are independent samples, and
``method`` is "welch", not "paired".

A family is what one question asks: all differences of one metric in one answer that are of flow
entries, or along one axis. ``low_family`` and ``high_family`` are the
ends of an interval of 1 - 0.05 / ``family_n`` (Bonferroni), so that all intervals of the family
hold together with 95%. ``label`` says what this interval shows: a difference where it excludes
zero. ``p_family`` is ``p`` times ``family_n``, at most 1: up to 0.05 where the interval excludes
zero. ``p_holm`` is corrected by Holm's procedure over the same family.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.units import quoted_list
from results.experiment.model import Comparison
from results.experiment.observations import Observation, VariantValues
from results.experiment.values import Subject
from results.matrix.axes import Axis, key, named, shown
from results.records.model import Variant
from results.statistics.differences import Difference, bonferroni, holm, paired, welch

MOST_PAIRED = 6
"""Most flow entries, or values of an axis, of which all pairs are compared.

Of more, each is compared with the first.
"""

NONE_SHOWN = "no difference shown"
TOO_FEW = "too few repetitions"

Values = tuple[float, ...]


@dataclass(frozen=True)
class ComparedSides:
    """What a difference is of; see :class:`results.experiment.model.Comparison`."""

    a: str
    b: str
    metric: str
    variant: Variant = field(default_factory=dict)
    axis: str | None = None
    flow: str | None = None


@dataclass(frozen=True)
class Contrast:
    """A difference that its family was not asked about yet, and the values that it is of."""

    found: Difference
    values: tuple[Values, Values]
    place: ComparedSides
    a_n: int
    b_n: int

    @property
    def of(self) -> tuple[str, Values, Values]:
        """What it compares: a run and its only flow, which have equal values, share it."""
        sides = key([dict(self.place.variant), self.place.a, self.place.b])
        return (sides, *self.values)


@dataclass(frozen=True)
class Question:
    """What to compare: flow entries of the same runs, or values of the axis ``along``.

    ``names`` are the entries or values to compare, in this order; empty means all.
    """

    along: Axis | None = None
    names: Sequence[str] = field(default_factory=tuple)


def questions(
    groups: Sequence[VariantValues],
    axes: Sequence[Axis],
    by: Sequence[str] = (),
    compare: Sequence[str] = (),
) -> list[Question]:
    """Return what the user asks for by axes (``by``) and by names with commas (``compare``).

    Raises:
        UsageError: there is no such axis, flow entry or value.
    """
    along = [named(label, axes) for label in by]
    if not compare:
        return [Question(axis) for axis in along]
    entries = list(dict.fromkeys(entry for group in groups for entry in group.entries))
    return [_question(text, [] if along else entries, along or axes) for text in compare]


def _question(text: str, entries: Sequence[str], axes: Sequence[Axis]) -> Question:
    names = list(dict.fromkeys(filter(None, (part.strip() for part in text.split(",")))))
    if len(names) < 2:
        raise UsageError(
            f"compare {text}: give two names or more with commas between, such as mine,cubic"
        )
    if set(names) <= set(entries):
        return Question(None, names)
    fitting = [axis for axis in axes if set(names) <= set(map(shown, axis.values))]
    if len(fitting) == 1:
        return Question(fitting[0], names)
    if fitting:
        labels = ", ".join(axis.label for axis in fitting)
        raise UsageError(f"compare {text}: several axes have these values: {labels}; choose one by")
    valid = [f"the flow entries are {', '.join(entries)}"] if entries else []
    valid += [
        f"the values of {axis.label} are {quoted_list(map(shown, axis.values))}" for axis in axes
    ]
    raise UsageError(
        f"compare {text}: these are neither flow entries nor values of one axis"
        + (f"; {'; '.join(valid)}" if valid else "")
    )


def contrasts(
    groups: Sequence[VariantValues],
    axes: Sequence[Axis],
    metrics: Sequence[str],
    chosen_questions: Sequence[Question],
) -> list[Comparison]:
    """Return the differences that are asked for, with what each of them shows.

    Where nothing is asked for, flow entries are compared, and then the values of each axis whose
    values are no numbers.
    """
    usual = [Question(), *(Question(axis) for axis in axes if axis.numbers is None)]
    all_questions = chosen_questions or usual
    made: list[Comparison] = []
    by_path = {question.along and question.along.path: question.along for question in all_questions}
    for along in by_path.values():
        for name in metrics:
            family = [
                answer
                for question in all_questions
                if question.along == along
                for answer in _answers(groups, name, question)
            ]
            made += judge(family)
    return made


def _answers(groups: Sequence[VariantValues], name: str, question: Question) -> Iterator[Contrast]:
    if question.along is None:
        return _between_flows(groups, name, question.names)
    return _between_variants(groups, name, question.along, question.names)


def _entries(group: VariantValues, name: str) -> list[Subject]:
    return [
        subject for (subject, metric), values in group.values.items()
        if subject.flow and metric == name and values
    ]  # fmt: skip


def _between_flows(
    groups: Sequence[VariantValues], name: str, names: Sequence[str]
) -> Iterator[Contrast]:
    """Yield the differences between the flow entries of each variant."""
    for group in groups:
        entries = {entry.flow: entry for entry in _entries(group, name)}
        chosen = (
            [entries[entry_name] for entry_name in names if entry_name in entries]
            if names
            else entries.values()
        )
        for a, b in pairs(list(chosen)):
            sides = ComparedSides(a.flow, b.flow, name, group.variant)
            yield contrast(group.values[a, name], group.values[b, name], sides)


def _between_variants(
    groups: Sequence[VariantValues], name: str, axis: Axis, names: Sequence[str]
) -> Iterator[Contrast]:
    """Yield the differences between variants that are equal but for the axis."""
    for others, compared in differing_only_in(groups, axis):
        by_value = {shown(group.variant[axis.path]): group for group in compared}
        chosen = [by_value[value] for value in names if value in by_value] if names else compared
        for first, second in pairs(chosen):
            a, b = (shown(group.variant[axis.path]) for group in (first, second))
            for (subject, metric), values in first.values.items():
                other = second.values.get((subject, metric), [])
                if metric == name and values and other:
                    sides = ComparedSides(a, b, name, others, axis.path, subject.flow)
                    yield contrast(values, other, sides)


def differing_only_in(
    groups: Sequence[VariantValues], axis: Axis
) -> list[tuple[Variant, list[VariantValues]]]:
    """Return the groups that differ in an axis only, by their values on the other axes."""
    by_others: dict[str, tuple[Variant, list[VariantValues]]] = {}
    for group in groups:
        if axis.path in group.variant:
            others = {path: value for path, value in group.variant.items() if path != axis.path}
            by_others.setdefault(key(others), (others, []))[1].append(group)
    return list(by_others.values())


def pairs(items: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return all pairs of a few items; of many, each with the first."""
    if len(items) <= MOST_PAIRED:
        return list(combinations(items, 2))
    return [(items[0], other) for other in items[1:]]


def contrast(a: Sequence[Observation], b: Sequence[Observation], sides: ComparedSides) -> Contrast:
    """Return the difference of two series: paired by seed if they have a common one."""
    others = {observation.seed: observation.value for observation in b}
    both = [
        (observation.value, others[observation.seed])
        for observation in a
        if observation.seed in others
    ]
    first, second = (
        tuple(observation.value for observation in a),
        tuple(observation.value for observation in b),
    )
    if both:
        first, second = tuple(value for value, _ in both), tuple(value for _, value in both)
        difference = paired(first, second)
    else:
        difference = welch(first, second)
    if difference is None:
        raise AssertionError("a series without values is no series")
    return Contrast(difference, (first, second), sides, len(a), len(b))


def judge(family: Sequence[Contrast]) -> list[Comparison]:
    """Return what the differences of a family show, by intervals that hold together.

    A difference without an interval shows nothing, and does not count. A run and its only flow,
    which have equal values, count once.
    """
    distinct = {
        of_family.of: of_family.found for of_family in family if of_family.found.low is not None
    }
    corrected = dict(
        zip(distinct, holm([of_family.p for of_family in distinct.values()]), strict=True)
    )
    confidence = bonferroni(len(distinct))
    return [
        _judged(of_family, corrected.get(of_family.of), confidence, len(distinct))
        for of_family in family
    ]


def _judged(
    of_family: Contrast, p_holm: float | None, confidence: float, number: int
) -> Comparison:
    difference = of_family.found
    low, high = difference.interval(confidence)
    made = Comparison(
        **vars(of_family.place),
        mean=difference.mean,
        low=difference.low,
        high=difference.high,
        p=difference.p,
        p_holm=p_holm,
        effect=difference.effect,
        method=difference.method,
        paired_n=difference.n,
        a_n=of_family.a_n,
        b_n=of_family.b_n,
        low_family=low,
        high_family=high,
        p_family=None if difference.p is None else min(1.0, difference.p * number),
        family_n=number,
    )
    return replace(made, label=_label(made))


def _label(comparison: Comparison) -> str:
    if comparison.low_family is None:
        return TOO_FEW
    if not comparison.sign:
        return NONE_SHOWN
    higher, lower = (
        (comparison.b, comparison.a) if comparison.sign > 0 else (comparison.a, comparison.b)
    )
    alike = comparison.low_family == comparison.high_family
    return f"{higher} above {lower}" + (", the same in each run" if alike else "")


def families(differences: Sequence[Comparison]) -> dict[tuple[str, str | None], int]:
    """Return the number of differences in each family, by its metric and axis (None: flows)."""
    return {(difference.metric, difference.axis): difference.family_n for difference in differences}


def sentence(number: int) -> str:
    """Return what a reader must know of the intervals of a family of so many differences."""
    if not number:
        return "none has an interval"
    if number == 1:
        return "one is compared, with an interval of 95%"
    level = 100 * bonferroni(number)
    return (
        f"{number} are compared, each with an interval of {level:.5g}% (Bonferroni), so that all "
        "hold together with 95%"
    )
