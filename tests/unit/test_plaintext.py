"""Untrusted text as it is stored and shown."""

from __future__ import annotations

import io
import json
import sys
import unicodedata
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from orchestrator import plaintext
from orchestrator.application.outcomes import ScenarioOutcome
from orchestrator.cli import Commands
from orchestrator.cli.render import junit, run_text, terminal
from orchestrator.cli.render.status_line import StatusLine
from orchestrator.errors import BedError
from results.runs.model import RunResult
from tests.support.run_results import result

HOSTILE = "a\x1b]0;owned\x07\x1b[2J\x9b1m\x7f\r\u202egnp\u2066\u2028\ud800\ufffe\x00z"
SHOWN = r"a\x1b]0;owned\x07\x1b[2J\x9b1m\x7f\x0d\u202egnp\u2066\u2028\ud800\ufffe\x00z"


def test_control_characters_are_escapes() -> None:
    assert plaintext.visible(HOSTILE) == SHOWN
    assert plaintext.visible(SHOWN) == SHOWN
    assert (
        plaintext.visible("tab\tline\n\N{GREEK SMALL LETTER MU}")
        == "tab\tline\n\N{GREEK SMALL LETTER MU}"
    )


INVISIBLE = "a\xad\u034f\u200b\u200c\u200d\u2060\u2064\u3164\ufe0f\ufeff\U000e0041z"


def test_invisible_characters_are_escapes() -> None:
    """Two names that differed in them alone looked equal."""
    shown = r"a\xad\u034f\u200b\u200c\u200d\u2060\u2064\u3164\ufe0f\ufeff\U000e0041z"
    assert plaintext.visible(INVISIBLE) == shown
    assert plaintext.one_line(INVISIBLE) == shown
    assert plaintext.pictured("\u200b\U000e0041") == "‹U+200B›‹U+E0041›"
    said = plaintext.visible_json(json.dumps(INVISIBLE, ensure_ascii=False))
    assert said.isascii()
    assert json.loads(said) == INVISIBLE


@pytest.mark.slow
def test_all_format_characters_are_escapes_and_no_letters() -> None:
    every = [chr(code) for code in range(sys.maxunicode + 1)]
    shown = [char for char in every if plaintext.visible(char) == char]
    assert not [char for char in shown if unicodedata.category(char) == "Cf"]
    kept = set(shown)
    hidden = [char for char in every if char not in kept]
    categories = {unicodedata.category(char) for char in hidden}
    assert categories == {"Cc", "Cf", "Cn", "Cs", "Lo", "Mn", "Zl", "Zp"}
    fillers = [hex(ord(char)) for char in hidden if unicodedata.category(char) == "Lo"]
    assert fillers == ["0x115f", "0x1160", "0x3164", "0xffa0"]


def test_json_has_no_raw_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.print_json({"console": HOSTILE})
    said = capsys.readouterr().out
    assert json.loads(said) == {"console": HOSTILE}
    assert all(char.isprintable() or char == "\n" for char in said)


@pytest.mark.parametrize(
    ("text", "most", "found"),
    [
        ("abc", 3, "abc"),
        ("abcdefgh", 5, "abc[... 3 characters left out ...]gh"),
        ("abcdefgh", 1, "a[... 7 characters left out ...]"),
    ],
)
def test_the_middle_of_long_lines_is_left_out(text: str, most: int, found: str) -> None:
    assert plaintext.shortened(text, most) == found


def test_the_middle_of_long_logs_is_left_out() -> None:
    text = "".join(f"{number}\n" for number in range(10))
    assert plaintext.bounded(text, 10) == text
    assert plaintext.bounded(text, 4) == "0\n1\n[... 6 lines left out ...]\n8\n9\n"
    assert plaintext.bounded("one\r\ntwo\rthree") == "one\ntwo\\x0dthree"
    head, tail = b"begin\xff", b"end\n"
    assert plaintext.decoded(head, tail, 7) == "begin\ufffd\n[... 7 bytes left out ...]\nend\n"


def run(**changes: Any) -> RunResult:
    return result([], **({"status": "failed", "error": HOSTILE} | changes))


def test_reports_for_people_show_escapes(tmp_path: Path) -> None:
    out = io.StringIO()
    run_text.print_run(run(), terminal.console(out))
    run_text.print_list(
        [run(scenario=HOSTILE, status=HOSTILE, flows=[]).listed()],
        terminal.console(out),
        scenarios=True,
    )
    with StatusLine(stream=out) as line:
        line.show(HOSTILE, HOSTILE)
        line.say(HOSTILE)
    assert out.getvalue().count(SHOWN) == 6
    assert all(char.isprintable() or char == "\n" for char in out.getvalue())
    junit.write([ScenarioOutcome.of([run(scenario=HOSTILE)], 1)], tmp_path / "report.xml")
    report = ET.parse(tmp_path / "report.xml").getroot()
    assert report.get("name") == SHOWN
    assert SHOWN in (report[0][0].text or "")


def test_errors_show_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def fails() -> None:
        raise BedError("why", [HOSTILE])

    monkeypatch.setattr(Commands, "list_commands", lambda _self, _ctx: ["fails"])
    monkeypatch.setattr(Commands, "get_command", lambda _self, _ctx, _name: fails)
    done = CliRunner().invoke(Commands(), ["fails"])
    assert done.exit_code == 1
    assert SHOWN in done.output
    assert "\x1b" not in done.output
