"""The lines of charts differ for viewers without one kind of cones, and from their background.

The eight colours are those of figures, too, so a page and its figure show a line in one colour.

Dichromacy is simulated as by G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A Physiologically-
based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009, severity 1.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import web
from results.figures._style import LINES
from results.layout.line_styles import COLOURS

Colour = npt.NDArray[np.float64]

MATRICES = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
"""From linear RGB to linear RGB."""

LEAST_DIFFERENCE = 10.0
"""In CIELAB. A difference of 2.3 can just be noticed."""

LEAST_CONTRAST = 3.0
"""WCAG 2.2, 1.4.11: of graphics against their background."""

XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = XYZ.sum(axis=1)


def palettes() -> dict[str, dict[str, Colour]]:
    """Return the colours of the style sheet in linear RGB, by name, in light and in dark."""
    style = (Path(web.__file__).parent / "static" / "style.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2]
    found = {}
    for scheme, block in zip(("light", "dark"), blocks, strict=True):
        pairs = re.findall(r"--([\w-]+): #([0-9a-f]{6});", block)
        found[scheme] = {name: linear(digits) for name, digits in pairs}
    return found


def linear(digits: str) -> Colour:
    values = np.array([int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb: Colour) -> Colour:
    ratio = XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("eyes", MATRICES)
def test_eight_lines_differ(scheme: str, eyes: str) -> None:
    colours = palettes()[scheme]
    seen = {
        name: lab(np.array(MATRICES[eyes]) @ colours[name])
        for name in map("c{}".format, range(COLOURS))
    }
    for (one, a), (other, b) in itertools.combinations(seen.items(), 2):
        assert np.linalg.norm(a - b) > LEAST_DIFFERENCE, f"{one} and {other}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_line_stands_out_from_its_background(scheme: str) -> None:
    colours = palettes()[scheme]
    panel = luminance(colours["panel"])
    for name in (*map("c{}".format, range(COLOURS)), "drop"):
        high, low = sorted((panel, luminance(colours[name])), reverse=True)
        assert (high + 0.05) / (low + 0.05) > LEAST_CONTRAST, name


def test_figures_have_the_colours_of_the_light_style() -> None:
    light = palettes()["light"]
    assert len(LINES) == COLOURS
    for number, one in enumerate(LINES):
        assert list(linear(one.color[1:])) == list(light[f"c{number}"]), number


def test_the_hatch_and_the_edge_of_a_bar_stand_out_from_it() -> None:
    for line in LINES:
        own, edge = luminance(linear(line.color[1:])), {"black": 0.0, "white": 1.0}[line.edge]
        high, low = sorted((own, edge), reverse=True)
        assert (high + 0.05) / (low + 0.05) > LEAST_CONTRAST, line.color


def luminance(rgb: Colour) -> float:
    return float(XYZ[1] @ rgb)
