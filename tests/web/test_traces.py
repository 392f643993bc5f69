"""Stored traces in a real browser: what happened on a run's page, and a trace packet by packet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect

from orchestrator.recording.trace import Capture, Trace
from results.store.store import Store
from tests.support.dashboard import PIXELS
from tests.support.recordings import flow, head, queue, recording
from tests.support.trace_rows import taken, told
from tests.web.serving import serving

pytestmark = pytest.mark.browser

NASTY = "</script><script>alert(1)</script>\"'&<b>"
RED = "192,31,31"
"""The colour of segments that were sent again."""

Stored = tuple[str, dict[str, str]]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    """The address of a dashboard, and runs with a trace, with one of a part, and without."""
    path = tmp_path_factory.mktemp("traces") / "runs.db"
    part = Trace(Capture(0, 10**9, frozenset({"acks", "drops", "tcp"})))
    ids = {}
    with Store(path) as store:
        for name, traces in {
            "traced": [told()], "part": [part], "none": [], "taken": [taken()],
        }.items():  # fmt: skip
            ids[name] = store.begin(head())
            made = recording(
                [{"time_s": t, "flow": f, "snd_cwnd_segments": 10} for t in (0, 5) for f in (0, 1)],
                flows=[flow("a"), flow(NASTY)], queues=[queue()], digest=f"d-{name}",
            )  # fmt: skip
            store.finish(ids[name], made, 1.0, {"network": {"hosts": ["s", "d"]}})
            for each in traces:
                store.add_trace(ids[name], each)
    with serving(path) as address:
        yield address, ids


def test_what_happened_is_listed_marked_and_leads_closer(page: Page, stored: Stored) -> None:
    address, ids = stored
    page.goto(f"{address}/runs/{ids['traced']}")
    rows = page.locator("#told tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("the queue of bottleneck:forward was full")
    marked = page.locator("#chart-cwnd canvas").evaluate("one => one.toDataURL()")
    page.select_option("#moments select[name=kind]", "fast recovery")
    expect(rows).to_have_count(1)
    assert "kind=fast+recovery" in page.url
    rows.get_by_role("button").click()
    said = page.locator("[data-said]")
    expect(said).to_contain_text("At 0.008000 s a loss was found of a: fast recovery")
    expect(rows.get_by_role("button")).to_be_focused()
    expect(page.locator("#range")).to_contain_text("0.000–0.112 s")
    assert page.locator("#chart-cwnd canvas").evaluate("one => one.toDataURL()") != marked
    said.get_by_role("button", name="Show in the charts").press("Enter")
    expect(page.locator("#chart-cwnd .plot")).to_be_focused()
    expect(page.locator("#chart-cwnd")).to_be_in_viewport()
    said.get_by_role("link", name="Look closer in trace 1").click()
    expect(page.locator("#traced[data-loads]")).to_be_attached()
    assert page.url.endswith("/traces/1#t=0.0000..0.1120&flow=a")


def test_the_story_of_flows_is_told_when_it_is_opened(page: Page, stored: Stored) -> None:
    address, ids = stored
    page.goto(f"{address}/runs/{ids['traced']}")
    expect(page.locator("#charts[data-loads]")).to_be_attached()
    rows = page.locator("#stories tbody tr")
    expect(rows).to_have_count(0)
    summary = page.get_by_text("What limited each flow")
    status = page.locator("#stories").get_by_role("status")
    page.route("**/stories", lambda route: route.fulfill(body="cut off"))
    summary.press("Enter")
    expect(status).to_contain_text("Cannot be shown: ")
    page.unroute("**/stories")
    summary.press("Space")
    expect(status).to_be_hidden()
    summary.press("Space")
    expect(status).to_have_text("2 flows")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("application 100%")
    page.keyboard.press("Tab")
    expect(page.get_by_role("region", name="What limited flows")).to_be_focused()
    found = Axe().run(page)
    assert not found.response["violations"], found.generate_report()
    page.goto(f"{address}/runs/{ids['part']}")
    expect(page.locator("#told")).to_be_attached()
    assert page.locator("#stories").count() == 0


def test_the_address_of_all_traces_shows_their_list(page: Page, stored: Stored) -> None:
    address, ids = stored
    page.goto(f"{address}/runs/{ids['traced']}/traces")
    expect(page.locator("#charts[data-loads]")).to_be_attached()
    expect(page.locator("#told tbody tr")).to_have_count(2)
    expect(page.locator("#moments h3")).to_be_in_viewport()


def test_a_trace_is_drawn_packet_by_packet(page: Page, stored: Stored) -> None:
    address, ids = stored
    page.goto(f"{address}/runs/{ids['traced']}/traces/1#t=0..0.02")
    expect(page.locator("#traced[data-loads]")).to_be_attached()
    expect(page.locator("#chart-sequence figcaption")).to_contain_text("3 segments, 1 sent again")
    expect(page.locator("#chart-queue figcaption")).to_contain_text("1 packets dropped or lost")
    expect(page.locator("#chart-acks .u-label").nth(1)).to_have_text("a")
    expect(page.locator("#told tbody tr")).to_have_count(2)
    red = page.locator("#chart-sequence canvas").evaluate(PIXELS.replace("> 100", "> 10"))
    assert RED in red
    page.select_option("#flow", NASTY)
    expect(page.locator("#chart-sequence")).to_contain_text(f"The trace has no ACK of {NASTY}.")


def test_where_a_trace_is_missing_there_is_the_command(page: Page, stored: Stored) -> None:
    address, ids = stored
    page.goto(f"{address}/runs/{ids['none']}")
    command = page.locator("#moments pre.command")
    expect(command).to_contain_text(f"orchestrator explain {ids['none']}")
    expect(page.locator("#moments button.copy")).to_have_text("Copy")
    page.goto(f"{address}/runs/{ids['part']}/traces/1")
    expect(page.locator("main")).to_contain_text("It has no packets and no queue.")
    expect(page.locator("pre.command")).to_contain_text(
        f"orchestrator zoom {ids['part']} --window 0s..1s --trace packets,acks,queue,tcp"
    )


def test_two_runs_lead_to_where_they_part_and_packets_there(page: Page, stored: Stored) -> None:
    address, ids = stored
    page.goto(f"{address}/compare?run={ids['traced']}&run={ids['taken']}")
    page.get_by_role("link", name="where these two runs part").click()
    expect(page.locator("#outcome")).to_contain_text("At 0.003000000 s they part, by a packet.")
    first, second = page.locator(".sides > div").all()
    boxes = [one.bounding_box() for one in (first, second)]
    assert boxes[0]
    assert boxes[1]
    assert (boxes[0]["y"], boxes[0]["x"] < boxes[1]["x"]) == (boxes[1]["y"], True)
    expect(page.get_by_role("button", name="Copy: Command of the difference")).to_be_visible()
    page.get_by_role("link", name="trace 1 of b").click()
    expect(page.locator("#traced[data-loads]")).to_be_attached()
    expect(page.locator("#range")).to_contain_text("0.000–0.023 s")
    expect(page.locator("#flow")).to_have_value("a")
    expect(page.locator("#link")).to_have_value("bottleneck:forward")


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.long), "dark"])
def test_axe_finds_nothing(page: Page, stored: Stored, scheme: str) -> None:
    address, ids = stored
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for name, where in (
        ("traced", ""),
        ("none", ""),
        ("traced", "/traces/1"),
        ("part", "/traces/1"),
    ):
        page.goto(f"{address}/runs/{ids[name]}{where}")
        expect(page.locator("[data-loads]").first).to_be_attached()
        found = Axe().run(page)
        assert not found.response["violations"], found.generate_report()
    for width, other in ((1280, "taken"), (400, "taken"), (400, "none")):
        page.set_viewport_size({"width": width, "height": 844})
        page.goto(f"{address}/diff?run={ids['traced']}&run={ids[other]}")
        found = Axe().run(page)
        assert not found.response["violations"], found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") == width
