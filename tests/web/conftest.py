"""Debian's chromium, driven by Playwright, and a page that allows no error."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

PATIENCE_MS = 60_000
"""How long a page may take on a busy machine; nothing waits longer than what it waits for."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    assert chromium, "the browser test needs chromium: apt-get install chromium"
    # A sandbox of user namespaces refuses to be set up by root.
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails the test on any error; CSP violations are errors on its console."""
    expect.set_options(timeout=PATIENCE_MS)
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    wrong: list[str] = []
    page.on("console", lambda one: wrong.append(one.text) if one.type != "log" else None)
    page.on("pageerror", lambda one: wrong.append(str(one)))
    page.on("requestfailed", lambda one: _failed(one, wrong))
    yield page
    context.close()
    assert not wrong


def _failed(request: Request, wrong: list[str]) -> None:
    if request.failure != "net::ERR_ABORTED":  # a newer request took its place, or a download
        wrong.append(f"{request.url}: {request.failure}")
