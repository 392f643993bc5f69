"""Where two runs part, by their stored traces: the page, and the answer of the API."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from orchestrator.recording.trace import Capture, Trace
from results.store.store import Store
from results.traces.difference.sides import part_of
from tests.support.recordings import flow, head
from tests.support.trace_rows import taken, told, traced_run
from web import create_app

NASTY = "</script><script>alert(1)</script> \x1b]0;title\x07 \u202eright \"'&<b>"

Stored = tuple[Path, dict[str, str]]


def resolved(limit: str, **more: Any) -> dict[str, Any]:
    return {"topology": {"bottleneck": {"queue": {"limit": limit}}}, **more}


def later() -> Trace:
    """The trace ``taken``, in which each later ACK comes 1 ms later."""
    made = taken()
    made.tables["acks"]["time_ns"][1:] += 1_000_000
    return made


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """A run, one whose queue has more room, and others that differ from the first."""
    path = tmp_path_factory.mktemp("diff") / "runs.db"
    with Store(path) as store:
        ids = {
            "told": traced_run(store, told(), resolved=resolved("100p")),
            "taken": traced_run(
                store, taken(), digest="d2", resolved=resolved("101p", events=[{"at": 1}, NASTY])
            ),
            "same": traced_run(store, resolved=resolved("100p", seed=7)),
            "equal": traced_run(store, told(), digest="d3"),
            "none": traced_run(store, digest="d4"),
            # It ends before the runs part, and after that.
            "short": traced_run(store, part_of(taken(), 0, 2_500_000), digest="d5"),
            "long": traced_run(store, part_of(taken(), 0, 5_000_000), digest="d6"),
            "recovers later": traced_run(store, later(), digest="dc"),
            "few": traced_run(
                store, Trace(Capture(0, 10**10, taken().capture.kinds, flows=("a",))), digest="d7"
            ),
            "others": traced_run(store, flows=[flow("a"), flow(NASTY)], digest="d8"),
            "lab": traced_run(store, backend="lab", digest="d9"),
            "older": traced_run(store, link_model=0, digest="d1"),
            "nasty": traced_run(
                store, told(), flows=[flow(NASTY), flow("b")], scenario=NASTY,
                variant={NASTY: NASTY},                resolved=resolved(NASTY), digest="da",
            ),
            "nasty too": traced_run(
                store, taken(), flows=[flow(NASTY), flow("b")], resolved={NASTY: NASTY}, digest="db"
            ),
        }  # fmt: skip
        ids["failed"] = store.begin(head())
        store.fail(ids["failed"], "no")
    return path, ids


@pytest.fixture
def client(stored: Stored) -> FlaskClient:
    return create_app(stored[0]).test_client()


def address(stored: Stored, one: str, other: str) -> str:
    return f"/diff?run={stored[1][one]}&run={stored[1][other]}"


def page(client: FlaskClient, stored: Stored, one: str, other: str) -> str:
    answer = client.get(address(stored, one, other))
    assert answer.status_code == 200, answer.text
    return answer.text


def rows(text: str, identifier: str) -> list[list[str]]:
    table = text.partition(f'id="{identifier}">')[2].partition("</table>")[0]
    body = table.partition("<tbody>")[2]
    return [
        [
            html.unescape(re.sub("<[^>]*>", "", cell))
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
        ]
        for row in body.split("<tr>")[1:]
    ]


def test_the_first_event_that_differs_is_shown_side_by_side(
    client: FlaskClient, stored: Stored
) -> None:
    text = page(client, stored, "told", "taken")
    assert rows(text, "set-up") == [
        ["topology.bottleneck.queue.limit", "100p", "101p"],
        ["events", "", "only in this run"],
    ]
    assert "At 0.003000000 s they part, by a packet." in text
    assert "Equal in both runs: 2 steps of packets through links, 1 states after ACKs." in text
    dropped, took = rows(text, "there")
    assert dropped == [
        "a",
        "the queue of bottleneck:forward dropped a packet of a (1000 bytes) as it came, "
        "and held 100 packets",
        "trace 1 of a",
    ]
    assert took[1].endswith("took a packet of a (1000 bytes), and then held 101 packets")
    assert rows(text, "values") == [
        ["step", "dropped on arrival", "enqueued"],
        ["queue_packets", "100", "101"],
    ]
    closer = html.unescape(re.findall(r'href="([^"]*/traces/1#[^"]*)"', text)[0])
    assert closer == (
        f"/runs/{stored[1]['told']}/traces/1#t=0.0000..0.0230&flow=a&link=bottleneck%3Aforward"
    )
    assert f"orchestrator diff {stored[1]['told']} {stored[1]['taken']} --db" in text


def test_the_next_events_are_those_of_the_command(client: FlaskClient, stored: Stored) -> None:
    said = client.get("/api" + address(stored, "told", "taken")).json
    assert said is not None
    assert (said["time_ns"], said["kind"], said["identical"]) == (3_000_000, "packet", False)
    text = page(client, stored, "told", "taken")
    for run, name in zip(said["runs"], "ab", strict=True):
        shown = text.partition(f'aria-label="Next events of {name}"')[2].partition("</table>")[0]
        assert shown.count("<tr>") == 1 + len(run["next"])
        for event in run["next"]:
            assert html.escape(event["text"], quote=False) in shown.replace("&#39;", "'")
    # The text of a packet that leaves the queue does not say how many are left.
    assert 'had waited 0.000 ms <span class="dim">queue_packets 99, in b 100</span>' in text
    assert 'had waited 0.000 ms <span class="dim">queue_packets 100, in a 99</span>' in text
    assert "<td>~</td>" in text
    assert "<td>+</td>" not in text
    assert text.count("The stored traces show no more.") == 2


def test_the_first_difference_in_kind_is_shown(client: FlaskClient, stored: Stored) -> None:
    text = page(client, stored, "told", "taken")
    assert "Until 10 s, no later state after an ACK, loss, mark" in text
    text = page(client, stored, "told", "recovers later")
    assert "At 0.007000000 s they differ in kind first after that." in text
    ack, later = rows(text, "kind")
    assert ack[:1] + later == ["a", "b", "no such event at that time"]
    assert "after an ACK" in ack[1]


def test_runs_without_a_difference(client: FlaskClient, stored: Stored) -> None:
    text = page(client, stored, "told", "same")
    assert "The runs are bit-identical" in text
    assert rows(text, "set-up") == [["seed", "-", "7"]]
    text = page(client, stored, "told", "equal")
    assert "Their digests differ, and no traced event does: what differs is not traced." in text
    assert rows(text, "there") == []


@pytest.mark.parametrize("other", ["none", "short", "few"])
def test_where_traces_are_missing_there_is_the_command(
    client: FlaskClient, stored: Stored, other: str
) -> None:
    text = page(client, stored, "told", other)
    assert "No stored traces of both runs show where they part." in text
    command = f"orchestrator diff {stored[1]['told']} {stored[1][other]} --db {stored[0]}"
    assert command in text
    answer = client.get("/api" + address(stored, "told", other))
    assert (answer.status_code, command in answer.get_json()["error"]["message"]) == (400, True)


def test_a_trace_of_the_begin_is_enough_where_the_runs_part_in_it(
    client: FlaskClient, stored: Stored
) -> None:
    said = client.get("/api" + address(stored, "told", "long")).json
    assert said is not None
    assert said["time_ns"] == 3_000_000
    assert [event["time_ns"] for event in said["runs"][0]["next"]] == [4_000_000]


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ("others", "has the flows a (s to d), b (s to d), and run"),
        ("lab", "ran with --backend lab, and only runs of guest can be compared"),
        ("older", "has link model 0 and digest version 2"),
        ("failed", "is failed; only runs that are ok can be compared"),
    ],
)
def test_runs_that_cannot_be_compared_say_why(
    client: FlaskClient, stored: Stored, other: str, why: str
) -> None:
    text = page(client, stored, "told", other)
    assert "They cannot be compared event by event: run " in text
    assert why in text
    assert "orchestrator diff" not in text
    answer = client.get("/api" + address(stored, "told", other))
    assert (answer.status_code, why in answer.get_json()["error"]["message"]) == (400, True)


def test_texts_of_strangers_are_shown_and_not_obeyed(client: FlaskClient, stored: Stored) -> None:
    for one, other in (("nasty", "nasty too"), ("told", "others"), ("taken", "told")):
        text = page(client, stored, one, other)
        assert "<script>" not in text
        assert '<b>"' not in text
        assert not re.search("[\x1b\x07\u202e]", text)
    text = page(client, stored, "nasty", "nasty too")
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in text
    assert "‹U+202E›right" in text
    assert "flow=%3C%2Fscript%3E" in text


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ("", 400, "name two runs that are not the same, not 0"),
        ("run=last&run=last", 400, "name two runs that are not the same, not 1"),
        ("run=last&run=none", 404, "there is no run none"),
        ("run=last&run=x&run=y", 400, "at most 2 runs"),
        ("run=last&x=1", 400, "no parameter x"),
    ],
)
def test_wrong_addresses_are_refused(
    client: FlaskClient, query: str, status: int, says: str
) -> None:
    for place in ("/diff", "/api/diff"):
        answer = client.get(f"{place}?{query}")
        assert (answer.status_code, says in answer.text) == (status, True), answer.text


def test_the_comparison_of_two_runs_leads_there(client: FlaskClient, stored: Stored) -> None:
    pair = address(stored, "told", "taken")
    text = client.get(pair.replace("/diff", "/compare")).text
    assert f'href="{html.escape(pair)}"' in text
    more = client.get(f"{pair.replace('/diff', '/compare')}&run={stored[1]['none']}").text
    assert "/diff?" not in more
    assert 'formaction="/diff"' in client.get("/runs").text


def test_the_answer_is_the_document_of_the_command(stored: Stored, client: FlaskClient) -> None:
    said = client.get("/api" + address(stored, "told", "taken")).json
    assert said is not None
    assert list(said) == ["schema", "identical", "set_up", "time_ns", "kind", "differs", "equal",
                          "equal_until_ns", "runs", "in_kind_time_ns",
                          "in_kind_until_ns"]  # fmt: skip
    assert said["set_up"][0] == {
        "path": "topology.bottleneck.queue.limit", "values": ["100p", "101p"],
    }  # fmt: skip
