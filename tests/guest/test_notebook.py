"""The notebook that goes from a question to a verdict, executed as a notebook is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from guest.build import GuestKernel

pytestmark = pytest.mark.guest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "from-python.ipynb"
CELL_TIME_S = 600


@pytest.fixture(scope="module")
def cells(kernel: GuestKernel, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The cells with code, after their execution in an empty folder."""
    assert kernel.linux.exists()
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
    folder = tmp_path_factory.mktemp("notebook")
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=CELL_TIME_S, resources=resources).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _with(cells: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """Return the outputs of the only cell with that text."""
    (found,) = [cell for cell in cells if text in cell["source"]]
    outputs: list[dict[str, Any]] = found["outputs"]
    return outputs


def _result(cells: list[dict[str, Any]], text: str) -> str:
    (found,) = [
        each["data"]["text/plain"]
        for each in _with(cells, text)
        if each["output_type"] == "execute_result"
    ]
    return str(found)


def test_the_sweep_shows_a_bar_that_is_full_at_the_end(cells: list[dict[str, Any]]) -> None:
    assert _result(cells, "oa.run(") == "(0, 6)"
    (bar,) = [each for each in _with(cells, "oa.run(") if each["output_type"] == "display_data"]
    assert '<progress value="1.0000" max="1">' in bar["data"]["text/html"]
    assert "6 of 6 runs done" in bar["data"]["text/html"]


def test_its_tables_have_each_buffer_and_flow(cells: list[dict[str, Any]]) -> None:
    means = _result(cells, "results.summary(").splitlines()
    assert [line.split()[1:3] for line in means[1:] if line.split()[2] in ("cubic", "bbr")] == [
        [limit, flow] for limit in ("0.5bdp", "4bdp") for flow in ("cubic", "bbr")
    ]
    differences = _result(cells, "differences[[").splitlines()
    assert [line.split()[1] for line in differences[1:]] == ["0.5bdp", "4bdp"]
    assert all(line.split()[-1] for line in differences[1:])


def test_its_figure_is_a_picture(cells: list[dict[str, Any]]) -> None:
    (figure,) = [
        each for each in _with(cells, "oa.plot(") if each["output_type"] == "execute_result"
    ]
    assert "</svg>" in figure["data"]["image/svg+xml"]
    assert "Goodput" in figure["data"]["image/svg+xml"]


def test_a_run_is_made_again_and_a_statement_has_its_verdict(cells: list[dict[str, Any]]) -> None:
    assert _result(cells, "oa.verify(") == "True"
    assert _result(cells, "oa.reproduce(") == "{'westwoodplus:W2.1': 'holds'}"
