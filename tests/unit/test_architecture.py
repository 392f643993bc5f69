"""ARCHITECTURE.md is short, and the names that it gives are those of the code."""

from __future__ import annotations

import re

import pytest

from tools.prose import ROOT

TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
DEFINED = re.compile(r"`([\w.]+)(\(\))?` (?:in|of) `([\w/]+\.(?:py|ts))`")
ROW = re.compile(r"^\| (`[\w/]+`[^|]*) \| (.*) \|$", re.MULTILINE)
ROOM = re.compile(r"`(\w+)/`")
FOLDERS = ("", "orchestrator/", "results/", "web/")


def test_it_is_short() -> None:
    assert len(TEXT.splitlines()) <= 250


def test_its_tree_has_every_package() -> None:
    tree = TEXT.partition("## Tree")[2].partition("```\n")[2].partition("```")[0]
    for folder in (ROOT, ROOT / "orchestrator"):
        packages = {path.parent.name for path in folder.glob("*/__init__.py")} - {"orchestrator"}
        assert {name for name in packages if f"{name}/" not in tree} == set()
    modules = {path.name for path in (ROOT / "orchestrator").glob("*.py")} - {"__init__.py"}
    assert {name for name in modules if name not in tree} == set()


@pytest.mark.parametrize("found", DEFINED.findall(TEXT), ids=lambda found: found[0])
def test_a_name_in_a_file_is_defined_there(found: tuple[str, str, str]) -> None:
    name, called, path = found
    code = (ROOT / path).read_text(encoding="utf-8")
    last = re.escape(name.rpartition(".")[2])
    assert re.search(rf"(?:def|function) {last}\b" if called else rf"\b{last}\b", code)


@pytest.mark.parametrize("row", ROW.findall(TEXT), ids=lambda row: row[0])
def test_a_file_in_a_row_of_a_package_is_there(row: tuple[str, str]) -> None:
    rooms = [
        ROOT / folder / room
        for room in re.findall(r"`([\w/]+)`", row[0])
        for folder in FOLDERS
        if (ROOT / folder / room).is_dir()
    ]
    assert rooms
    for name in re.findall(r"`([\w/]+\.py)`", row[1]):
        assert any([*room.rglob(name), *room.parent.glob(name)] for room in rooms), name


@pytest.mark.parametrize(
    ("package", "head"),
    [
        ("results", "Rooms of `results`, lower ones first:"),
        ("web", "`web` knows `results` and the protocol only."),
    ],
)
def test_rooms_are_listed_lower_ones_first(package: str, head: str) -> None:
    table = TEXT.partition(head)[2].partition("|---|---|\n")[2].partition("\n\n")[0]
    order = [room for row in table.splitlines() for room in ROOM.findall(row.split("|")[1])]
    there = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
    assert sorted(order) == sorted(there)
    for path in (ROOT / package).glob("*/**/*.py"):
        own = path.relative_to(ROOT / package).parts[0]
        code = path.read_text(encoding="utf-8")
        used = set(re.findall(rf"from {package}\.(\w+)", code))
        used |= {
            name.strip()
            for line in re.findall(rf"from {package} import (.*)", code)
            for name in line.split(",")
        }
        upper = {room for room in used & there if order.index(room) > order.index(own)}
        assert not upper, path
