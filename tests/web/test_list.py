"""The list of runs in a real browser: a visitor chooses its columns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from tests.web import sweep
from tests.web.serving import serving

pytestmark = pytest.mark.browser

HEADINGS = "table.runs thead th"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("list") / "runs.db"
    sweep.fill(path, repetitions=2)
    with serving(path) as address:
        yield address


def test_columns_are_chosen_and_stay_chosen(page: Page, address: str) -> None:
    page.goto(f"{address}/runs")
    usual = page.locator(HEADINGS).count()
    page.get_by_text("Columns", exact=True).click()
    page.get_by_role("checkbox", name="Kernel", exact=True).check()
    expect(page.locator(HEADINGS)).to_have_count(usual + 1)
    page.get_by_role("checkbox", name="Seed").uncheck()
    page.get_by_role("checkbox", name="limit", exact=True).check()
    expect(page.get_by_role("columnheader", name="Seed")).to_have_count(0)
    expect(page.get_by_role("columnheader", name="limit", exact=True)).to_be_visible()
    assert "column=kernel" in page.url
    page.reload()
    expect(page.get_by_role("columnheader", name="Kernel", exact=True)).to_be_visible()
    page.get_by_role("columnheader", name="Kernel", exact=True).get_by_role("link").click()
    page.wait_for_url("**sort=kernel**")
    expect(page.get_by_role("columnheader", name="Kernel", exact=True)).to_be_visible()
    page.get_by_label("Words").fill("bbr-vs-cubic")
    page.wait_for_url("**q=bbr-vs-cubic**")
    page.get_by_text("Counts: click to filter").click()
    page.get_by_role("link", name="ok 12").click()
    page.wait_for_url("**where=**")
    for kept in ("column=kernel", "q=bbr-vs-cubic", "sort=kernel"):
        assert kept in page.url
    expect(page.get_by_role("columnheader", name="Seed")).to_have_count(0)
    page.get_by_text("Columns", exact=True).click()
    for name, on in (("Kernel", False), ("limit", False), ("Seed", True)):
        page.get_by_role("checkbox", name=name, exact=True).set_checked(on)
    expect(page.locator(HEADINGS)).to_have_count(usual)
    assert "column=" not in page.url  # the usual ones again


@pytest.mark.long
def test_every_column_can_be_reached_on_a_phone_without_scripts(
    browser: Browser, address: str
) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 400, "height": 800})
    page = context.new_page()
    page.goto(f"{address}/runs")
    page.get_by_text("Columns", exact=True).click()
    boxes = page.get_by_role("group").get_by_role("checkbox")
    assert boxes.count() > 20
    for box in boxes.all():
        box.check()
    page.get_by_role("button", name="Show").click()
    headings = page.locator(HEADINGS).all()
    assert len(headings) == len(page.locator("input[name=column]").all()) + 1
    assert [one.inner_text().split("\n")[0].split(" ")[0] for one in headings[:2]] == [
        "Variant", "Congestion",
    ]  # fmt: skip
    for one in headings:
        one.scroll_into_view_if_needed()
        place = one.bounding_box()
        assert place
        assert place["x"] >= 0
        assert place["x"] < 400
    context.close()


def test_the_choice_fits_a_phone_and_axe_finds_nothing(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport={"width": 400, "height": 800})
    page.goto(f"{address}/runs")
    page.get_by_text("Columns", exact=True).click()
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    violations = Axe().run(page)
    assert not violations.violations_count, violations.generate_report()
    page.close()
