"""The dashboard in a real browser: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from orchestrator.recording.model import SSTHRESH_INFINITE
from results.store.store import Store
from tests.support.dashboard import PIXELS
from tests.web import synthetic
from tests.web.serving import serving

pytestmark = pytest.mark.browser

CHARTS = ("cwnd", "rtt", "goodput", "queue")
BLUE, ORANGE = "18,111,171", "220,109,28"
"""The first two flows' colours in the light style."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    path = tmp_path_factory.mktemp("browser") / "runs.db"
    return path, synthetic.fill(path)


@pytest.fixture(scope="module")
def address(store: tuple[Path, dict[str, str]]) -> Iterator[str]:
    with serving(store[0]) as address:
        yield address


def open_run(page: Page, address: str, run: str) -> None:
    page.goto(f"{address}/runs/{run}")
    expect(page.locator("#charts[data-loads='1']")).to_be_attached()


def test_links_lead_from_the_list_to_the_charts(
    page: Page, address: str, store: tuple[Path, dict[str, str]]
) -> None:
    page.goto(f"{address}/runs")
    assert page.locator("table.runs tbody th").count() == 5
    page.get_by_label("Words").fill("quickstart seed=1")
    expect(page.locator("table.runs tbody th")).to_have_count(1)
    assert urlsplit(page.url).query == "q=quickstart+seed%3D1"
    page.get_by_role("link", name=store[1]["ok"]).click()
    expect(page.locator("#charts[data-loads='1']")).to_be_attached()
    for name in CHARTS:
        colours = page.locator(f"#chart-{name} canvas").evaluate(PIXELS)
        drawn = {"75,83,93"} if name == "queue" else {BLUE, ORANGE}
        if name == "rtt":
            drawn = {ORANGE}  # one queue: the second curve lies on the first
        assert drawn <= set(colours), name


def test_tables_have_the_values_of_the_curves(
    page: Page, address: str, store: tuple[Path, dict[str, str]]
) -> None:
    open_run(page, address, store[1]["ok"])
    row = page.locator("#flows tbody tr").first
    assert [row.get_by_text(text).count() for text in ("5.106 Mbit/s", "196.4 ms")] == [1, 1]
    assert page.locator("#checks tbody tr").count() == 4
    page.locator("#chart-rtt summary").click()
    cells = page.locator("#chart-rtt details tbody tr").first.locator("td").all_inner_texts()
    assert cells[0] == "601"
    assert cells[1].startswith("100")


def test_zoom_asks_for_finer_samples(
    page: Page, address: str, store: tuple[Path, dict[str, str]]
) -> None:
    open_run(page, address, store[1]["ok"])
    plot = page.locator("#chart-cwnd .u-over").bounding_box()
    assert plot
    middle = plot["y"] + plot["height"] / 2
    page.mouse.move(plot["x"] + plot["width"] * 0.25, middle)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] * 0.5, middle, steps=4)
    with page.expect_request("**/tcp?*") as asked:
        page.mouse.up()
    query = parse_qs(urlsplit(asked.value.url).query)
    assert float(query["from"][0]) == pytest.approx(15, abs=0.2)
    assert float(query["to"][0]) == pytest.approx(30, abs=0.2)
    assert int(query["bins"][0]) >= plot["width"] / 4
    assert int(query["points"][0]) >= 3 * int(query["bins"][0])
    expect(page.locator("#charts[data-loads='2']")).to_be_attached()
    expect(page.locator("#range")).to_contain_text("15.0")
    page.reload()  # the address keeps the part
    expect(page.locator("#range")).to_contain_text("15.0")
    page.get_by_role("button", name="Whole run").click()
    expect(page.locator("#range")).to_have_text("0–60 s")


def test_cursor_moves_by_keys_in_all_charts(
    page: Page, address: str, store: tuple[Path, dict[str, str]]
) -> None:
    open_run(page, address, store[1]["ok"])
    page.locator("#chart-cwnd .plot").focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    expect(page.locator("#chart-cwnd [aria-live]")).to_contain_text("9.00 s: westwood cwnd ")
    for name in CHARTS:
        time = page.locator(f"#chart-{name} .u-series").first
        expect(time).to_have_text(re.compile(r"(8\.9|9\.0|9\.1)00 s"))
        legend = page.locator(f"#chart-{name} .u-series").nth(1)
        expect(legend).not_to_contain_text("–")
    page.keyboard.press("+")
    expect(page.locator("#range")).not_to_have_text("0–60 s")
    page.keyboard.press("Escape")
    expect(page.locator("#range")).to_have_text("0–60 s")


def test_flows_are_chosen_once_for_all_charts(
    page: Page, address: str, store: tuple[Path, dict[str, str]]
) -> None:
    open_run(page, address, store[1]["ok"])
    page.get_by_label("draw westwood").uncheck()
    expect(page.locator("#charts[data-loads='2']")).to_be_attached()
    assert "westwood" not in page.locator("#chart-cwnd .u-legend").inner_text()
    assert BLUE not in page.locator("#chart-goodput canvas").evaluate(PIXELS)
    page.get_by_label("draw reno").uncheck()
    expect(page.locator("#chart-cwnd .message")).to_have_text("No samples here.")
    expect(page.locator("#chart-queue canvas")).to_be_visible()


def test_a_running_run_gets_its_charts_when_it_ends(
    page: Page, address: str, store: tuple[Path, dict[str, str]]
) -> None:
    with Store(store[0]) as opened:
        run = opened.begin(replace(synthetic.HEAD, scenario="soon", seed=77))
        page.goto(f"{address}/runs/{run}")
        expect(page.get_by_role("status")).to_contain_text("Still running")
        opened.finish(run, synthetic.recording(), wall_s=1.0)
    expect(page.locator("#charts[data-loads='1']")).to_be_attached()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_phones_width(
    browser: Browser, address: str, store: tuple[Path, dict[str, str]], scheme: str
) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 844},
        color_scheme="dark" if scheme == "dark" else "light",
        has_touch=True,
    )
    page = context.new_page()
    for url in ("/", "/runs", "/experiments/quickstart", f"/runs/{store[1]['off']}"):
        page.goto(address + url)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
    colours = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colours == ("rgb(20, 24, 28)" if scheme == "dark" else "rgb(251, 251, 250)")
    context.close()


def test_a_flow_without_ssthresh_has_none_in_the_legend(page: Page, tmp_path: Path) -> None:
    recorded = synthetic.recording()
    recorded.tcp["snd_ssthresh_segments"][recorded.tcp["flow"] == 0] = SSTHRESH_INFINITE
    with Store(tmp_path / "runs.db") as opened:
        run = opened.begin(synthetic.HEAD)
        opened.finish(run, recorded, wall_s=1.0)
    with serving(tmp_path / "runs.db") as address:
        open_run(page, address, run)
        legend = page.locator("#chart-cwnd .u-legend")
        expect(legend).to_contain_text("reno ssthresh")
        expect(legend).to_contain_text("westwood cwnd")
        expect(legend).not_to_contain_text("westwood ssthresh")


def test_values_of_the_algorithms_have_charts(page: Page, tmp_path: Path) -> None:
    bbr = (("bandwidth", "bytes/s"), ("min_rtt", "us"))
    recorded = synthetic.recording(
        flows=(
            replace(synthetic.flow("b", "bbr"), congestion_fields=bbr),
            replace(synthetic.flow("d", "dctcp"), congestion_fields=(("alpha", "1/1024"),)),
            synthetic.flow("reno", "reno"),
        )
    )
    of_bbr = recorded.tcp["flow"] == 0
    recorded.tcp["congestion_0"] = np.where(of_bbr, 1_250_000, 512)
    recorded.tcp["congestion_1"] = np.where(recorded.tcp["time_ns"] < 1e9, 0xFFFFFFFF, 100_000)
    with Store(tmp_path / "runs.db") as opened:
        run = opened.begin(synthetic.HEAD)
        opened.finish(run, recorded, wall_s=1.0)
    with serving(tmp_path / "runs.db") as address:
        open_run(page, address, run)
        charts = page.locator("[id^=chart-algorithm-]")
        expect(charts).to_have_count(3)
        for chart, title, flow, values in (
            (charts.nth(0), "bandwidth of bbr" + "bytes/s", "b", ["601", *["1250000"] * 4]),
            (charts.nth(1), "min_rtt of bbr" + "us", "b", ["601", *["100000"] * 4]),
            (charts.nth(2), "alpha of dctcp" + "1/1024", "d", ["601", *["512"] * 4]),
        ):
            assert (chart.locator("figcaption").text_content() or "") == title
            chart.locator("summary").click()
            expect(chart.locator(".scroll tbody tr")).to_have_count(1)
            assert chart.locator(".scroll tbody :is(th, td)").all_inner_texts() == [flow, *values]
        page.get_by_role("checkbox", name="draw b").uncheck()
        expect(charts.nth(0)).to_contain_text("No samples here.")
        expect(charts.nth(2).locator(".scroll tbody tr")).to_have_count(1)


def test_events_are_marked_in_every_chart(page: Page, tmp_path: Path) -> None:
    recorded = synthetic.recording()
    rate = {"link": "bottleneck", "rate": "5mbit"}
    recorded.provenance["events"] = [{"time_s": 20.0, "applied_s": 20.0, **rate}]
    with Store(tmp_path / "runs.db") as opened:
        run = opened.begin(synthetic.HEAD)
        opened.finish(run, recorded, wall_s=1.0)
    event = "154,127,184"
    with serving(tmp_path / "runs.db") as address:
        open_run(page, address, run)
        for name in CHARTS:
            assert event in page.locator(f"#chart-{name} canvas").evaluate(PIXELS), name
        page.get_by_text("1 event marked").click()
        expect(page.locator("#events tbody tr")).to_contain_text("link=bottleneck rate=5mbit")
        page.goto(f"{address}/runs/{run}#t=30.0..40.0")
        page.reload()
        expect(page.locator("#charts[data-loads='1']")).to_be_attached()
        assert event not in page.locator("#chart-cwnd canvas").evaluate(PIXELS)
