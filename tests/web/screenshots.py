"""Draws the pictures of docs/dashboard.md: ``python -m tests.web.screenshots FOLDER``."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from results.store import Store
from tests.web import sweep, synthetic
from tests.web.serving import serving

PICTURES = {
    "dashboard-experiments.png": ("/", 320),
    "dashboard-experiment.png": ("/experiments/bbr-vs-cubic", 1000),
}
"""Names of files, with address and height in pixels."""


def main(folder: Path) -> None:
    """Write the pictures into the folder."""
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        path = Path(name) / "runs.db"
        with Store(path) as store:
            store.finish(store.begin(synthetic.HEAD), synthetic.recording(), wall_s=2.3)
        sweep.add(path)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        with serving(path) as address:
            for file, (url, height) in PICTURES.items():
                page = browser.new_page(viewport={"width": 1100, "height": height})
                page.goto(address + url, wait_until="networkidle")
                page.screenshot(path=folder / file)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
