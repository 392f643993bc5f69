"""Boxes that scroll are made in one place, which gives each of them a role and a name."""

from __future__ import annotations

import re
from pathlib import Path

import web

FOLDER = Path(web.__file__).parent
MADE_IN = FOLDER / "templates" / "scroll.html"


def test_only_one_class_lets_something_scroll() -> None:
    style = re.sub(r"/\*.*?\*/", "", (FOLDER / "static" / "style.css").read_text(), flags=re.DOTALL)
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", style)
    scrolling = [
        selector.strip()
        for selector, body in rules
        if re.search(r"overflow(-[xy])?: *(auto|scroll)", body)
    ]
    assert scrolling == [".scroll"]


def test_only_one_template_makes_such_a_box() -> None:
    for path in sorted((FOLDER / "templates").glob("*.html")):
        classes = re.findall(r'class="([^"]*)"', path.read_text())
        own = [one for one in classes if one.split() and one.split()[0].startswith("scroll")]
        assert len(own) == (2 if path == MADE_IN else 0), path.name


def test_such_a_box_has_a_place_in_the_order_a_role_and_a_name() -> None:
    made = re.findall(r"<(?:div|pre) class=\"scroll[^>]*>", MADE_IN.read_text())
    assert len(made) == 2
    assert all("{{ place(label) }}" in one for one in made)
    assert 'tabindex="0" role="region" aria-label="{{ label }}"' in MADE_IN.read_text()
