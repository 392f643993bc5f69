"""Checks that a scenario's figures and expectations are of what the scenario has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import TypeAdapter, ValidationError

from orchestrator.errors import Fault, ScenarioError
from orchestrator.scenario.document import Node, find, nearest, parse, plain
from orchestrator.scenario.model import Scenario
from orchestrator.units import shown
from results.figures import FIGURES, FigureSpec


def figures_of(text: str) -> list[FigureSpec]:
    """Return the figures that a scenario's text names.

    The rest of the text is not validated: the folder of a user's module need not be there.

    Raises:
        ScenarioError: this version of the program refuses the figures.
    """
    tree, faults = parse(text, "scenario")
    found = find(tree, ("figures",)) if tree is not None else None
    if found is None:
        return []
    try:
        return TypeAdapter(list[Annotated[FigureSpec, FIGURES]]).validate_python(plain(found))
    except ValidationError as error:
        raise ScenarioError([*faults, found.mark.fault(f"figures: {error}")]) from None


def figure_faults(
    scenario: Scenario, tree: Node, variants: Sequence[Mapping[str, object]]
) -> Iterator[Fault]:
    """Yield the faults of its figures and expectations; ``variants`` are values by axis."""
    if not scenario.figures and not scenario.expect:
        return
    from results.axes import axes
    from results.figures import ScenarioNames

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
        place = ("figures", index)
        for path, message in figure.faults(names):
            yield nearest(tree, (*place, *path)).fault(message)
        if first.setdefault(figure.file, index) != index:
            where = nearest(tree, ("figures", first[figure.file], "file"))
            yield nearest(tree, (*place, "file")).fault(
                f"{shown(figure.file)} is the file of two figures; first at line {where.line}, "
                f"column {where.column}"
            )
