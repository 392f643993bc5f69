"""The charts of a run in a real browser: bands of bins, base RTTs, legends, UDP and transfers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Locator, Page, expect

from results.store.store import Store
from tests.web import mixed, synthetic
from tests.web.serving import serving

pytestmark = pytest.mark.browser

Stored = tuple[str, str]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    """The address of a dashboard and its run."""
    path = tmp_path_factory.mktemp("charts") / "runs.db"
    run = mixed.fill(path)
    with serving(path) as address:
        yield address, run


def opened(page: Page, stored: Stored, part: str = "") -> None:
    page.goto(f"{stored[0]}/runs/{stored[1]}{part}")
    expect(page.locator("#charts[data-loads='1']")).to_be_attached()


def labels(page: Page, chart: str) -> list[str]:
    """Return the names of the lines in the legend of a chart."""
    rows = page.locator(f"#chart-{chart} .u-series .u-label").all_inner_texts()
    return [row.strip() for row in rows][1:]


def pale(page: Page, chart: str) -> int:
    """Return the number of blue pixels that are neither opaque nor of a line's edge."""
    found: int = page.locator(f"#chart-{chart} canvas").evaluate("""canvas => {
      const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      let count = 0;
      for (let i = 0; i < data.length; i += 4)
        count += data[i + 2] - data[i] > 100 && data[i + 3] > 40 && data[i + 3] < 80;
      return count;
    }""")
    return found


def legend_text(page: Page, chart: str, row: int) -> Locator:
    return page.locator(f"#chart-{chart} .u-series").nth(row).locator(".u-value")


def test_bins_have_bands_and_a_zoom_shows_samples(page: Page, stored: Stored) -> None:
    opened(page, stored)
    note = page.locator("#chart-cwnd figcaption")
    expect(note).to_contain_text("shaded from least to largest")
    page.get_by_label("ssthresh (dotted)").uncheck()
    banded = pale(page, "cwnd")
    page.locator("#chart-cwnd .plot").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowRight")
    expect(legend_text(page, "cwnd", 1)).to_contain_text(" to ")
    expect(page.locator("#chart-cwnd [aria-live]")).to_contain_text(" to ")
    opened(page, stored, "#t=20.0..24.0")
    page.reload()
    expect(page.locator("#charts[data-loads='1']")).to_be_attached()
    expect(note).not_to_contain_text("shaded")
    page.get_by_label("ssthresh (dotted)").uncheck()
    assert banded > 5 * (1 + pale(page, "cwnd")), banded


def test_each_base_rtt_has_a_line_and_the_axis_shows_it(page: Page, stored: Stored) -> None:
    opened(page, stored, "#t=50.0..60.0")  # there no RTT is near the least base RTT
    assert labels(page, "rtt") == ["fast", "slow", "base RTT of fast", "base RTT of slow"]
    page.locator("#chart-rtt .plot").focus()
    page.keyboard.press("Home")
    said = page.locator("#chart-rtt [aria-live]")
    expect(said).to_contain_text("base RTT of fast 100 ms, base RTT of slow 200 ms")
    line = page.locator("#chart-rtt canvas").evaluate("""canvas => {
      const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      const rows = new Map();
      for (let i = 0; i < data.length; i += 4)
        if (data[i] === 18 && data[i + 1] === 111 && data[i + 2] === 171 && data[i + 3] > 150) {
          const row = Math.floor(i / 4 / canvas.width);
          rows.set(row, (rows.get(row) ?? 0) + 1);
        }
      return Math.max(...rows.values()) / canvas.width;
    }""")
    assert line > 0.1  # a level dotted line
    page.get_by_label("draw slow").uncheck()
    expect(page.locator("#charts[data-loads='2']")).to_be_attached()
    assert labels(page, "rtt") == ["fast", "base RTT"]


def test_the_legend_has_the_lines_as_they_are_drawn(page: Page, tmp_path: Path) -> None:
    flows = tuple(synthetic.flow(f"f[{number}]", "reno") for number in range(10))
    with Store(tmp_path / "runs.db") as store:
        run = store.begin(synthetic.HEAD)
        store.finish(run, synthetic.recording(flows=flows), wall_s=1.0)
    with serving(tmp_path / "runs.db") as address:
        opened(page, (address, run))
        assert labels(page, "goodput") == [f"f[{number}]" for number in range(6)]
        page.get_by_label("draw f[9]").check()
        expect(page.locator("#charts[data-loads='2']")).to_be_attached()
        paths = page.locator("#chart-goodput .u-series .swatch path")
        names = "['stroke', 'stroke-dasharray']"
        looks = paths.evaluate_all(
            f"all => all.map(one => {names}.map(name => one.getAttribute(name)))"
        )
        assert [dashes for _stroke, dashes in looks] == [""] * 6 + ["9 3"]  # beyond the palette
        assert looks[6][0] == looks[1][0]
        table = page.locator("#flows .swatch line").nth(9)
        assert table.evaluate("one => getComputedStyle(one).strokeDasharray") == "9px, 3px"


def test_udp_flows_have_curves_of_delay_and_loss(page: Page, stored: Stored) -> None:
    opened(page, stored)
    assert labels(page, "delay") == labels(page, "loss") == ["call"]
    page.locator("#chart-loss .plot").focus()
    page.keyboard.press("Home")
    for _ in range(10):
        page.keyboard.press("Shift+ArrowRight")
    expect(page.locator("#chart-loss [aria-live]")).to_contain_text("30.00 s: call 10 %")
    page.locator("#chart-delay summary").click()
    cells = page.locator("#chart-delay details tbody td").all_inner_texts()
    assert cells[1:4] == ["50 ms", "60 ms", "100 ms"]
    page.get_by_label("draw call").uncheck()
    expect(page.locator("#chart-delay .message")).to_have_text("No samples here.")


def test_transfers_have_the_distribution_of_their_times(page: Page, stored: Stored) -> None:
    opened(page, stored)
    chart = page.locator("#chart-transfers")
    expect(chart.locator("figcaption")).to_contain_text("1 did not complete")
    assert labels(page, "transfers") == ["pages"]
    chart.locator(".plot").focus()
    page.keyboard.press("End")
    expect(chart.locator("[aria-live]")).to_contain_text("pages 1")
    page.get_by_label("draw pages").uncheck()
    expect(chart.locator(".message")).to_be_visible()


def test_a_run_of_bulk_flows_has_neither(page: Page, tmp_path: Path) -> None:
    synthetic.fill(tmp_path / "runs.db")
    with serving(tmp_path / "runs.db") as address:
        page.goto(f"{address}/runs?status=ok&sort=seed")
        page.locator("table.runs tbody th a").first.click()
        expect(page.locator("#charts[data-loads='1']")).to_be_attached()
        assert page.locator("figure.chart").count() == 4
        expect(page.locator("#chart-goodput figcaption")).to_contain_text("as a burst")


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.long), "dark"])
def test_the_charts_are_accessible_on_a_phone(
    browser: Browser, stored: Stored, scheme: str
) -> None:
    dark = scheme == "dark"
    context = browser.new_context(
        viewport={"width": 400, "height": 844}, color_scheme="dark" if dark else "light"
    )
    page = context.new_page()
    opened(page, stored)
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    found = Axe().run(page)
    assert not found.violations_count, found.generate_report()
    context.close()
