"""What a matrix of harm needs: the controls, and an experiment of each pair of them.

The scenario is that of the criterion `harm`. Both flows have equal paths and begin together, so
that the runs of a pair tell of both directions: what each control does to the other one.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import UsageError
from orchestrator.evaluation import controls, experiments, loading
from orchestrator.units import shown

if TYPE_CHECKING:
    from orchestrator.evaluation.controls import Control
    from orchestrator.evaluation.experiments import CardExperiment, Length
    from orchestrator.evaluation.judging import PairKey
    from orchestrator.evaluation.model import Criterion, Row

CRITERION = "harm"
ROWS = ("throughput", "latency", "loss")
"""Rows of the criterion that compare with the incumbent beside itself."""


@dataclass(frozen=True)
class MatrixRequest:
    """Which controls are compared, each with each.

    Attributes:
        names: congestion controls, or folders of modules' sources; two at least.
        folder: where the matrix is written.
        length: "quick" or "full", of the criterion `harm`.
        kernel: the guest's kernel, as a scenario names it; the default one where it is None.
    """

    names: Sequence[str]
    folder: Path
    length: Length = "quick"
    kernel: str | None = None


@dataclass(frozen=True)
class PreparedMatrix:
    """The controls, the rows that are measured, and the experiments by their pairs."""

    request: MatrixRequest
    controls: Sequence[Control]
    criterion: Criterion
    experiments: Mapping[PairKey, CardExperiment]

    @property
    def rows(self) -> list[Row]:
        """The rows that are measured."""
        return [row for row in self.criterion.rows if row.id in ROWS]


def prepare(request: MatrixRequest) -> PreparedMatrix:
    """Find the controls and plan the runs of each pair, and of each control beside itself.

    Raises:
        ScenarioError: a control cannot be used in a scenario.
        UsageError: there are fewer than two controls, an unknown one, or two of one name.
    """
    if not all(request.names):
        raise UsageError("--matrix: a name is missing between commas, as in --matrix cubic,reno")
    found = [controls.candidate(name) for name in dict.fromkeys(request.names)]
    names = [one.name for one in found]
    for one in found:
        if names.count(one.name) > 1 or (one.folder and one.name in controls.known_controls()):
            raise UsageError(
                f"--matrix: several controls have the name {shown(one.name)}\n"
                "  fix: rename a module's, or leave one out"
            )
    if len(found) < 2:
        raise UsageError("--matrix: give two controls at least, such as --matrix cubic,reno")
    criterion = loading.load_all()[CRITERION]
    pairs = [
        experiments.Pairing(*pair) for pair in itertools.combinations_with_replacement(found, 2)
    ]
    planned = experiments.prepare(
        CRITERION, criterion, pairs, request.length, request.folder, request.kernel
    )
    return PreparedMatrix(request, found, criterion, {one.pairing.key: one for one in planned})
