"""Checks that a scenario's figures and expectations are of what the scenario has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import TypeAdapter, ValidationError

from orchestrator.errors import Fault, ScenarioError
from orchestrator.scenario.document import Node, find, nearest, parse, plain
from orchestrator.scenario.model import Scenario
from orchestrator.units import shown
from results.experiment.names import ScenarioNames
from results.figures import FIGURES, FigureSpec
from results.matrix.axes import axes


def figures_of(text: str) -> list[FigureSpec]:
    """Return the figures that a scenario's text names.

    The rest of the text is not validated: the folder of a user's module need not be there.

    Raises:
        ScenarioError: this version of the program refuses the figures.
    """
    tree, faults = parse(text, "scenario")
    node = find(tree, ("figures",)) if tree is not None else None
    if node is None:
        return []
    try:
        return TypeAdapter(list[Annotated[FigureSpec, FIGURES]]).validate_python(plain(node))
    except ValidationError as error:
        raise ScenarioError([*faults, node.mark.fault(f"figures: {error}")]) from None


def figure_faults(
    scenario: Scenario, tree: Node, variants: Sequence[Mapping[str, object]]
) -> Iterator[Fault]:
    """Yield the faults of its figures and expectations; ``variants`` are values by axis."""
    if not scenario.figures and not scenario.expect:
        return

    names = ScenarioNames(
        axes(variants),
        [flow.name for flow in scenario.flows],
        [window.name for window in scenario.measure],
    )
    for index, expectation in enumerate(scenario.expect):
        for path, message in expectation.faults(names):
            yield nearest(tree, ("expect", index, *path)).fault(message)
    first: dict[str, int] = {}
    for index, figure in enumerate(scenario.figures):
        figure_path = ("figures", index)
        for path, message in figure.faults(names):
            yield nearest(tree, (*figure_path, *path)).fault(message)
        if first.setdefault(figure.file, index) != index:
            where = nearest(tree, ("figures", first[figure.file], "file"))
            yield nearest(tree, (*figure_path, "file")).fault(
                f"{shown(figure.file)} is the file of two figures; first at line {where.line}, "
                f"column {where.column}"
            )
