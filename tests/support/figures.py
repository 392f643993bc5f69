"""Draws figures of synthetic experiments, and reads what was drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from results.experiment.experiments import find
from results.figures import FIGURES, FigureSpec, _drawing, _style
from results.figures._drawing import content
from results.figures._study import Study
from results.store.store import Store


def figure(kind: str, **keys: Any) -> FigureSpec:
    """Return a figure with these keys."""
    model = FIGURES.found[kind]
    return model.model_validate({"kind": kind, "file": "fig.svg", **keys})


def study(store: Store, name: str = "trial") -> Study:
    """Return what figures of an experiment draw from."""
    return Study(store, find(store, name)[0])


def drawn(store: Store, kind: str, name: str = "trial", **keys: Any) -> bytes:
    """Return the file of a figure of the experiment."""
    return content(figure(kind, **keys), study(store, name))


@contextmanager
def canvas(store: Store, kind: str, **keys: Any) -> Iterator[Any]:
    """Give matplotlib's figure after the kind has drawn it."""
    spec = figure(kind, **keys)
    with _style.applied():
        yield _drawing.drawn(spec, study(store)).figure


def legend(shown: Any) -> list[str]:
    """Return the title of a figure's legend, if it has one, and its texts."""
    texts = [
        text.get_text() for each in shown.legends for text in (each.get_title(), *each.get_texts())
    ]
    return [text for text in texts if text]
