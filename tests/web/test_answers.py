"""From the start page to an answer, in a real browser: experiments, their pages, lists of runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from results.store.store import Store
from tests.support.cards import matrix
from tests.support.dashboard import PAGES
from tests.web import sweep, synthetic
from tests.web.serving import serving

pytestmark = pytest.mark.browser

Stored = tuple[str, Path, dict[str, str]]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    """The address of a dashboard, its store, and the runs of the quickstart by kind."""
    path = tmp_path_factory.mktemp("answers") / "runs.db"
    ids = sweep.fill(path, repetitions=3)
    with serving(path) as address:
        yield address, path, ids


def test_who_wins_at_1_bdp_in_two_clicks(page: Page, stored: Stored) -> None:
    page.goto(stored[0])
    expect(page.get_by_role("img", name="6 variants × 3 repetitions: 18 faithful")).to_be_visible()
    picture = page.get_by_role("row", name="bbr-vs-cubic").locator("img")
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 120
    page.get_by_role("link", name="bbr-vs-cubic").click()  # the first click
    page.get_by_role("searchbox", name="where").fill("limit=1bdp")
    page.keyboard.press("Enter")
    expect(page.locator("#differences tbody tr")).to_have_count(1)
    cells = page.locator("#differences tbody tr").locator("th, td").all_inner_texts()
    assert cells[:3] == ["limit 1bdp", "bbr above cubic", "cubic − bbr"]
    mean, low, high = (float(each) for each in (cells[3], *cells[4].split(" … ")))
    assert low < mean < high < 0
    assert mean == pytest.approx(-20, abs=3)  # bbr has 70% of 50 Mbit/s
    assert cells[5] in ("< 0.001", *(f"0.{number:03d}" for number in range(1, 51)))


def open_further_choices(page: Page) -> None:
    page.get_by_text("Colours, panels, scales, comparison").click()


def test_the_answer_is_in_sight_on_a_telephone(page: Page, stored: Stored) -> None:
    """Few controls stand above the plot, and the others are folded until one of them is used."""
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(f"{stored[0]}/experiments/bbr-vs-cubic")
    top = page.locator("#plot-title").bounding_box()
    assert top is not None
    assert top["y"] < 320
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    expect(page.get_by_label("panels by")).not_to_be_visible()
    page.goto(f"{stored[0]}/experiments/bbr-vs-cubic?facet=rate")
    expect(page.get_by_label("panels by")).to_be_visible()


def test_choices_are_in_the_address_and_change_the_plot(page: Page, stored: Stored) -> None:
    page.goto(f"{stored[0]}/experiments/bbr-vs-cubic")
    assert page.locator("svg.metric .line").count() == 2
    assert page.locator("svg.metric .point").count() == 12
    open_further_choices(page)
    page.get_by_label("panels by").select_option("rate")
    expect(page.locator("svg.metric").first).to_have_attribute("aria-label", re.compile("50mbit"))
    page.get_by_label("Metric").select_option("rtt_mean_s")
    expect(page.locator("#plot-title")).to_contain_text("RTT")
    assert "metric=rtt_mean_s" in page.url
    assert "facet=rate" in page.url
    page.reload()
    expect(page.locator("#plot-title")).to_contain_text("RTT")
    assert page.get_by_label("panels by").input_value() == "rate"
    command = page.locator("pre.command").first.inner_text()
    assert "--metric rtt_mean_s" in command


def test_files_are_downloaded_and_commands_copied(page: Page, stored: Stored) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{stored[0]}/experiments/bbr-vs-cubic")
    for name, start in (("PDF", b"%PDF"), ("CSV", b"limit,")):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        assert download.value.path().read_bytes().startswith(start)
    page.get_by_role("button", name="Copy: Command of the tables").click()
    expect(page.get_by_role("button", name="Copy: Command of the tables")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("pre.command").first.inner_text()


def test_it_works_without_scripts(browser: Browser, stored: Stored) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{stored[0]}/experiments/bbr-vs-cubic")
    open_further_choices(page)
    page.get_by_label("vertical").select_option("log")
    page.get_by_role("button", name="Show").click()
    assert "y_scale=log" in page.url
    assert page.locator("svg.metric .point").count() == 12
    page.goto(f"{stored[0]}/runs?where=limit=1bdp")
    page.get_by_role("checkbox", name="tick").first.check()
    page.get_by_role("checkbox", name="tick").nth(1).check()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="2 runs compared")).to_be_visible()
    context.close()


def test_keys_lead_from_the_start_to_the_choices(page: Page, stored: Stored) -> None:
    page.goto(stored[0])
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "bbr-vs-cubic":
            break
    page.keyboard.press("Enter")
    expect(page.locator("#differences")).to_be_visible()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "SUMMARY":
            page.keyboard.press("Enter")
        if page.evaluate("document.activeElement.name") == "y_scale":
            break
    page.keyboard.press("ArrowDown")
    page.wait_for_url(re.compile("y_scale=log"))


def test_the_grid_fills_without_a_reload(page: Page, stored: Stored) -> None:
    page.goto(stored[0])
    page.evaluate("window.stays = true")
    with Store(stored[1]) as store:
        head = replace(synthetic.HEAD, experiment="growing", seed=90, variant={})
        first = store.begin(head)
        page.reload()
        page.evaluate("window.stays = true")
        row = page.get_by_role("row", name="growing")
        expect(row).to_contain_text("1 variant × 1 repetition: 1 running")
        second = store.begin(replace(head, seed=91, repetition=1))
        expect(row).to_contain_text("1 variant × 2 repetitions: 2 running")
        store.finish(first, synthetic.recording(duration_s=20.0), 1.0)
        expect(row).to_contain_text("1 faithful, 1 running")
        store.fail(second, "no")
        expect(row).to_contain_text("1 faithful, 1 failed")
    assert row.locator(".cell.faithful, .cell.failed").count() == 2
    assert page.evaluate("window.stays") is True


def test_runs_are_sorted_filtered_and_compared(page: Page, stored: Stored) -> None:
    page.goto(f"{stored[0]}/runs")
    page.get_by_role("searchbox", name="Where").fill("limit<=0.5bdp and jain_index<0.9")
    page.keyboard.press("Enter")
    expect(page.locator("table.runs caption")).to_contain_text("6 of 2")
    page.get_by_role("link", name="limit", exact=True).click()
    assert (
        page.locator("table.runs tbody tr td:nth-child(2)")
        .first.inner_text()
        .startswith("limit=0.25bdp")
    )
    page.get_by_role("link", name="limit").click()
    assert "sort=-topology.bottleneck.queue.limit" in page.url
    assert "where=limit" in page.url
    for place in (0, 3):
        page.get_by_role("checkbox", name="tick").nth(place).check()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="2 runs compared")).to_be_visible()
    expect(page.get_by_role("region", name="Scenario").or_(page.locator("#differs-title")).first
           ).to_be_visible()  # fmt: skip


def test_a_wrong_condition_is_said_beside_it(browser: Browser, stored: Stored) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{stored[0]}/runs")
    page.get_by_role("searchbox", name="Where").fill("jain_indx<0.9")
    page.keyboard.press("Enter")
    expect(page.locator(".problem")).to_contain_text("did you mean `jain_index`")
    page.get_by_role("searchbox", name="Where").fill("jain_index<0.9")
    page.keyboard.press("Enter")
    expect(page.locator(".problem")).to_have_text("")
    context.close()


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_axe_finds_nothing_on_any_page(
    browser: Browser, stored: Stored, scheme: str, width: int
) -> None:
    address, path, ids = stored
    harms = path.parent / "harms" / "matrix.json"
    harms.parent.mkdir(exist_ok=True)
    harms.write_text(json.dumps(matrix("bbr", "cubic")))
    with Store.open_read_only(path) as store:
        rows = [row for row in store.list_runs() if row.experiment == "bbr-vs-cubic"]
    context = browser.new_context(
        viewport={"width": width, "height": 844},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    for url in (
        *PAGES, "/papers/libra", "/experiments/bbr-vs-cubic?each=yes&facet=rate",
        "/cards/library/prague-7.3", "/cards/matrix/harms",
        f"/compare?run={rows[0].id}&run={rows[-1].id}", f"/runs/{ids['off']}",
        f"/runs/{ids['failed']}", "/nothing",
    ):  # fmt: skip
        page.goto(address + url)
        if page.locator("#charts").count():
            page.locator("#charts[data-loads]").wait_for()  # the charts' tables have their lines
        page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
        found = Axe().run(page)
        assert not found.violations_count, f"{url}: {found.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth") == width, url
    context.close()
