"""The badge of a card: an endpoint of shields.io, and the same as a small picture.

It has counts of grades and no score. Its colour says whether what is required is met.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from orchestrator import plaintext
from orchestrator.evaluation.verdicts import (
    DOES_NOT,
    LIMITED,
    MEETS,
    NOT_APPLICABLE,
    NOT_DECIDED,
    Grade,
)

_WORDS: Mapping[Grade, str] = {
    MEETS: "met",
    LIMITED: "with limits",
    DOES_NOT: "not met",
    NOT_DECIDED: "undecided",
    NOT_APPLICABLE: "not applicable",
}
_COLOURS = {"blue": "#007ec6", "brightgreen": "#4c1", "red": "#e05d44"}
_CHARACTER_PX, _PADDING_PX = 6.6, 10
"""Width of a character of Verdana at 11 px, on average, and the space around a text."""


def endpoint(grades: Mapping[str, Grade], required: Sequence[str], label: str) -> dict[str, object]:
    """Return the badge in the form that shields.io takes from an address.

    ``label`` is its left part: what the criteria are of.

    https://shields.io/badges/endpoint-badge. It is red if a required criterion is not met, green if
    all are, and blue where none is required: grades alone are neither good nor bad.
    """
    counts = Counter(grades.values())
    parts = [f"{counts[grade]} {word}" for grade, word in _WORDS.items() if counts[grade]]
    unmet = [name for name in required if grades[name] not in (MEETS, LIMITED)]
    colour = "blue" if not required else "red" if unmet else "brightgreen"
    message = ", ".join(parts) or "no criterion"
    return {"schemaVersion": 1, "label": label, "message": message, "color": colour}


def svg(candidate: str, badge: Mapping[str, object]) -> str:
    """Return the badge as a picture, which needs no font and no network."""
    label, message = str(badge["label"]), str(badge["message"])
    left, right = (len(text) * _CHARACTER_PX + _PADDING_PX for text in (label, message))
    title = escape(plaintext.one_line(f"{candidate}: {label}: {message}"), {'"': "&quot;"})
    texts = "".join(
        f'<text x="{x:.1f}" y="14" textLength="{width - _PADDING_PX:.1f}">{escape(text)}</text>'
        for text, x, width in ((label, left / 2, left), (message, left + right / 2, right))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:.1f}" height="20" '
        f'role="img" aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left:.1f}" height="20" fill="#555"/>'
        f'<rect x="{left:.1f}" width="{right:.1f}" height="20" '
        f'fill="{_COLOURS[str(badge["color"])]}"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" '
        f'font-size="11">{texts}</g></svg>\n'
    )
