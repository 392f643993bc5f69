"""Makes the runs of a matrix, and computes its cells.

A cell says what an incumbent has beside a newcomer, and how that differs from what it has beside
itself. Ware et al. (HotNets 2019) accept the harm that the incumbent does to itself, and define
harm by what it has alone. That is the same on both sides of their bound, so that the difference
decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.application import making_runs
from orchestrator.errors import RunError
from orchestrator.evaluation.judging import Group, PairKey, groups_of
from orchestrator.evaluation.verdicts import Grade, decide, mean
from orchestrator.planning.plan import Plan
from results.experiment.model import Interval
from results.records.model import RunRow, Variant
from results.store.store import Store

if TYPE_CHECKING:
    from orchestrator.application.events import Listener
    from orchestrator.application.making_runs import RunSettings
    from orchestrator.evaluation.matrix.prepared import PreparedMatrix
    from orchestrator.evaluation.model import Row

INCUMBENT, NEWCOMER = "incumbent", "newcomer"
"""The flow entries of the scenario: of the second control of a pair, and of the first one."""


@dataclass(frozen=True)
class MatrixCell:
    """What an incumbent has beside a newcomer, in the metric's unit.

    ``change`` is the mean difference from what it has beside itself in the runs of the same seeds,
    as a share of the latter; None on the diagonal. ``verdict`` is that of the row of `harm`.
    """

    row: Row
    variant: Variant
    newcomer: str
    incumbent: str
    value: Interval
    change: Interval | None
    verdict: Grade | None
    n: int
    runs: Sequence[str]


@dataclass(frozen=True)
class HarmMatrix:
    """The cells, the runs in the order of the plan, and the exit status."""

    prepared: PreparedMatrix
    cells: Sequence[MatrixCell]
    rows: Sequence[RunRow]

    @property
    def status(self) -> int:
        """1 if a run failed."""
        failed = any(row.status != "ok" for row in self.rows)
        return RunError.exit_status if failed else 0


def make(prepared: PreparedMatrix, settings: RunSettings, listener: Listener) -> HarmMatrix:
    """Make the runs that are missing, and compute the cells."""
    plan = Plan.joined(one.plan for one in prepared.experiments.values())
    ids = iter(making_runs.make_runs(plan, True, settings, listener))
    with Store.open_read_only(settings.db) as store:
        rows = {
            pair: [store.load(next(ids)).row for _run in one.plan.runs]
            for pair, one in prepared.experiments.items()
        }
        cells = [cell for row in prepared.rows for cell in cells_of(prepared, row, rows, store)]
    return HarmMatrix(prepared, cells, [each for made in rows.values() for each in made])


def cells_of(
    prepared: PreparedMatrix, row: Row, rows: Mapping[PairKey, Sequence[RunRow]], store: Store
) -> Iterator[MatrixCell]:
    """Yield the cells of a row, newcomer by newcomer; ``rows`` has the runs of each pair."""
    flows = {
        flow: {
            pair: groups_of(row.model_copy(update={"flow": flow}), made, store)
            for pair, made in rows.items()
        }
        for flow in (INCUMBENT, NEWCOMER)
    }
    names = [one.name for one in prepared.controls]
    itself = {
        name: {
            place: _both(group, flows[NEWCOMER][name, name][place])
            for place, group in flows[INCUMBENT][name, name].items()
        }
        for name in names
    }
    for newcomer in names:
        for incumbent in names:
            if newcomer == incumbent:
                for group in itself[incumbent].values():
                    yield _cell(row, newcomer, incumbent, group, None)
                continue
            known = (newcomer, incumbent) in rows
            flow = INCUMBENT if known else NEWCOMER
            pair = (newcomer, incumbent) if known else (incumbent, newcomer)
            for place, group in flows[flow][pair].items():
                yield _cell(row, newcomer, incumbent, group, itself[incumbent][place])


def _both(one: Group, other: Group) -> Group:
    """Return the mean of both flows of a control beside itself in each run.

    Which of them is the newcomer is a mere name there, and two flows of a kind never have exactly
    equal shares in a minute.
    """
    there = one.values.keys() & other.values.keys()
    return Group({at: (one.values[at] + other.values[at]) / 2 for at in there}, one.variant)


def _cell(row: Row, newcomer: str, incumbent: str, group: Group, base: Group | None) -> MatrixCell:
    measured = group.measured(incumbent)
    change, verdict = None, None
    if base is not None:
        both = sorted(group.values.keys() & base.values.keys())
        beside, alone = ([each.values[at] for at in both] for each in (group, base))
        identical = group.identical and base.identical
        change = _change(beside, alone, identical)
        missing = max(group.missing, base.missing)
        verdict = decide(row, beside, alone, identical, missing).verdict
    return MatrixCell(
        row, group.variant.variant, newcomer, incumbent, measured.interval, change, verdict,
        measured.n, measured.runs,
    )  # fmt: skip


def _change(beside: Sequence[float], alone: Sequence[float], identical: bool) -> Interval:
    """Return the mean difference as a share of the mean beside itself, with its 95% interval."""
    differences = mean([x - y for x, y in zip(beside, alone, strict=True)], identical)
    whole = sum(alone) / len(alone) if alone else 0.0
    if not whole:
        return Interval(None, None, None)
    return Interval(*(None if end is None else end / whole for end in
                      (differences.mean, differences.low, differences.high)))  # fmt: skip
