"""Runs in progress in a real browser: a sweep fills its grid, a run draws, without reload."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from results.store import live
from results.store.live import LiveFlow, LiveQueue, LiveRun
from results.store.store import Store
from tests.support import experiments
from tests.support.recordings import head
from tests.web import sweep, synthetic
from tests.web.serving import serving

pytestmark = pytest.mark.browser

PIXELS_OF_FIRST_FLOW = """canvas => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
  copy.drawImage(canvas, 0, 0);
  const style = getComputedStyle(document.documentElement).getPropertyValue("--c0");
  const [red, green, blue] = style.match(/[0-9a-f]{2}/g).map(part => parseInt(part, 16));
  const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
  let count = 0;
  for (let i = 0; i < data.length; i += 4) {
    const same = data[i] === red && data[i + 1] === green && data[i + 2] === blue;
    count += same && data[i + 3] === 255;
  }
  return count;
}"""


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def address(db: Path) -> Iterator[str]:
    Store(db).close()
    with serving(db) as address:
        yield address


def state(bins: int, phase: str = "traffic", flows: int = 2) -> LiveRun:
    """What is known of a run of 60 s with some flows after as many seconds."""
    curve = [float(10 + one % 20) for one in range(bins)]

    def flow(number: int, name: str) -> LiveFlow:
        mine = [one + 2 * number for one in curve]
        return LiveFlow(name, 0.008, mine, rtt_ms=mine, goodput_bps=[one * 1e6 for one in mine])

    names = ["westwood", "reno", *(f"more[{number}]" for number in range(flows - 2))]
    return LiveRun(
        phase=phase,
        simulated_s=float(bins),
        duration_s=60.0,
        wall_s=bins / 20,
        speed=20.0,
        left_s=(60 - bins) / 20,
        problem="",
        time_s=[one + 1.0 for one in range(bins)],
        flows=[flow(number, name) for number, name in enumerate(names)],
        queues=[LiveQueue("bottleneck:forward:queue", curve)],
    )


def test_a_run_draws_to_its_end(page: Page, address: str, db: Path) -> None:
    with Store(db) as store:
        run = store.begin(synthetic.HEAD)
        live.write(db, run, state(0, "setup"))
        page.goto(f"{address}/runs/{run}")
        page.evaluate("window.kept = true")
        expect(page.get_by_role("status")).to_contain_text("building the topology")
        seen = []
        for bins in (10, 30, 60):
            live.write(db, run, state(bins))
            expect(page.locator("[data-show=progress]")).to_contain_text(f"{bins} of 60 s")
            seen.append(page.locator("#chart-live-cwnd canvas").evaluate(PIXELS_OF_FIRST_FLOW))
        assert 0 < seen[0] < seen[1] < seen[2]
        assert "20 simulated seconds per second" in page.locator("#running").inner_text()
        assert page.locator("#running canvas").count() == 4
        page.locator("#chart-live-rtt .plot").focus()
        page.keyboard.press("End")
        said = page.locator("#chart-live-rtt [aria-live]")
        expect(said).to_contain_text("60.00 s: westwood 29 ms, reno 31 ms, base RTT 8 ms")
        assert page.evaluate("window.kept") is True
        live.write(db, run, state(60, "storing"))
        expect(page.get_by_role("status")).to_contain_text("judging and storing")
        store.finish(run, synthetic.recording(), wall_s=3.0)
        live.remove(db, run)
    expect(page.locator("#charts[data-loads='1']")).to_be_attached()


def test_the_first_flows_are_drawn_and_others_by_tick_box(
    page: Page, address: str, db: Path
) -> None:
    with Store(db) as store:
        run = store.begin(synthetic.HEAD)
        live.write(db, run, state(20, flows=16))
        page.goto(f"{address}/runs/{run}")
        legend = page.locator("#chart-live-cwnd .u-series")
        expect(legend).to_have_count(1 + 6)  # and the time
        boxes = page.get_by_role("group", name="Flows drawn").get_by_role("checkbox")
        assert [box.is_checked() for box in boxes.all()] == [True] * 6 + [False] * 10
        page.get_by_role("checkbox", name="westwood").uncheck()
        page.get_by_role("checkbox", name="more[13]").check()
        live.write(db, run, state(40, flows=16))
        expect(page.locator("[data-show=progress]")).to_contain_text("40 of 60 s")
        assert [text.strip(": –") for text in legend.all_inner_texts()][1:] == [
            "reno", "more[0]", "more[1]", "more[2]", "more[3]", "more[13]"
        ]  # fmt: skip
        page.goto("about:blank")  # it loads itself anew when its run ends, and the server ends now
        store.fail(run, "why")


def test_a_sweep_fills_its_grid(page: Page, address: str, db: Path) -> None:
    with Store(db) as store:
        runs = [store.begin(replace(synthetic.HEAD, repetition=one, seed=one)) for one in range(3)]
        page.goto(address)
        page.evaluate("window.kept = true")
        place = page.locator("#live")
        expect(place).to_contain_text("3 running")
        store.finish(runs[0], synthetic.recording(), wall_s=1.0)
        expect(place).to_contain_text("2 running")
        store.fail(runs[1], "why")
        expect(place).to_contain_text("1 failed")
        expect(place).to_contain_text("1 running")
        store.finish(runs[2], synthetic.recording(), wall_s=1.0)
        expect(place).not_to_contain_text(re.compile(r"\d running"))
        assert page.evaluate("window.kept") is True


def test_an_experiment_s_page_grows_with_its_sweep(page: Page, address: str, db: Path) -> None:
    draw = random.Random(1)
    variants = [{sweep.LIMIT: f"{limit}bdp", sweep.RATE: "50mbit"} for limit in sweep.LIMITS]

    def add(store: Store, more: list[dict[str, str]]) -> None:
        experiments.make(store, lambda one, _n: sweep.goodput(draw, one), more, 3, name="growing")

    with Store(db) as store:
        add(store, variants[:2])
        made = head(experiment="growing", experiment_sha256="e1", variant=variants[2], windows=())
        running = store.begin(replace(made, repetition=9, seed=10))
        page.goto(f"{address}/experiments/growing")
        page.evaluate("window.kept = true")
        page.get_by_text("Colours, panels, scales, comparison").click()
        page.locator("select[name=each]").select_option("yes")
        expect(page).to_have_url(re.compile("each=yes"))
        points = page.locator("svg.metric .point")
        rows = page.locator("#means tbody tr")
        before = points.count(), rows.count()
        assert min(before) > 0
        link = page.get_by_role("link", name="repetition 2: faithful").first
        link.focus()
        held = link.get_attribute("href")
        add(store, variants[2:4])
        expect(rows).to_have_count(2 * before[1])
        assert points.count() == 2 * before[0]
        focused = "document.activeElement.getAttribute('href')"
        assert page.evaluate(focused) == held
        table = page.get_by_role("region", name="Table of means")
        table.focus()
        table.evaluate("one => one.scrollTo(0, 30)")
        scrolled = table.evaluate("one => one.scrollTop")
        store.fail(running, "why")  # the sweep goes on after a while without a run
        expect(page.locator("#live[data-poll]")).to_have_count(0)
        add(store, variants[4:])
        expect(rows).to_have_count(3 * before[1], timeout=15_000)
        expect(table).to_be_focused()
        assert table.evaluate("one => one.scrollTop") == scrolled
        assert "each=yes" in page.url
        assert page.locator("select[name=each]").input_value() == "yes"
        assert page.evaluate("window.kept") is True


def test_a_run_whose_samples_cannot_be_shown_says_why(page: Page, address: str, db: Path) -> None:
    with Store(db) as store:
        run = store.begin(synthetic.HEAD)
        broken = replace(state(0), simulated_s=5.0, problem="<b>facts.jsonl is malformed")
        live.write(db, run, broken)
        page.goto(f"{address}/runs/{run}")
        text = "5 s simulated. No live samples: <b>facts.jsonl is malformed"
        expect(page.locator("[data-show=progress]")).to_have_text(text)
        store.fail(run, "why")


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.long), "dark"])
def test_a_run_in_progress_fits_a_phones_width(
    browser: Browser, address: str, db: Path, scheme: str
) -> None:
    dark = scheme == "dark"
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, color_scheme="dark" if dark else "light"
    )
    page = context.new_page()
    with Store(db) as store:
        run = store.begin(synthetic.HEAD)
        live.write(db, run, state(30, flows=16))
        page.goto(f"{address}/runs/{run}")
        expect(page.locator("#chart-live-queue canvas")).to_be_visible()
        found = Axe().run(page)
        assert not found.violations_count, found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        store.fail(run, "why")
    context.close()
