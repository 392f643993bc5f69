"""Runs and variants over each other, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from results.store.store import Store
from tests.support.dashboard import PIXELS
from tests.web import synthetic
from tests.web.serving import serving

pytestmark = pytest.mark.browser

LIMITS = ("1bdp", "4bdp")
BLUE, ORANGE = "18,111,171", "220,109,28"
"""The first two runs' colours in the light style."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard with a sweep of two limits, three repetitions each."""
    path = tmp_path_factory.mktemp("compare") / "runs.db"
    with Store(path) as store:
        for number, limit in enumerate(LIMITS):
            for repetition in range(3):
                head = replace(
                    synthetic.HEAD, experiment="sweep", variant={"queue.limit": limit},
                    repetition=repetition, seed=repetition + 1,
                )  # fmt: skip
                flows = (
                    synthetic.flow("westwood", "westwood", 0.1 * repetition),
                    synthetic.flow("reno", "reno", 2.0 * number),
                )
                made = replace(synthetic.recording(flows), digest=f"{number}{repetition}" * 32)
                store.finish(store.begin(head), made, wall_s=1.0)
    with serving(path) as served:
        yield served


def open_variants(page: Page, address: str) -> None:
    """Tick the variants of the experiment, and press Compare."""
    page.goto(f"{address}/experiments/sweep")
    for limit in LIMITS:
        page.get_by_role("checkbox", name=f"tick limit={limit}").check()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#compared[data-loads='1']")).to_be_attached()


def legend(page: Page, chart: str) -> list[str]:
    return page.locator(f"#chart-{chart} .u-series th").all_inner_texts()[1:]


def test_variants_are_drawn_over_each_other_with_true_legends(page: Page, address: str) -> None:
    open_variants(page, address)
    expect(page.get_by_role("heading", name="2 variants compared")).to_be_visible()
    names = [f"limit={limit}: {flow}" for limit in LIMITS for flow in ("westwood", "reno")]
    assert legend(page, "goodput") == names
    assert legend(page, "cwnd") == [f"{name} cwnd" for name in names]
    assert legend(page, "rtt") == [*names, "base RTT"]
    assert legend(page, "queue") == [f"limit={limit}" for limit in LIMITS]
    for chart in ("goodput", "queue"):
        assert {BLUE, ORANGE} <= set(page.locator(f"#chart-{chart} canvas").evaluate(PIXELS))
    looks = page.locator("#chart-goodput .u-series .swatch path").evaluate_all(
        "paths => paths.map(path => [path.getAttribute('stroke'), "
        "path.getAttribute('stroke-dasharray')])"
    )
    assert len({tuple(look) for look in looks}) == 4
    assert len({stroke for stroke, _dash in looks}) == 2
    assert page.locator("#means tbody tr").count() > 6


def test_runs_and_flows_are_ticked_once_for_all_charts(page: Page, address: str) -> None:
    open_variants(page, address)
    page.get_by_role("checkbox", name="limit=4bdp", exact=True).uncheck()
    expect(page.locator("#compared[data-loads='2']")).to_be_attached()
    assert legend(page, "goodput") == ["limit=1bdp: westwood", "limit=1bdp: reno"]
    assert ORANGE not in page.locator("#chart-queue canvas").evaluate(PIXELS)
    page.get_by_role("checkbox", name="reno", exact=True).uncheck()
    expect(page.locator("#compared[data-loads='3']")).to_be_attached()
    assert legend(page, "cwnd") == ["limit=1bdp: westwood cwnd"]


@pytest.mark.long
def test_the_address_keeps_runs_and_time(page: Page, address: str) -> None:
    open_variants(page, address)
    page.locator("#chart-cwnd .plot").focus()
    page.keyboard.press("Home")
    page.keyboard.press("+")
    expect(page.locator("#range")).not_to_have_text("0–60 s")
    expect(page.locator("#compared[data-loads='2']")).to_be_attached()
    assert re.search(r"/compare\?experiment=sweep.*#t=0\.0000\.\.", page.url)
    page.reload()
    expect(page.locator("#range")).not_to_have_text("0–60 s")
    page.get_by_label("single values are of repetition").select_option("2")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#compared[data-loads='1']")).to_be_attached()
    assert "repetition=2" in page.url


def require_as_linked(page: Page, part: str) -> None:
    """Require the curves of one flow of the second variant, in that part of the time."""
    expect(page.locator("#compared[data-loads='1']")).to_be_attached()
    assert legend(page, "goodput") == ["limit=4bdp: reno"]
    assert legend(page, "cwnd") == ["limit=4bdp: reno cwnd", "limit=4bdp: reno ssthresh"]
    assert legend(page, "queue") == ["limit=4bdp"]
    expect(page.get_by_label("Unit of the backlog")).to_have_value("kB")
    expect(page.locator("#range")).to_have_text(part)


def test_a_link_shows_what_is_ticked(page: Page, address: str) -> None:
    open_variants(page, address)
    plain = page.url
    page.get_by_role("checkbox", name="limit=1bdp", exact=True).uncheck()
    page.get_by_role("checkbox", name="westwood", exact=True).uncheck()
    page.get_by_role("checkbox", name="ssthresh (dotted)").check()
    page.get_by_label("Unit of the backlog").select_option("kB")
    page.locator("#chart-cwnd .plot").focus()
    page.keyboard.press("Home")
    page.keyboard.press("+")
    expect(page.locator("#range")).not_to_have_text("0–60 s")
    link, part = page.url, page.locator("#range").inner_text()
    assert re.search(r"#t=[\d.]+&run=2&flow=reno&ssthresh=yes&unit=kB$", link)
    page.goto("about:blank")
    page.goto(link)
    require_as_linked(page, part)
    page.get_by_label("single values are of repetition").select_option("1")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**repetition=1**")
    require_as_linked(page, part)
    page.get_by_role("button", name="Whole run").click()
    for name in ("limit=1bdp", "westwood"):
        page.get_by_role("checkbox", name=name, exact=True).check()
    page.get_by_role("checkbox", name="ssthresh (dotted)").uncheck()
    page.get_by_label("Unit of the backlog").select_option("packets")
    page.wait_for_url(lambda url: "#" not in url)
    assert page.url.startswith(plain)


def test_a_link_may_tick_nothing_or_what_is_not_there(page: Page, address: str) -> None:
    open_variants(page, address)
    for name in ("westwood", "reno"):
        page.get_by_role("checkbox", name=name, exact=True).uncheck()
    expect(page.locator("#chart-cwnd .message")).to_have_text("No samples here.")
    assert page.url.endswith("#flow=")
    page.reload()
    expect(page.locator("#chart-cwnd .message")).to_have_text("No samples here.")
    page.evaluate("location.hash = 'run=1&run=99&flow=reno&flow=absent&unit=miles'")
    expect(page.locator("#chart-goodput .u-series")).to_have_count(2)
    assert legend(page, "goodput") == ["limit=1bdp: reno"]
    expect(page.get_by_label("Unit of the backlog")).to_have_value("packets")


def test_ticked_runs_of_the_list_are_drawn(page: Page, address: str) -> None:
    page.goto(f"{address}/runs")
    for place in (0, 5):
        page.get_by_role("checkbox", name="tick").nth(place).check()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#compared[data-loads='1']")).to_be_attached()
    expect(page.get_by_role("heading", name="2 runs compared")).to_be_visible()
    assert legend(page, "queue") == ["limit=4bdp", "limit=1bdp"]
    assert page.locator("#means").count() == 0


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_axe_finds_nothing_on_a_comparison(
    browser: Browser, address: str, scheme: str, width: int
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 844},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    open_variants(page, address)
    page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
    found = Axe().run(page)
    assert not found.violations_count, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    context.close()
