"""Fills the report's template."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from orchestrator import plaintext
from results.report._model import WRAPPED, Section

_TEMPLATES = "templates"


def html_page(title: str, sections: Sequence[Section]) -> str:
    """Return the report as an HTML document. Every text is escaped, and made visible."""
    environment = Environment(
        loader=PackageLoader("results.report", _TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    figures, tables = itertools.count(1), itertools.count(1)
    environment.filters["base64"] = lambda data: base64.b64encode(data).decode("ascii")
    return environment.get_template("report.html").render(
        title=title,
        sections=sections,
        places={section.name: at for at, section in enumerate(sections, 1) if section.name},
        style=style("screen.css"),
        figure_number=lambda: next(figures),
        table_number=lambda: next(tables),
        wrapped=WRAPPED,
    )


def style(name: str) -> str:
    """Return a style sheet of the report."""
    return (files("results.report") / _TEMPLATES / name).read_text("utf-8")


def _visible(value: object) -> object:
    """Return text without control characters; markup of the template stays as it is."""
    return plaintext.visible(value) if type(value) is str else value
