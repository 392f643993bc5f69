"""Notes and tags from a real browser: its headers and cookies pass, and another site's do not."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from results.store.parts.notes import Remarks
from results.store.store import Store
from tests.web import synthetic
from tests.web.serving import serving

pytestmark = pytest.mark.browser


@pytest.fixture
def store(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    path = tmp_path / "runs.db"
    return path, synthetic.fill(path)


def remarks(store: tuple[Path, dict[str, str]], run: str) -> Remarks:
    with Store.open_read_only(store[0]) as opened:
        return opened.remarks().get(run, Remarks())


def test_tags_and_notes_are_written_by_keyboard_without_scripts(
    browser: Browser, store: tuple[Path, dict[str, str]]
) -> None:
    run = store[1]["ok"]
    context = browser.new_context(java_script_enabled=False, viewport={"width": 400, "height": 800})
    page = context.new_page()
    with serving(store[0], edit=True) as address:
        page.goto(f"{address}/runs/{run}")
        page.get_by_label("Tag", exact=True).focus()
        page.keyboard.type("from-a-browser")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Remove tag from-a-browser")).to_be_visible()
        assert "from-a-browser" in remarks(store, run).tags
        page.get_by_label("Note", exact=True).focus()
        page.keyboard.type("first\nsecond")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_role("list", name="Notes")).to_contain_text("second")
        assert remarks(store, run).notes[-1].text == "first\nsecond"
        page.get_by_role("button", name="Remove tag from-a-browser").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_text("from-a-browser")).to_have_count(0)
        assert "from-a-browser" not in remarks(store, run).tags
        page.goto(f"{address}/runs")
        for name in ("ok", "failed"):
            page.get_by_label(f"tick {store[1][name]}").check()
        page.get_by_role("button", name="Tag", exact=True).press("Enter")
        page.get_by_label("Tag", exact=True).fill("ticked")
        page.get_by_role("button", name="Add tag").press("Enter")
        expect(page.get_by_title("tag").filter(has_text="ticked")).to_have_count(2)
    context.close()


@pytest.mark.long
def test_forms_fit_and_axe_finds_nothing(page: Page, store: tuple[Path, dict[str, str]]) -> None:
    run = store[1]["ok"]
    with Store(store[0]) as opened:
        label = next(row.experiment for row in opened.list_runs() if row.id == run)
    page.set_viewport_size({"width": 400, "height": 800})
    with serving(store[0], edit=True) as address:
        for url in (f"/runs/{run}", f"/experiments/{label}", f"/tagging?run={run}", "/runs"):
            page.goto(address + url)
            page.wait_for_load_state("networkidle")
            assert page.evaluate("document.documentElement.scrollWidth") == 400, url
            found = Axe().run(page)
            assert not found.violations_count, (url, found.generate_report())
        page.goto("about:blank")  # the list renews itself, and the server ends now


def test_another_sites_form_changes_nothing(
    browser: Browser, store: tuple[Path, dict[str, str]]
) -> None:
    """Another port of this host is another origin, but gets the same cookies."""
    run = store[1]["ok"]
    context = browser.new_context()
    page = context.new_page()
    with serving(store[0], edit=True) as address:
        page.goto(f"{address}/runs/{run}")
        token = page.locator("input[name=form_token]").first.get_attribute("value")
        form = (
            f'<form method="post" action="{address}/runs/{run}/remarks">'
            f'<input name="form_token" value="{token}"><input name="do" value="tag">'
            '<input name="tag" value="forged"><button>Win</button></form>'
        )
        with other_site(form) as elsewhere:
            page.goto(elsewhere)
            page.get_by_role("button", name="Win").click()
            expect(page.locator(".code")).to_have_text("403")
    assert "forged" not in remarks(store, run).tags
    context.close()


@contextmanager
def other_site(content: str) -> Iterator[str]:
    """Serve a page on another port of this host, and give its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
