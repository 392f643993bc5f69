"""The examples of docs/developing.md fit the code: the files run, and the page is served."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner
from jinja2 import ChoiceLoader, FileSystemLoader

import orchestrator.application.stored
import orchestrator.cli
import results.contract
import results.figures
import web.pages
from orchestrator.cli import commands
from results.figures import _drawing, _style
from results.store.parts.notes import insert_tag
from results.store.store import Store
from tests.support.experiments import make
from tests.support.figures import study
from tests.support.recordings import head
from tools.prose import ROOT
from web import create_app

TEXT = (ROOT / "docs/developing.md").read_text(encoding="utf-8")
BLOCKS: list[str] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
FILES = [block for block in BLOCKS if block.startswith('"""')]
TEMPLATE = next(
    block for block in re.findall(r"```html\n(.*?)```", TEXT, re.DOTALL) if "Tags" in block
)


def block(what: str) -> str:
    """Return the file of which that is a part."""
    (found,) = [block for block in FILES if what in block]
    return found


@contextmanager
def added(folder: Path, package: ModuleType, name: str, what: str) -> Iterator[ModuleType]:
    """Import an example as a file of a package, and forget it afterwards."""
    beside = folder / package.__name__
    beside.mkdir()
    (beside / f"{name}.py").write_text(block(what), encoding="utf-8")
    package.__path__.append(str(beside))
    try:
        yield importlib.import_module(f"{package.__name__}.{name}")
    finally:
        package.__path__.remove(str(beside))
        sys.modules.pop(f"{package.__name__}.{name}", None)
        vars(package).pop(name, None)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["class HeadDrop", "def cwnd_max_segments"])
def test_an_example_can_be_imported(what: str) -> None:
    # In a process of its own, as importing registers a metric.
    code = block(what)
    made = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr


@pytest.mark.slow
def test_the_figure_is_drawn(tmp_path: Path) -> None:
    with (
        added(tmp_path, results.figures, "peak", "class PeakFigure") as module,
        Store(tmp_path / "runs.db") as store,
    ):
        make(store, lambda _variant, _repetition: {"first": 1e6, "second": 2e6}, repetitions=2)
        with _style.applied():
            spec = module.PeakFigure(kind="peak", file="peak.svg", metric="goodput_bps")
            (panel,) = _drawing.drawn(spec, study(store)).figure.axes
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["first", "second"]
    assert [np.asarray(line.get_ydata()).tolist() for line in panel.lines] == [[1.0], [2.0]]


def tagged(path: Path) -> Path:
    """Return a store with a run that has a tag."""
    with Store(path) as store:
        run_id = store.begin(head())
        store.fail(run_id, "stopped")
        with store.writing() as connection:
            insert_tag(connection, 1, run_id, "good")
    return path


def test_the_command_its_use_case_and_its_json_are_three_files(tmp_path: Path) -> None:
    db = str(tagged(tmp_path / "runs.db"))
    with (
        added(tmp_path, results.contract, "tags", "class Tags(Versioned)"),
        added(tmp_path, orchestrator.application.stored, "tags", "class TagCount"),
        added(tmp_path, orchestrator.cli, "tags", "@click.command()"),
    ):
        shown = CliRunner().invoke(commands, ["tags", "--db", db])
        document = CliRunner().invoke(commands, ["tags", "--json", "--db", db])
    assert shown.stdout.split()[-2:] == ["good", "1"]
    assert json.loads(document.stdout)["tags"] == [{"tag": "good", "runs": 1}]


def test_the_page_is_a_file_and_a_template(tmp_path: Path) -> None:
    (tmp_path / "tags.html").write_text(TEMPLATE, encoding="utf-8")
    with added(tmp_path, web.pages, "tags", "@pages.get"):
        app = create_app(tagged(tmp_path / "runs.db"))
        assert app.jinja_loader is not None
        app.jinja_loader = ChoiceLoader([app.jinja_loader, FileSystemLoader(tmp_path)])
        shown = app.test_client().get("/tags")
    assert shown.status_code == 200
    counts = re.findall(r"<a [^>]*>(\w+)</a></th><td class=\"n\">(\d+)", shown.text)
    assert counts == [("good", "1")]
