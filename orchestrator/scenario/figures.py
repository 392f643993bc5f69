"""Checks that a scenario's figures and expectations are of what the scenario has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import TypeAdapter, ValidationError

from orchestrator.errors import Fault, ScenarioError
from orchestrator.kinds.fields import Path, Strict
from orchestrator.kinds.traffic.program import Program
from orchestrator.scenario.document import Node, find, nearest, parse, plain
from orchestrator.scenario.model import Scenario
from orchestrator.suggestions import suggest
from orchestrator.units import listed, shown
from results.experiment.names import ScenarioNames
from results.figures import FIGURES, FigureSpec
from results.matrix.axes import axes
from results.metrics import is_extracted


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


def extracted_metrics(scenarios: Iterable[Scenario]) -> set[str]:
    """Return the metrics of flows that are numbers of programs' output in any of the variants."""
    return {
        metric
        for scenario in scenarios
        for flow in scenario.flows
        if isinstance(flow.traffic, Program)
        for metric in flow.traffic.extracted_metrics()
    }


def figure_faults(
    scenario: Scenario,
    tree: Node,
    variants: Sequence[Mapping[str, object]],
    numbers: Collection[str],
) -> Iterator[Fault]:
    """Yield the faults of its figures and expectations.

    ``variants`` are values by axis, ``numbers`` the metrics of :func:`extracted_metrics`.
    """
    if not scenario.figures and not scenario.expect:
        return

    names = ScenarioNames(
        axes(variants),
        [flow.name for flow in scenario.flows],
        [window.name for window in scenario.measure],
    )
    for index, expectation in enumerate(scenario.expect):
        for path, message in (*expectation.faults(names), *_number_faults(expectation, numbers)):
            yield nearest(tree, ("expect", index, *path)).fault(message)
    first: dict[str, int] = {}
    for index, figure in enumerate(scenario.figures):
        figure_path = ("figures", index)
        for path, message in (*figure.faults(names), *_number_faults(figure, numbers)):
            yield nearest(tree, (*figure_path, *path)).fault(message)
        if first.setdefault(figure.file, index) != index:
            where = nearest(tree, ("figures", first[figure.file], "file"))
            yield nearest(tree, (*figure_path, "file")).fault(
                f"{shown(figure.file)} is the file of two figures; first at line {where.line}, "
                f"column {where.column}"
            )


def _number_faults(item: Strict, known: Collection[str]) -> Iterator[tuple[Path, str]]:
    """Yield the fault of each number of a program's output that no flow's ``extract`` has."""
    for key, value in item:
        texts = value if isinstance(value, list | tuple) else [value]
        for text in texts:
            if isinstance(text, str) and is_extracted(text) and text not in known:
                yield (
                    (key,),
                    f"no flow's `extract` gives the metric {shown(text)}{suggest(text, known)}; "
                    f"they give {listed(sorted(known)) or 'none'}",
                )
