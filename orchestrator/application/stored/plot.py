"""Draws a figure of a stored run or an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from orchestrator.application import experiments
from orchestrator.application.events import Listener, notices
from orchestrator.errors import UsageError
from orchestrator.scenario.faults import messages
from orchestrator.suggestions import suggest
from results.experiment.experiments import of_rows
from results.figures import FIGURES, FigureSpec
from results.figures._drawing import content, put
from results.figures._study import Study
from results.store.store import Store


@dataclass(frozen=True)
class PlotRequest:
    """A figure, and what it is of: a run, an experiment or a scenario file.

    ``overrides`` are changes of the scenario file.
    """

    figure: FigureSpec
    what: str
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drawing:
    """A figure as a file of the format ``form``: pdf, svg or png.

    ``notes`` are what a reader must know of its values, such as runs that are left out.
    """

    content: bytes = field(repr=False)
    form: str
    notes: Sequence[str]

    def write(self, output: Path) -> None:
        """Write the file, complete or not at all; an earlier one is replaced.

        Raises:
            UsageError: it cannot be written.
        """
        put(self.content, output)


def plot(request: PlotRequest, db: Path, listener: Listener) -> Drawing:
    """Draw the figure; equal runs give equal bytes.

    Raises:
        UsageError: there is no such run or experiment, or it does not have what the figure shows.
        StoreError: the store cannot be read.
    """
    with Store.open_read_only(db) as store:
        study = _study(store, request, listener)
        drawn = content(request.figure, study)
        request.figure.require_names()
    return Drawing(drawn, request.figure.file.rpartition(".")[2], tuple(study.notes))


def figure_of(kind: str, form: str, keys: Mapping[str, Any]) -> FigureSpec:
    """Return the figure of a kind with these keys of the scenario language.

    Raises:
        UsageError: there is no such kind or format, or a key is not valid.
    """
    figure = FIGURES.found.get(kind)
    if figure is None:
        kinds = sorted(FIGURES.found)
        raise UsageError(
            f"there is no figure {kind!r}{suggest(kind, kinds)}; the figures are {', '.join(kinds)}"
        )
    (spelt,) = get_args(figure.model_fields["kind"].annotation)
    try:
        return figure.model_validate({"kind": spelt, "file": f"figure.{form}", **keys})
    except ValidationError as error:
        faults = messages(error, figure.keys())
        raise UsageError(
            "\n".join(f"{'.'.join(map(str, path))}: {message}" for path, message in faults)
        ) from None


def _study(store: Store, request: PlotRequest, listener: Listener) -> Study:
    """Return the experiment of that name or file, or else the run of that id.

    Raises:
        UsageError: there is neither.
    """
    found = experiments.run_or_experiment(store, request.what, notices(listener), request.overrides)
    if isinstance(found, str):
        row = store.load(found).row
        return Study(store, of_rows(row.experiment, [row]), named=row)
    return Study(store, found)
