"""docs/modules.md has what differs from the papers: of every module, with real parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kmods import catalogue

ROOT = Path(__file__).resolve().parents[3]
HEAD = ("modules", "section", "the paper", "the module", "reason", "parameter")
TESTS = ROOT / "kmods" / "tests"
MODULES_CORES = {
    name
    for source in (ROOT / "kmods").glob("*.[ch]")
    for name in re.findall(r'#include "core/(\w+\.h)"', source.read_text(encoding="utf-8"))
} - {"arith.h", "chosen.h", "sojourn.h"}  # which are no paper's
ORACLES = sorted(
    path
    for path in TESTS.glob("test_*.c")
    if MODULES_CORES & set(re.findall(r'#include "\.\./core/(\w+\.h)"', path.read_text("utf-8")))
)
LISTED = re.compile(r"Deviations of th(?:is oracle|ese oracles|ese arrivals) from the papers?: \S")


class Row(NamedTuple):
    """A row of a table: modules and parameters by their names, and the other cells."""

    modules: list[str]
    parameters: list[str]
    cells: list[str]


def rows() -> Iterator[Row]:
    text = (ROOT / "docs" / "modules.md").read_text(encoding="utf-8")
    _, _, after = text.partition("\n## Deviations from the papers\n")
    for line in after.partition("\n## ")[0].splitlines():
        if line.startswith("|") and not re.fullmatch(r"\|(---\|)+", line):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if tuple(cells) != HEAD:
                assert len(cells) == len(HEAD), line
                yield Row(modules_in(cells[0]), re.findall(r"`(\w+)`", cells[5]), cells)


def modules_in(cell: str) -> list[str]:
    """Return the modules of a cell such as "`a`, `b`", "all" or "all but `a`"."""
    named = re.findall(r"`(\w+)`", cell)
    if not re.match(r"all( but .*)?$", cell):
        return named
    assert set(named) <= set(catalogue.modules()), cell
    return sorted(set(catalogue.modules()) - set(named))


@pytest.mark.parametrize("name", sorted(catalogue.modules()))
def test_every_module_has_its_deviations_from_its_paper(name: str) -> None:
    # A row for "all" says nothing about a module's own paper.
    own = [row for row in rows() if name in row.modules and not row.cells[0].startswith("all")]
    assert own, f"{name} has no row: list its deviations, or say that it has none"


def test_every_row_says_what_differs_and_why() -> None:
    for row in rows():
        assert set(row.modules) <= set(catalogue.modules()), row
        assert row.modules, row
        assert all(row.cells[:5]), row


def test_every_parameter_named_is_one_of_every_module_named() -> None:
    for row in rows():
        for module in row.modules:
            parameters = set(catalogue.modules()[module].parameters)
            assert set(row.parameters) <= parameters, f"{module}: {row.cells}"


@pytest.mark.parametrize("path", ORACLES, ids=lambda path: path.stem)
def test_every_oracle_lists_its_deviations_from_the_paper(path: Path) -> None:
    text = " ".join(path.read_text(encoding="utf-8").split())
    assert LISTED.search(text.replace(" * ", " ")), f"{path.name} does not list its deviations"
