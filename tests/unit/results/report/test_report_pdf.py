"""A report as a PDF: its margins, equal bytes, and nothing of a stranger that is obeyed."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from orchestrator.errors import MachineError
from results.report import LabelledValue, Picture, Section, Table, html_page, pdf


def section(**changes: object) -> Section:
    values: dict[str, object] = {
        "title": "one", "label": "one@12345678", "question": "Which?",
        "facts": [LabelledValue("Runs", "3")],
        "findings": [], "network": [], "setup": [], "results": [], "notes": [],
        "methods": [], "trust": [], "provenance": [], "command": "run", "scenario": "version: 1",
    }  # fmt: skip
    return Section(**(values | changes))  # type: ignore[arg-type]


def pages(data: bytes, folder: Path) -> list[Image.Image]:
    (folder / "report.pdf").write_bytes(data)
    subprocess.run(["pdftoppm", "-r", "40", "-png", "report.pdf", "p"], cwd=folder, check=True)
    return [Image.open(file).convert("L") for file in sorted(folder.glob("p-*.png"))]


WIDE = Table(
    "Wide.", ["Axis one", "Axis two", *(f"metric number {at}" for at in range(14))],
    [["10 Mbit/s", "a long word for a variant", *["1234.567 ± 12.345"] * 14]] * 45, keys=2,
)  # fmt: skip


def test_a_wide_table_is_cut_into_parts_that_fit_and_repeat_the_keys() -> None:
    parts = WIDE.fitted()
    assert len(parts) > 1
    assert {tuple(part.headings[:2]) for part in parts} == {("Axis one", "Axis two")}
    together = [one for part in parts for one in part.headings[2:]]
    assert together == WIDE.headings[2:]
    assert all(sum(part.widths) + 2 * len(part.widths) <= 140 for part in parts)
    assert parts[1].caption == f"Wide. (columns 2 of {len(parts)})"


@pytest.mark.slow
def test_nothing_reaches_into_the_margins_of_a_page(tmp_path: Path) -> None:
    text = "scenario: " + "x" * 3000
    made = pdf(html_page("wide", [section(results=WIDE.fitted(), scenario=text)]))
    found = pages(made, tmp_path)
    assert len(found) >= 4
    for page in found:
        width, height = page.size
        right = page.crop((round(width * 0.915), 0, width, round(height * 0.9)))
        assert np.asarray(right).min() > 200, "ink in the right margin"


@pytest.mark.slow
def test_equal_content_gives_equal_pdfs_in_other_processes(tmp_path: Path) -> None:
    page = html_page("same", [section(results=[replace(WIDE, rows=WIDE.rows[:5])])])
    (tmp_path / "page.html").write_text(page)
    program = (
        "import pathlib, sys; from results.report import pdf; "
        "sys.stdout.buffer.write(pdf(pathlib.Path(sys.argv[1]).read_text()))"
    )
    started = []
    for seed, home in (("1", "/nonexistent"), ("2", str(tmp_path))):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "HOME": home, "TZ": f"UTC{seed}"}
        command = [sys.executable, "-c", program, str(tmp_path / "page.html")]
        started.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE))
    made = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert made[0] == made[1] == pdf(page)
    assert b"CreationDate" not in made[0]


@pytest.mark.slow
def test_a_document_fetches_nothing(tmp_path: Path) -> None:
    """A report shows what strangers wrote, so an address in it must lead nowhere."""
    secret = tmp_path / "secret.png"
    Image.new("RGB", (90, 90), "black").save(secret)
    inside = "data:image/png;base64," + base64.b64encode(secret.read_bytes()).decode()
    seen = []
    for number, address in enumerate((f"file://{secret}", "", inside)):
        svg = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="90">'
            f'<image href="{address}" width="90" height="90"/></svg>'
        )
        folder = tmp_path / str(number)
        folder.mkdir()
        picture = Picture("A picture.", "p.svg", svg.encode())
        made = pdf(html_page("hostile", [section(results=[picture])]))
        seen.append([page.tobytes() for page in pages(made, folder)])
    assert seen[0] == seen[1]  # as if nothing were there
    assert seen[2] != seen[1]  # and a picture of its own would be seen


def test_control_characters_are_visible_in_a_report() -> None:
    page = html_page("a\x1b[31m", [section(question="x\u202ey", scenario="# \x9b1m")])
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", page)
    assert r"a\x1b[31m" in page
    assert r"x\u202ey" in page


def test_an_overview_leads_to_its_sections_and_colours_verdicts() -> None:
    grades = Table(
        "Grades.", ["criterion", "grade"], [["harm", "meets"], ["<idle>", "meets"], ["x", "y"]],
        tones={"meets": "good"}, leads=True,
    )  # fmt: skip
    first = section(results=[grades], overview=True)
    page = html_page("card", [first, section(name="harm"), section(name="<idle>")])
    assert '<td><a href="#section-2">harm</a></td>' in page
    assert '<td><a href="#section-3">&lt;idle&gt;</a></td>' in page
    assert page.count('<span class="tone good n">meets</span>') == 2
    assert "<td>x</td><td>y</td>" in page
    assert "<nav>" not in page
    assert "<nav>" in html_page("report", [section(), section()])
    assert "Set-up" not in page


def test_missing_libraries_are_named_with_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [module for module in sys.modules if module.partition(".")[0] == "weasyprint"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(MachineError, match=r"apt-get install libpango-1\.0-0") as raised:
        pdf("<p>text")
    assert raised.value.exit_status == 4
