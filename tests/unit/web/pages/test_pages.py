"""The dashboard's pages, over a store with a run of each kind."""

from __future__ import annotations

import hashlib
import html
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

from orchestrator.recording.model import QueueRecord, Recording
from results.runs import listing
from results.store.store import Store
from results.store.upkeep import housekeeping
from tests.support.dashboard import PAGES
from tests.support.run import orchestrator
from tests.web import synthetic
from web import create_app
from web.html import formats

pytestmark = pytest.mark.slow

WEB = Path(__file__).parents[4] / "web"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    path = tmp_path_factory.mktemp("web") / "runs.db"
    return path, synthetic.fill(path)


@pytest.fixture
def client(store: tuple[Path, dict[str, str]]) -> FlaskClient:
    return create_app(store[0]).test_client()


@pytest.fixture
def ids(store: tuple[Path, dict[str, str]]) -> dict[str, str]:
    return store[1]


def listed(client: FlaskClient, query: str) -> list[str]:
    answer = client.get(f"/runs?{query}")
    assert answer.status_code == 200
    return re.findall(r'href="/runs/([^"]+)"', answer.text)


def test_a_browser_tries_every_page_that_needs_no_parameter(client: FlaskClient) -> None:
    """By ``PAGES``; a comparison and a difference need runs."""
    found = set()
    for rule in client.application.url_map.iter_rules():
        if "GET" not in (rule.methods or ()) or rule.arguments:
            continue
        answer = client.get(rule.rule)
        if answer.status_code == 200 and answer.mimetype == "text/html":
            found.add(rule.rule)
    assert found - {"/compare"} == set(PAGES), "name the others in tests/support/dashboard.py"


def test_list_names_every_run_newest_first(client: FlaskClient, ids: dict[str, str]) -> None:
    assert listed(client, "") == list(ids.values())[::-1]
    text = client.get("/runs").text
    for part in ("95.64 %", "9.564 Mbit/s", "2.31 s", "unfaithful", "interrupted by the user"):
        assert part in text


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("status=failed", ["failed"]),
        ("status=running", ["running"]),
        ("q=quickstart+seed%3D2", ["off"]),
        ("q=cubic", ["off"]),
        ("q=GUEST+ended+early", ["failed"]),
        ("q=unfaithful", ["off"]),
        ("q=quickstart&status=interrupted", ["interrupted"]),
        ("q=nothing-like-it", []),
    ],
)
def test_filter(client: FlaskClient, ids: dict[str, str], query: str, kinds: list[str]) -> None:
    assert listed(client, query) == [ids[kind] for kind in kinds]


def test_the_command_lists_the_same_runs(
    client: FlaskClient, store: tuple[Path, dict[str, str]]
) -> None:
    for query in ("", "where=status%3Dok+or+seed%3E2&where=repetition%3E%3D0&sort=-wall_s",
                  "status=failed&sort=id"):  # fmt: skip
        text = client.get(f"/runs?{query}").text
        (shown,) = re.findall(r'<pre class="scroll command"[^>]*>([^<]+)</pre>', text)
        words = shlex.split(html.unescape(shown))
        assert words[0] == "orchestrator"
        result = orchestrator(*words[1:], "--json")
        assert result.exit_code == 0, result.output
        found = [run["id"] for run in json.loads(result.stdout)["runs"]]
        page = listed(client, query)
        assert sorted(found) == sorted(page) != []
        if "wall_s" not in query:  # of equal values the page has the newest run first
            assert page == (found if "sort" in query else found[::-1])
    assert 'class="scroll command"' not in client.get("/runs?q=quickstart").text


def counts_of(client: FlaskClient, query: str) -> dict[str, str]:
    """The addresses behind the counts of the list of runs, by their text."""
    text = client.get(f"/runs?{query}").text
    found = text.partition('class="facets"')[2].partition("</details>")[0]
    links = re.findall(r'<a href="([^"]+)"[^>]*>([^<]+) <span class="dim">([^<]+)', found)
    return {f"{value} {runs}": html.unescape(address) for address, value, runs in links}


def test_counts_lead_to_the_runs_that_they_count(client: FlaskClient, ids: dict[str, str]) -> None:
    counts = counts_of(client, "sort=id&page=1")
    failed = counts["failed 1"]
    assert listed(client, failed.partition("?")[2]) == [ids["failed"]]
    assert "sort=id" in failed
    assert "page" not in failed
    both = counts_of(client, failed.partition("?")[2])
    assert "where=&" in f"{both['failed 1']}&"  # a second click takes the condition away
    quoted = counts_of(client, "where=status%3Dok+or+status%3D'failed'")
    (narrowed,) = [address for text, address in quoted.items() if text.startswith("failed ")]
    assert listed(client, narrowed.partition("?")[2]) == [ids["failed"]]
    for address in counts.values():
        assert client.get(address).status_code == 200


def test_policers_marks_and_rates_that_change_are_shown(tmp_path: Path) -> None:
    recording = synthetic.recording()
    queues = recording.queues
    queues[0] = replace(
        queues[0], rate_steps=((0.0, 10_000_000), (5.0, 4_000_000)), statistics=(("marks", ""),)
    )
    queues.append(
        QueueRecord(
            "bottleneck:forward:policer", "bottleneck", "forward", "policer", "police", False,
            rate_bps=3_000_000, limit_bytes=60_000,
        )
    )  # fmt: skip
    passed = np.zeros(2, recording.queue_samples.dtype)
    passed["queue"], passed["time_ns"] = len(queues) - 1, (0, 60 * 10**9)
    passed["bytes"], passed["drops"] = (100, 5_000_100), (7, 49)
    samples = np.concatenate([recording.queue_samples, passed])
    samples["statistic_0"][samples["queue"] == 0] = np.arange(601)
    recording.queue_samples = samples[np.argsort(samples["time_ns"], kind="stable")]
    path = tmp_path / "runs.db"
    with Store(path) as store:
        run_id = store.begin(synthetic.HEAD)
        store.finish(run_id, recording, 1.0)
    text = create_app(path).test_client().get(f"/runs/{run_id}").text
    assert "10 Mbit/s → 4 Mbit/s" in text
    policers = text.partition('<table id="policers">')[2].partition("</table>")[0]
    cells = re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", policers.partition("<tbody>")[2])
    assert cells == ["bottleneck:forward", "3 Mbit/s", "60 kB", "5 MB", "42"]
    assert text.count(">Marks</abbr></th>") == 1  # of the bottleneck alone
    assert '<td class="n">500</td>' in text  # in the 50 s after the warm-up


def page_of(path: Path, recording: Recording) -> str:
    with Store(path) as store:
        run_id = store.begin(synthetic.HEAD)
        store.finish(run_id, recording, 1.0)
    return create_app(path).test_client().get(f"/runs/{run_id}").text


def test_only_what_was_read_back_is_called_so(
    tmp_path: Path, client: FlaskClient, ids: dict[str, str]
) -> None:
    text = client.get(f"/runs/{ids['ok']}").text
    assert "; rates and delays as read back from the kernel before traffic, queue kinds, " in text
    assert 'Base RTT <span class="dim">set</span>' in text
    changing = synthetic.recording()
    steps = ((0.0, 10_000_000), (5.0, 4_000_000))
    changing.queues[0] = replace(changing.queues[0], rate_steps=steps)
    text = page_of(tmp_path / "changing.db", changing)
    assert "; constant rates and first delays as read back from the kernel" in text
    assert ", changing rates, queue kinds, limits and losses as requested" in text
    listed = synthetic.recording()
    listed.queues = [
        replace(queue, loss=None) if queue.role == "delay" else queue for queue in listed.queues
    ]
    said = "; a loss without a value is one of listed packets"
    assert said in page_of(tmp_path / "listed.db", listed)
    assert said not in text
    live = synthetic.recording()
    live.queues, live.queue_samples = [], live.queue_samples[:0]
    text = page_of(tmp_path / "live.db", live)
    assert "no queue of this run is known" in text
    assert 'Base RTT <span class="dim">measured</span>' in text
    for other in (text, client.get(f"/runs/{ids['failed']}").text):
        assert "read back" not in other
        assert 'class="links"' not in other
        assert ">set<" not in other


@pytest.mark.parametrize(
    "query",
    [
        "status=odd", "page=0", "page=x", "page=" + "9" * 5000, "a=1", "where=nothing%3D1",
        "where=(", "where=jain_index%3C", "where=" + "x" * 10_001, "sort=nothing", "sort=-",
        "where=seed%3D1&" * 21, "sort=" + "x" * 9000,
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused(client: FlaskClient, query: str) -> None:
    assert client.get(f"/runs?{query}").status_code == 400


def test_list_has_pages(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Store(path) as store:
        for seed in range(203):
            store.begin(replace(synthetic.HEAD, seed=seed))
    client = create_app(path).test_client()
    assert len(set(listed(client, ""))) == 200
    assert len(set(listed(client, "page=2"))) == 3
    assert 'href="/runs?page=2"' in client.get("/runs").text


def test_notes_and_tags_are_shown_and_found(tmp_path: Path) -> None:
    ids = list(synthetic.fill(tmp_path / "runs.db").values())
    with Store(tmp_path / "runs.db") as store:
        housekeeping.add_note(store, ids[:2], "<b>short</b> queue")
        housekeeping.add_tag(store, ids[:1], "paper")
    client = create_app(tmp_path / "runs.db").test_client()
    assert listed(client, "q=paper") == ids[:1]
    assert '<span class="mark" title="tag">paper</span>' in client.get("/runs?q=paper").text
    first, second = (client.get(f"/runs/{run_id}").text for run_id in ids[:2])
    for page in (first, second):
        assert "&lt;b&gt;short&lt;/b&gt; queue" in page
    assert ('title="tag">paper<' in first, 'title="tag"' in second) == (True, False)
    runs = client.get("/api/runs").get_json()["runs"]
    assert [run["tags"] for run in runs[:2]] == [["paper"], []]
    assert [note["text"] for note in runs[1]["notes"]] == ["<b>short</b> queue"]


def test_only_a_running_run_is_polled(client: FlaskClient, ids: dict[str, str]) -> None:
    assert "data-poll" in client.get("/").text
    assert "data-poll" in client.get("/runs").text
    assert "data-poll" in client.get(f"/runs/{ids['running']}").text
    assert "data-poll" not in client.get(f"/runs/{ids['ok']}").text


def test_run_page_shows_all_of_it(client: FlaskClient, ids: dict[str, str]) -> None:
    text = client.get(f"/runs/{ids['ok']}").text
    for part in (
        "Westwood+ and NewReno", "0123456789abcdef", "6.12.57", "5.106 Mbit/s", "100.12 ms",
        "9.9991 Mbit/s", "± 1 ms", "too few packets", "bottleneck:forward", "100 packets",
        "net.ipv4.tcp_sack", "name: quickstart", "c0ffee", 'value="westwood"',
    ):  # fmt: skip
        assert part in text, part


def test_run_page_says_why_it_is_not_faithful(client: FlaskClient, ids: dict[str, str]) -> None:
    text = client.get(f"/runs/{ids['off']}").text
    assert "9.5 Mbit/s instead of 10 Mbit/s ± 200 kbit/s" in text
    assert "over 812 busy samples" in text
    assert "requested reno" in text
    assert "quiet" in text  # a window, with metrics of its own


def test_failed_run_shows_its_error_and_console(client: FlaskClient, ids: dict[str, str]) -> None:
    text = client.get(f"/runs/{ids['failed']}").text
    assert "the guest ended early" in text
    assert "Kernel panic" in text
    assert "39 lines before" in text


def test_stored_text_is_never_markup(client: FlaskClient, ids: dict[str, str]) -> None:
    for url in (
        "/", "/runs", f"/runs/{ids['failed']}", f"/runs/{ids['ok']}",
        "/runs?q=<script>alert('x')", "/experiments/broken",
    ):  # fmt: skip
        text = client.get(url, follow_redirects=True).text
        assert "<script>" not in text, url  # ours have a src
        assert not re.search(r"\son\w+=|style=", text), url  # what the CSP would refuse


def test_downloads(client: FlaskClient, ids: dict[str, str]) -> None:
    base = f"/runs/{ids['ok']}"
    answer = client.get(f"{base}/document.json")
    assert json.loads(answer.text)["runs"][0]["id"] == ids["ok"]
    assert answer.headers["Content-Disposition"] == (
        f"attachment; filename={ids['ok']}-document.json"
    )
    assert client.get(f"{base}/scenario.yaml").text == synthetic.HEAD.scenario_text
    assert "Linux version" in client.get(f"{base}/console.txt").text
    assert "set up" in client.get(f"{base}/log.txt").text
    assert client.get(f"/runs/{ids['running']}/log.txt").status_code == 404
    assert client.get(f"{base}/other.txt").status_code == 404


def test_short_ids_lead_to_the_whole_one(client: FlaskClient, ids: dict[str, str]) -> None:
    assert client.get("/runs/last").headers["Location"] == f"/runs/{ids['running']}"


@pytest.mark.parametrize("url", ["/runs/nope", "/runs/2", "/nowhere"])
def test_unknown_is_a_page_of_its_own(client: FlaskClient, url: str) -> None:
    answer = client.get(url)  # /runs/2 is the start of several
    assert answer.status_code == 404
    assert "List of runs" in answer.text


def test_no_runs_yet(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db"):
        pass
    client = create_app(tmp_path / "runs.db").test_client()
    for url in ("/", "/runs"):
        text = client.get(url).text
        assert "No runs yet" in text
        assert "orchestrator run scenarios/quickstart.yaml" in text


@pytest.mark.parametrize("content", [None, b"not a database, whatever its name"])
@pytest.mark.parametrize(
    "url", ["/", "/runs", "/experiments/x", "/compare?run=x", "/runs/x", "/api/runs/x/tcp"]
)
def test_store_that_cannot_be_read(tmp_path: Path, content: bytes | None, url: str) -> None:
    path = tmp_path / "runs.db"
    if content is not None:
        path.write_bytes(content)
    answer = create_app(path).test_client().get(url)
    assert answer.status_code == 503
    assert str(path) in answer.text
    assert "Traceback" not in answer.text
    assert path.exists() == (content is not None)  # looking makes no store


def test_store_may_come_later(tmp_path: Path) -> None:
    client = create_app(tmp_path / "runs.db").test_client()
    assert client.get("/").status_code == 503
    synthetic.fill(tmp_path / "runs.db")
    assert client.get("/").status_code == 200


def test_an_error_of_ours_shows_no_traceback(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **_given: object) -> None:
        raise RuntimeError("the inside")

    monkeypatch.setattr(listing, "read", broken)
    answer = client.get("/runs")
    assert answer.status_code == 500
    assert "the inside" not in answer.text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (formats.rate(9_571_000.0), "9.571 Mbit/s"),
        (formats.rate(0), "0 bit/s"),
        (formats.rate(None), "–"),
        (formats.size(150_000), "150 kB"),
        (formats.time(0.1003), "100.3 ms"),
        (formats.time(0.00004), "40 µs"),
        (formats.time(60.0), "60 s"),
        (formats.percent(0.95713), "95.71 %"),
        (formats.number(12_345.6), "12 346"),
        (formats.number(0.12345), "0.1235"),
        (formats.quantity(0.10003, "s"), "100.03 ms"),
        (formats.quantity("off", ""), "off"),
        (formats.quantity(3, "packets"), "3 packets"),
        (formats.moment("2026-11-20T11:07:47.123+00:00"), "2026-11-20 11:07:47"),
    ],
)
def test_formats(written: str, text: str) -> None:
    assert written.replace("\u202f", " ") == text


def test_script_is_in_step_with_its_sources() -> None:
    folder = WEB / "ts"
    names = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"]
    names += [f"src/{path.name}" for path in (folder / "src").iterdir()]
    sources = hashlib.sha256()
    for name in sorted(names):
        sources.update(name.encode() + b"\0" + (folder / name).read_bytes() + b"\0")
    head, body = (WEB / "static/app.js").read_bytes().split(b"\n", 1)
    said = dict(re.findall(r"(sources|body)=([0-9a-f]{64})", head.decode()))
    assert said["sources"] == sources.hexdigest(), "run `npm ci && npm run build` in web/ts"
    assert said["body"] == hashlib.sha256(body).hexdigest(), "app.js was edited by hand"


def test_vendored_library_is_the_locked_one() -> None:
    lock = json.loads((WEB / "ts/package-lock.json").read_text())
    version = lock["packages"]["node_modules/uplot"]["version"]
    assert f"(v{version})" in (WEB / "static/vendor/uPlot.iife.min.js").read_text()[:200]
    assert "MIT License" in (WEB / "static/vendor/uPlot.LICENSE").read_text()
    assert not any("resolved" in package for package in lock["packages"].values())


def test_dashes_are_the_same_in_table_and_charts() -> None:
    css = dict(
        re.findall(r"\.d(\d) { stroke-dasharray: ([\d ]+);", (WEB / "static/style.css").read_text())
    )
    (found,) = re.findall(r"const DASHES = (\[.*\]);", (WEB / "ts/src/style.ts").read_text())
    assert [css.get(str(index), "").split() for index in range(8)] == [
        [str(length) for length in dash] for dash in json.loads(found)
    ]


def test_a_links_delay_is_its_own_or_that_of_its_netem(
    client: FlaskClient, ids: dict[str, str]
) -> None:
    page = client.get(f"/runs/{ids['ok']}").text
    text = "".join(re.findall(r'<table class="links">.*?</table>', page, re.DOTALL))
    rows = {
        name: re.findall(r'<td class="n">([^<]*)</td>', cells)
        for name, cells in re.findall(
            r'<tr><th scope="row">((?:bottleneck|access):\w+)</th>(.*?)</tr>', text, re.DOTALL
        )
    }
    # Rate, limit, delay, requested loss.
    for direction in ("forward", "reverse"):
        assert rows[f"bottleneck:{direction}"][2:4] == ["20 ms", "0.00 %"]
        assert rows[f"access:{direction}"][2:4] == ["10 ms", "2.00 %"]
