"""The badge has counts of grades; its colour says whether what is required is met."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from orchestrator.evaluation.card import badge
from orchestrator.evaluation.verdicts import DOES_NOT, LIMITED, MEETS, NOT_DECIDED, Grade

GRADES: dict[str, Grade] = {
    "harm": MEETS, "aqm": MEETS, "ecn": LIMITED, "idle": DOES_NOT, "incast": NOT_DECIDED,
}  # fmt: skip


@pytest.mark.parametrize(
    ("required", "colour"),
    [
        ((), "blue"),
        (("harm", "ecn"), "brightgreen"),
        (("harm", "idle"), "red"),
        (("incast",), "red"),
    ],
)
def test_the_colour_says_whether_what_is_required_is_met(
    required: tuple[str, ...], colour: str
) -> None:
    assert badge.endpoint(GRADES, required, "RFC 9743") == {
        "schemaVersion": 1,
        "label": "RFC 9743",
        "message": "2 met, 1 with limits, 1 not met, 1 undecided",
        "color": colour,
    }


def test_the_picture_says_the_same_and_escapes_names() -> None:
    made = badge.endpoint(GRADES, (), "RFC 9743")
    picture = badge.svg('<&"\u202ebad', made)
    root = ElementTree.fromstring(picture)
    texts = [each.text for each in root.iter() if each.tag.endswith("}text")]
    assert texts == ["RFC 9743", made["message"]]
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text is not None
    assert title.text.startswith('<&"')
    assert "\u202e" not in picture
