"""A run of the real guest in a real browser: it draws to its end, without reload."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from playwright.sync_api import Page, expect

from orchestrator.backends.kernels import ensure
from results.documents import run_document
from results.runs import listing
from results.store.store import Store
from tests.web.planned import QUICKSTART
from tests.web.serving import serving

pytestmark = [pytest.mark.browser, pytest.mark.guest]

DURATION_S = 300
"""Some seconds of wall time, so that the page is seen several times."""
PATIENCE_S = 300.0

STATE = """() => {
  const progress = document.querySelector("#running progress");
  const canvas = document.querySelector("#chart-live-cwnd canvas");
  if (!progress || !canvas) return null;
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
  copy.drawImage(canvas, 0, 0);
  const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
  let last = 0;
  for (let i = 0; i < data.length; i += 4)
    if (data[i] === 204 && data[i + 1] === 82 && data[i + 2] === 0 && data[i + 3] === 255)
      last = Math.max(last, (i / 4) % canvas.width);
  return [progress.value, last / canvas.width];
}"""
"""Simulated seconds, and how far to the right the second flow's line reaches."""

SAID = """() => document.querySelector("#running [data-show=progress]")?.textContent ?? null"""
"""What the page says of the run's progress, or why there is no live view."""

Found = TypeVar("Found")


def eventually(what: Callable[[], Found | None]) -> Found:
    """Wait until ``what`` has a value, and return it; fail after a long time."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := what()) is None:
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.05)
    return found


def running(db: Path) -> str | None:
    """Return the id of the run that is running."""
    with Store.open_read_only(db) as store:
        return next(
            (
                run["id"]
                for run in run_document.list_document(listing.read(store))["runs"]
                if run["status"] == "running"
            ),
            None,
        )


def test_a_run_of_the_guest_draws_to_its_end(page: Page, tmp_path: Path) -> None:
    ensure()
    db = tmp_path / "runs.db"
    Store(db).close()
    words = [str(Path(sys.executable).parent / "orchestrator"), "run", str(QUICKSTART)]
    options = ["--db", str(db), "--set", f"duration={DURATION_S}s"]
    process = subprocess.Popen(
        [*words, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        with serving(db) as address:
            run = eventually(lambda: running(db))
            page.goto(f"{address}/runs/{run}")
            page.evaluate("window.kept = true")
            seen: list[tuple[float, float]] = []
            said = ""
            deadline = time.monotonic() + PATIENCE_S
            while page.locator("#running").count():
                assert time.monotonic() < deadline, seen
                state = page.evaluate(STATE)
                if state is not None and (not seen or state[0] > seen[-1][0]):
                    seen.append((state[0], state[1]))
                said = page.evaluate(SAID) or said
                time.sleep(0.1)
            assert process.wait(PATIENCE_S) == 0, process.stderr and process.stderr.read()
            # What the page has after the end came without a reload.
            expect(page.locator("#charts[data-loads='1']")).to_be_attached()
            expect(page.locator("header .mark.faithful")).to_be_visible()
            expect(page.locator("svg.network .bottleneck")).to_have_count(1)
            assert page.evaluate("window.kept") is True
            page.get_by_role("link", name="bottleneck 10mbit").click()
            expect(page.locator("#chart-queue .plot")).to_be_focused()
    finally:
        process.kill()
        process.communicate()
    # The lines grew with the simulated time, from left to right.
    assert len(seen) >= 3, (seen, said)
    assert [reach for _time, reach in seen] == sorted(reach for _time, reach in seen), seen
    assert seen[0][1] < 0.7, seen
    assert seen[-1][0] > 0.5 * DURATION_S, seen
