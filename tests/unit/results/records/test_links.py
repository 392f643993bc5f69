"""Links and the rule for repetitions, as they are stored with a run."""

from __future__ import annotations

import json

import pytest

from orchestrator.repetitions import RepetitionRule
from results.records import columns
from results.records.model import RunHead
from tests.support.recordings import head

RULE = RepetitionRule("goodput_bps", "a", None, interval=0.1, least=2, most=9)


def test_links_and_rule_are_read_as_they_were_written() -> None:
    made = head(repetition_rule=RULE)
    stored = columns.written(made)
    assert json.loads(stored["repetition_rule"]) == {
        "metric": "goodput_bps", "flow": "a", "window": None, "interval": 0.1, "least": 2,
        "most": 9,
    }  # fmt: skip
    assert json.loads(stored["links"])[0]["forward"]["queue_kind"] == "droptail"
    again = columns.read(RunHead, {name: stored[name] for name in ("links", "repetition_rule")})
    assert again == {"links": made.links, "repetition_rule": RULE}


@pytest.mark.parametrize("key", ["a", "forward", "delay_s"])
def test_a_link_that_lacks_a_key_cannot_have_been_stored(key: str) -> None:
    (link,) = json.loads(columns.written(head())["links"])
    del (link["reverse"] if key == "delay_s" else link)[key]
    with pytest.raises((LookupError, TypeError), match=key):
        columns.read(RunHead, {"links": json.dumps([link])})


@pytest.mark.parametrize(("key", "value"), [("least", "2"), ("interval", None), ("other", 1)])
def test_a_rule_of_another_form_cannot_have_been_stored(key: str, value: object) -> None:
    with pytest.raises(TypeError, match=key):
        columns.read(RunHead, {"repetition_rule": json.dumps({**vars(RULE), key: value})})
