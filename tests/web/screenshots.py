"""Draws the pictures of docs/dashboard.md: ``python -m tests.web.screenshots STORE FOLDER``.

The store has the runs of the quickstart and of scenarios/tutorial/70-bbr-vs-cubic.yaml. A visitor
asks who wins at 1 BDP, by how much, and how sure that is. The pictures are of the start page and
of what two clicks lead to. Then come a comparison, the trace of the run that a third argument
names, and where the two runs part of the store that a fourth one names.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

from results.store.store import Store
from tests.web.serving import serving

WIDTH = 1100
MOST_BYTES = 500_000
"""Of a tracked picture."""


def main(store: Path, folder: Path, trace: str = "", parting: str = "") -> None:
    """Write the pictures into the folder.

    ``trace`` is a run with a trace that is to be drawn. ``parting`` is a store of two runs, with
    the traces that ``orchestrator diff`` has kept of them.
    """
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright, serving(store) as address:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": WIDTH, "height": 1000}, color_scheme="light")
        page.goto(address, wait_until="networkidle")
        _picture(page, folder / "dashboard-experiments.png")
        page.get_by_role("link", name="bbr-vs-cubic").click()
        page.wait_for_load_state("networkidle")
        _picture(page, folder / "dashboard-experiment.png", until="#differences-title")
        page.get_by_role("link", name="limit 1bdp", exact=True).click()
        page.wait_for_load_state("networkidle")
        _picture(page, folder / "dashboard-answer.png", until="#means-title")
        page.goto(f"{address}/experiments/bbr-vs-cubic", wait_until="networkidle")
        for limit in ("0.5bdp", "8bdp"):
            page.get_by_role("checkbox", name=f"tick limit={limit}", exact=True).check()
        page.get_by_role("button", name="Compare").click()
        page.locator("#compared[data-loads]").wait_for()
        _picture(page, folder / "dashboard-compare.png", until="#charts-title")
        if trace:
            page.goto(f"{address}/runs/{trace}/traces/1#t=0.4..1.6", wait_until="networkidle")
            page.locator("#traced[data-loads]").wait_for()
            _picture(page, folder / "dashboard-trace.png", until="#chart-acks")
        if parting:
            _difference(page, Path(parting), folder / "dashboard-diff.png")
        browser.close()


def _difference(page: Page, store: Path, file: Path) -> None:
    """Draw where the two runs of a store part."""
    with Store.open_read_only(store) as opened:
        query = urlencode([("run", row.id) for row in opened.list_runs()])
    with serving(store) as address:
        page.goto(f"{address}/diff?{query}")
        _picture(page, file, until="#kind-title")


def _picture(page: Page, file: Path, until: str = "") -> None:
    """Draw the page from its top to its end, or to the end of the section of a heading.

    Raises:
        ValueError: the picture is too large to be tracked.
    """
    place = f"section:has({until})" if until else "body"
    box = page.locator(place).first.bounding_box()
    assert box is not None
    height = round(box["y"] + box["height"]) + 12
    page.screenshot(
        path=file, full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": height}
    )
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"{file} has more than {MOST_BYTES} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
