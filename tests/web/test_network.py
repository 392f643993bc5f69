"""The drawing of a run's network in a real browser: paths are marked, links lead to queues."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from results.store.store import Store
from tests.web import planned
from tests.web.serving import serving

pytestmark = pytest.mark.browser

PARKING_LOT = planned.SCENARIOS / "tutorial" / "11-parking-lot.yaml"
MARKED = """drawing => [...drawing.querySelectorAll(".marked")].map(
  part => part.getAttribute("data-links"))"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The addresses of pages of runs."""
    folder = tmp_path_factory.mktemp("network")
    path = folder / "runs.db"
    with Store(path) as store:
        ids = {
            "quickstart": planned.add(store, planned.spec_of(planned.QUICKSTART)),
            "parking lot": planned.add(store, planned.spec_of(PARKING_LOT)),
            "many": planned.add(store, planned.hosts(folder, 20, 2)),
        }
    with serving(path) as address:
        yield {name: f"{address}/runs/{run}" for name, run in ids.items()}


def opened(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("#charts[data-loads='1']")).to_be_attached()


def test_a_flow_s_path_is_marked_while_it_is_pointed_at_or_focused(
    page: Page, runs: dict[str, str]
) -> None:
    opened(page, runs["parking lot"])
    drawing = page.locator("svg.network")
    assert drawing.evaluate(MARKED) == []
    page.locator("#flows tbody tr").first.hover()
    marked = drawing.evaluate(MARKED)
    assert {'["hop1"]', '["hop2"]', '["hop3"]'} <= set(marked)
    assert len(marked) == 5  # and the access links of both ends
    page.get_by_label("draw ahead[1]").focus()
    page.mouse.move(0, 0)
    page.get_by_label("draw ahead[2]").focus()
    marked = drawing.evaluate(MARKED)
    assert '["hop3"]' in marked
    assert '["hop1"]' not in marked
    page.locator("#chart-cwnd .plot").focus()
    assert drawing.evaluate(MARKED) == []


def test_a_link_leads_to_its_queues_by_key_and_by_click(page: Page, runs: dict[str, str]) -> None:
    opened(page, f"{runs['quickstart']}#t=10.0..30.0")
    drawing = page.get_by_role("group", name="Network")
    page.get_by_role("link", name="bottleneck 10mbit").focus()
    page.keyboard.press("Enter")
    plot = page.locator("#chart-queue .plot")
    expect(plot).to_be_focused()
    expect(plot).to_be_in_viewport()
    legend = page.locator("#chart-queue .u-legend")
    expect(legend).not_to_contain_text("a_src0")
    expect(page.locator("#range")).to_contain_text("10.000")  # the address keeps the time
    drawing.get_by_role("link", name="a_src0").click()
    expect(page.locator("#charts[data-loads='2']")).to_be_attached()
    expect(plot).to_be_focused()
    expect(page.locator("#range")).to_contain_text("10.000")


def test_what_a_link_has_dropped_is_written(page: Page, runs: dict[str, str]) -> None:
    opened(page, runs["quickstart"])
    words = page.get_by_role("link", name="bottleneck 10mbit").text_content() or ""
    drops = page.locator("table.links tbody tr").filter(has_text="bottleneck:forward")
    number = words.partition("→ ")[2].partition(" drops")[0]
    assert int(number) > 0
    assert number in drops.inner_text().split()


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.long), "dark"])
@pytest.mark.parametrize("name", ["parking lot", "many"])
def test_drawings_are_accessible_and_fit_a_phone(
    browser: Browser, runs: dict[str, str], name: str, scheme: str
) -> None:
    context = browser.new_context(
        viewport={"width": 400, "height": 844}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page = context.new_page()
    opened(page, runs[name])
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    assert page.locator("svg.network").evaluate("one => getComputedStyle(one).fontSize") == "11px"
    found = Axe().run(page)
    assert not found.violations_count, found.generate_report()
    if name == "many":
        expect(page.locator("svg.network .hosts")).to_have_count(2)
    context.close()
