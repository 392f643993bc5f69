"""Writes the summary of an experiment as text, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from orchestrator import plaintext
from orchestrator.cli.render import terminal
from results.experiment.model import Summary
from results.wording.summary_tables import notes, tables

Form = Literal["markdown", "latex"]


def print_text(summary: Summary, form: Form | None = None) -> None:
    """Print the tables of a summary, and below them what they leave out."""
    for title, headings, rows in tables(summary):
        if form == "markdown":
            terminal.say(f"{plaintext.markdown(title)}\n\n{_markdown(headings, rows)}")
        elif form == "latex":
            terminal.say(_latex(title, headings, rows))
        else:
            first = rows[0] if rows else headings
            right = [at for at, cell in enumerate(first) if _is_number(cell)]
            terminal.line(title)
            terminal.console().print(terminal.table(headings, rows, right))
            terminal.say()
    for line in notes(summary):
        terminal.line(line, err=form is not None)


def _is_number(cell: str) -> bool:
    return cell[:1].isdigit() or cell[:1] == "-"


def _markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(map(plaintext.markdown, cells))} |"

    return "\n".join([line(headings), "|" + "---|" * len(headings), *map(line, rows), ""])


def _latex(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return " & ".join(map(plaintext.latex, cells)) + r" \\"

    return "\n".join(
        [
            f"% {plaintext.one_line(title)}",
            rf"\begin{{tabular}}{{{'l' * len(headings)}}}",
            r"\toprule",
            line(headings),
            r"\midrule",
            *map(line, rows),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )
