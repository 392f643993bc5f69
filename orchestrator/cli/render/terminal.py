"""Formats tables and values for people, with the same words on a terminal and in a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import click

from orchestrator import plaintext

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 10_000
"""Columns of output that is not a terminal, so that a line is never cut or wrapped."""


def load_console() -> None:
    """Load what ``console`` and ``table`` need, at a time when there is nothing else to do."""
    from rich import box, console, table, text

    del box, console, table, text


def console(file: TextIO | None = None) -> Console:
    """Return a console on ``file`` (default: standard output): colours on a terminal only."""
    from rich.console import Console

    out = sys.stdout if file is None else file
    return Console(file=out, highlight=False, width=None if out.isatty() else WIDE)


def say(text: object = "", err: bool = False, nl: bool = True) -> None:
    """Print a text of several lines; control characters in it are shown as escapes.

    All commands print by this function, :func:`line`, or a console with :func:`print_line` and
    :func:`table`. A name or an error can have a stranger's text in it.
    """
    click.echo(plaintext.visible(str(text)), err=err, nl=nl)


def line(text: str, err: bool = False) -> None:
    """Print one line; control characters and line ends in it are shown as escapes."""
    click.echo(plaintext.one_line(text), err=err)


def print_line(text: str, out: Console) -> None:
    """Print one line on a console, as :func:`line` does; it is never wrapped."""
    out.print(plaintext.one_line(text), markup=False, soft_wrap=True)


def print_json(data: object) -> None:
    """Print JSON on standard output; NaN and infinity are errors, as JSON has none."""
    text = json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False)
    click.echo(plaintext.visible_json(text))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> Any:
    """Return a table without rules; the columns with the indices ``right`` are right-aligned.

    Control characters in cells are shown as escapes: some texts come from a guest.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    to_the_right = set(right)
    built = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, heading in enumerate(headings):
        justify = "right" if index in to_the_right else "left"
        built.add_column(Text(plaintext.one_line(heading)), justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        built.add_row(*(Text(plaintext.one_line(cell)) for cell in row))
    return built


def pairs(values: Mapping[str, Any]) -> str:
    """Return keys and values on one line, in the syntax of a scenario."""
    return ", ".join(f"{key}: {_plain(value)}" for key, value in values.items())


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{pairs(value)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)
