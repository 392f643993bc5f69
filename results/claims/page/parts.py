"""Parts of the documents of claims: lines of tables and items of lists."""

from __future__ import annotations

import textwrap

from results.claims.stated.model import Statement
from results.claims.stated.rows import ClaimRow

COLUMNS = 118

MEASURED = "../../scenarios/papers/claims/measured"
"""Folder of the summaries, from the documents of the papers."""


def line(*cells: str) -> str:
    """Return a row of a table of Markdown."""
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def paper_of(row: ClaimRow, statement: Statement) -> str:
    """Return the paper's number or relation of a row with its unit."""
    return f"{row.paper} {statement.unit}".strip()


def wrapped(text: str) -> list[str]:
    """Return the lines of an item of a list."""
    return textwrap.wrap(
        text, COLUMNS, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
