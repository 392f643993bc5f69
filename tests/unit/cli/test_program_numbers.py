"""What ``show`` and a run's page say of numbers that a scenario takes from programs' output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.cli import commands
from orchestrator.recording.extracted import ExtractedNumber, document
from results.store.store import Store
from tests.support.recordings import flow, head, recording
from web import create_app

NUMBERS = [
    ExtractedNumber("program_page_s", 0.25, 2, 1),
    ExtractedNumber("program_pages", 3, 3, 3),
    ExtractedNumber("program_none_bps", None, 0, 0),
]


@pytest.mark.slow
def test_a_pattern_that_matched_nothing_is_said(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Store(path) as store:
        run_id = store.begin(head())
        provenance = {"extracted": document({"a": NUMBERS})}
        made = recording(flows=[flow("a", ended_s=6.0), flow("b")], provenance=provenance)
        store.finish(run_id, made, 1.0)

    shown = CliRunner().invoke(commands, ["show", "last", "--db", str(path)]).output
    words = [" ".join(line.split()) for line in shown.splitlines()]
    assert "a program_page_s 250.000 ms 2 matches, 1 of them a number" in words
    assert "a program_pages 3 3 matches" in words
    assert "a program_none_bps - Mbit/s no match" in words
    assert "program_page_s 250.000 - ms" in words  # beside the other flow, which has none

    as_json = CliRunner().invoke(commands, ["show", "last", "--json", "--db", str(path)]).output
    (run,) = json.loads(as_json)["runs"]
    assert run["extracted"][2] == {
        "flow": "a", "metric": "program_none_bps", "unit": "bit/s", "value": None, "matches": 0,
        "numbers": 0,
    }  # fmt: skip
    assert (run["flows"][0]["program_page_s"], "program_page_s" in run["flows"][1]) == (0.25, False)

    page = create_app(path).test_client().get(f"/runs/{run_id}").text
    table = page.partition('id="numbers"')[2].partition("</table>")[0]
    assert "250 ms" in table
    assert "no match" in table
    assert "2 matches, 1 of them a number" in table
