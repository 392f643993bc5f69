"""Every box that scrolls can be reached by the keyboard, and has a role and a name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from results.store.store import Store
from tests.support.dashboard import PAGES
from tests.web import sweep, synthetic
from tests.web.serving import serving

pytestmark = pytest.mark.browser

WRONG = """() => [...document.querySelectorAll("body *")]
  .filter((one) => [getComputedStyle(one).overflowX, getComputedStyle(one).overflowY]
    .some((way) => way === "auto" || way === "scroll"))
  .filter((one) => !one.matches("textarea, select"))
  .filter((one) => one.tabIndex !== 0 || one.getAttribute("role") !== "region"
    || !one.getAttribute("aria-label"))
  .map((one) => one.outerHTML.slice(0, 120))"""
"""The boxes that could scroll with more in them, and lack something."""

LONG = {f"net.ipv4.a_setting_{number}": "1 2 3 " * 30 for number in range(200)}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a dashboard with a sweep and a run of long provenance, and runs by kind."""
    path: Path = tmp_path_factory.mktemp("scrolling") / "runs.db"
    ids = sweep.fill(path, repetitions=2)
    made = synthetic.recording()
    made.provenance |= {"sysctls": LONG, "module": "0123456789abcdef" * 400}
    made.console = made.log = "a line of the guest's console\n" * 500
    with Store(path) as store:
        ids["long"] = store.begin(synthetic.HEAD)
        store.finish(ids["long"], made, wall_s=1.0)
    with serving(path) as address:
        yield address, ids


def open_all(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")


@pytest.mark.parametrize(
    ("scheme", "width"), [pytest.param("light", 1280, marks=pytest.mark.long), ("dark", 400)]
)
def test_axe_finds_nothing_on_a_run_of_long_provenance(
    browser: Browser, served: tuple[str, dict[str, str]], scheme: str, width: int
) -> None:
    dark = scheme == "dark"
    context = browser.new_context(
        viewport={"width": width, "height": 844}, color_scheme="dark" if dark else "light"
    )
    page = context.new_page()
    page.goto(f"{served[0]}/runs/{served[1]['long']}")
    expect(page.locator("#charts[data-loads='1']")).to_be_attached()
    open_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    found = Axe().run(page)
    assert not found.violations_count, found.generate_report()
    context.close()


@pytest.mark.parametrize("name", ["Provenance", "Console", "Log"])
def test_the_keyboard_scrolls_what_is_long(
    page: Page, served: tuple[str, dict[str, str]], name: str
) -> None:
    page.goto(f"{served[0]}/runs/{served[1]['long']}")
    summary = page.locator("summary", has_text=name)
    summary.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    box = page.get_by_role("region", name=name, exact=True)
    expect(box).to_be_focused()
    page.keyboard.press("End")
    page.wait_for_function("(box) => box.scrollTop > 100", arg=box.element_handle())


@pytest.mark.long
def test_no_page_has_a_box_that_only_a_mouse_scrolls(
    page: Page, served: tuple[str, dict[str, str]]
) -> None:
    address, ids = served
    compare = f"/compare?run={ids['long']}&run={ids['ok']}"
    pages = [
        *PAGES, "/papers/tibet", "/cards/library/cubic-6.12", "/experiments/bbr-vs-cubic", compare,
    ]  # fmt: skip
    for url in [*pages, *(f"/runs/{ids[kind]}" for kind in ("long", "off", "failed"))]:
        page.goto(address + url)
        page.wait_for_load_state("networkidle")
        open_all(page)
        assert page.locator(".scroll").count(), url
        assert page.evaluate(WRONG) == [], url
    page.goto("about:blank")  # a list renews itself, and the server ends now
