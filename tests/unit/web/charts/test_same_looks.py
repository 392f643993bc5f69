"""The plot of an experiment's page and its figure show each line in one look."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from matplotlib.colors import to_hex
from werkzeug.datastructures import MultiDict

import web
from results.experiment.experiments import find
from results.figures._style import LINES
from results.store.store import Store
from tests.support import experiments
from tests.support.figures import canvas
from web import create_app
from web.views import choices

LIMIT, QUEUE, RATE = "queue.limit", "queue.kind", "bottleneck.rate"
EIGHT = [f"{limit}p" for limit in (10, 20, 40, 80, 160, 320, 640, 1280)]
SHAPES = ("<circle", "m-2.6 -2.6h5.2v5.2h-5.2z", "m0 -3.5l3.4 6h-6.8z",
          "m0 -3.8l3.8 3.8l-3.8 3.8l-3.8 -3.8z", "m0 3.5l3.4 -6h-6.8z",
          "m-1.1 -3.3h2.2v2.2h2.2v2.2h-2.2v2.2h-2.2v-2.2h-2.2v-2.2h2.2z",
          "m-3 -2l1 -1l2 2l2 -2l1 1l-2 2l2 2l-1 1l-2 -2l-2 2l-1 -1l2 -2z",
          "m0 -3.8l1 2.7h2.8l-2.2 1.7l0.8 2.8l-2.4 -1.6l-2.4 1.6l0.8 -2.8l-2.2 -1.7h2.8z",
)  # fmt: skip
"""What a page draws for each marker of a figure."""

Variants = Sequence[Mapping[str, Any]]

RATES = [{RATE: rate} for rate in ("1mbit", "2mbit")]
GRID = [{RATE: rate, LIMIT: limit} for rate in ("1mbit", "2mbit") for limit in EIGHT]
KINDS = [{QUEUE: kind, LIMIT: limit} for kind in ("red", "codel") for limit in EIGHT[:4]]

CASES: dict[str, tuple[Variants, int, dict[str, str], int]] = {
    "eight flow entries": (RATES, 8, {}, 8),
    "eight values of an axis": (GRID, 1, {"x": "rate", "colour": "limit"}, 8),
    "two flows of four values": (
        [one for one in GRID if one[LIMIT] in EIGHT[:4]], 2, {"x": "rate", "colour": "limit"}, 4,
    ),
    "four values at names": (KINDS, 2, {"x": "kind", "colour": "limit"}, 4),
    "eight flow entries at names": ([{QUEUE: "red"}, {QUEUE: "codel"}], 8, {}, 8),
    "no axis": ([{}], 8, {}, 8),
}  # fmt: skip
"""Variants, number of flow entries, choices of the page, and how many colours there are."""


def fill(path: Path, variants: Variants, flows: int) -> None:
    def goodput(variant: Mapping[str, Any], repetition: int) -> dict[str, float]:
        base = 1e5 * (1 + variants.index(variant)) + 1e3 * repetition
        return {f"f{number}": base + 1e4 * number for number in range(flows)}

    with Store(path) as store:
        experiments.make(store, goodput, variants, 2)


def palette() -> list[str]:
    """Return the colours of the light style."""
    style = (Path(web.__file__).parent / "static" / "style.css").read_text()
    light = style.partition("@media")[0]
    return [re.findall(rf"--c{number}: (#[0-9a-f]{{6}});", light)[0] for number in range(8)]


def page_looks(text: str) -> list[tuple[str, int]]:
    """Return colour and marker of each line in the legend, which are those of its points."""
    legend = text.partition('<ul class="legend">')[2].partition("</ul>")[0]
    colours, shapes = palette(), dict(zip(SHAPES, range(8), strict=True))
    found = []
    for item in re.findall(r"<li><svg class=\"swatch.*?</li>", legend):
        (number,) = re.findall(r'class="swatch c(\d)', item)
        (shape,) = [one for one in SHAPES if one in item]
        found.append((colours[int(number)], shapes[shape]))
    points = {
        (colours[int(number)], place)
        for number, group in re.findall(r'<g class="line c(\d)">(.*?)\n    </g>', text, re.DOTALL)
        for shape, place in shapes.items()
        if shape in group.partition('<g class="point">')[2].replace('<circle class="each"', "")
    }
    assert points == set(found)
    return found


def figure_looks(shown: Any) -> list[tuple[str, int]]:
    """Return colour and marker of each line; of a bar its colour and the place of its hatch."""
    (panel,) = shown.axes
    bars = [patch for one in panel.containers for patch in getattr(one, "patches", ())]
    if bars:
        hatches = [line.hatch for line in LINES]
        return [(to_hex(bar.get_facecolor()), hatches.index(bar.get_hatch() or "")) for bar in bars]
    markers = [line.marker for line in LINES]
    lines = [one.lines[0] for one in panel.containers]
    return [(to_hex(one.get_color()), markers.index(one.get_marker())) for one in lines]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_page_and_figure_show_a_line_in_one_look(tmp_path: Path, case: str) -> None:
    variants, flows, chosen, colours = CASES[case]
    path = tmp_path / "runs.db"
    fill(path, variants, flows)
    client = create_app(path).test_client()
    with Store.open_read_only(path) as store:
        found, _others = find(store, "trial")
        text = client.get(f"/experiments/{found.label}", query_string=chosen).text
        on_page = page_looks(text)
        keys = choices.figure(choices.read(MultiDict(chosen), found, ["goodput_bps"]), "figure.svg")
        with canvas(store, **keys) as shown:
            in_figure = figure_looks(shown)
    assert on_page == in_figure
    assert len(set(on_page)) == len(on_page) == 8
    assert len({colour for colour, _marker in on_page}) == colours
