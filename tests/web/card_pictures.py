"""Draws the pictures of docs/evaluation.md: ``python -m tests.web.card_pictures FOLDER CARD...``.

A CARD is the folder of a report card. Its picture, ``card-NAME.png``, has the card up to the table
of grades, and is named after the folder.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.web.screenshots import MOST_BYTES

WIDTH = 1000
MARGIN = 12


def main(folder: Path, cards: list[Path]) -> None:
    """Write a picture of each card into the folder.

    Raises:
        ValueError: a picture is too large to be tracked.
    """
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": WIDTH, "height": 1000}, color_scheme="light")
        for card in cards:
            page.goto((card / "card.html").resolve().as_uri())
            box = page.locator("#result-1-1").bounding_box()
            assert box is not None
            height = round(box["y"] + box["height"]) + MARGIN
            file = folder / f"card-{card.name}.png"
            whole = {"x": 0, "y": 0, "width": WIDTH, "height": height}
            page.screenshot(path=file, full_page=True, clip=whole)  # type: ignore[arg-type]
            if file.stat().st_size > MOST_BYTES:
                raise ValueError(f"{file} has more than {MOST_BYTES} bytes")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(card) for card in sys.argv[2:]])
