"""Checks that a scenario's figures and expectations are of what the scenario has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.errors import Fault
from orchestrator.scenario.document import Node, nearest
from orchestrator.scenario.model import Scenario
from orchestrator.units import shown


def figure_faults(
    scenario: Scenario, tree: Node, variants: Sequence[Mapping[str, object]]
) -> Iterator[Fault]:
    """Yield the faults of its figures and expectations; ``variants`` are values by axis."""
    if not scenario.figures and not scenario.expect:
        return
    from results.axes import axes
    from results.figures import Surroundings

    around = Surroundings(
        axes(variants),
        [flow.name for flow in scenario.flows],
        [window.name for window in scenario.measure],
    )
    for index, expectation in enumerate(scenario.expect):
        for path, message in expectation.faults(around):
            yield nearest(tree, ("expect", index, *path)).fault(message)
    first: dict[str, int] = {}
    for index, figure in enumerate(scenario.figures):
        place = ("figures", index)
        for path, message in figure.faults(around):
            yield nearest(tree, (*place, *path)).fault(message)
        if first.setdefault(figure.file, index) != index:
            where = nearest(tree, ("figures", first[figure.file], "file"))
            yield nearest(tree, (*place, "file")).fault(
                f"{shown(figure.file)} is the file of two figures; first at line {where.line}, "
                f"column {where.column}"
            )
