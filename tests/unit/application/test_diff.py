"""Two stored runs are made again in windows until they part; what shows it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator import backends
from orchestrator.application import stored_plans
from orchestrator.application.executor import LOCAL, choose
from orchestrator.application.making_runs import RunSettings
from orchestrator.application.stored.diff import LIMIT_BYTES, diff
from orchestrator.errors import RunError, StoreError, UsageError
from orchestrator.protocol.reports import trace_records as records
from orchestrator.protocol.version import LINK_MODEL
from orchestrator.recording.trace import Capture, Trace
from results.store.store import Store
from results.traces.difference.difference_document import document
from results.traces.difference.model import RunDifference
from results.traces.difference.sides import KINDS, set_ups_in_short
from tests.support import traces
from tests.support.run import SCENARIO, FakeRunner, fake, orchestrator, recording, run_ids

pytestmark = pytest.mark.slow

__all__ = ["fake"]

DB = Path("results/runs.db")
MS = 1_000_000
END_NS = 2_000 * MS
"""The runs last so long."""

TIMES_NS = range(0, END_NS, 10 * MS)


def packets(differs_ns: int | None = None, times_ns: Sequence[int] = TIMES_NS) -> list[Any]:
    """A packet at each time; from a time on the queue holds one more."""
    return [
        {"time_ns": t, "step": records.ENQUEUED, "to_sink": 1, "payload_bytes": 1448,
         "queue_packets": 1 + (differs_ns is not None and t >= differs_ns)}
        for t in times_ns
    ]  # fmt: skip


@dataclass
class Traced:
    """What two runs do, by their seeds; ``room`` is how many packets a trace has room for."""

    runner: FakeRunner
    rows: dict[int, list[Any]] = field(default_factory=dict)
    room: int = 10**6
    asked: list[tuple[int, int, int]] = field(default_factory=list)

    def __call__(self, capture: Capture) -> Trace:
        """Return what a capture of the run gives that is made now."""
        seed = self.runner.asked[-1][0].runs[0].seed
        self.asked.append((seed, capture.from_ns // MS, capture.to_ns // MS))
        assert (capture.kinds, capture.limit_bytes) == (KINDS, LIMIT_BYTES)
        assert (capture.flows, capture.links) == ((), ())
        there = [
            row for row in self.rows[seed] if capture.from_ns <= row["time_ns"] < capture.to_ns
        ]
        full_ns = there[self.room]["time_ns"] if len(there) > self.room else None
        return Trace(capture, traces.filled({"links": there[: self.room]}), full_ns=full_ns)


@pytest.fixture
def traced(fake: FakeRunner) -> Traced:
    """Two stored runs with the seeds 1 and 2, and what their traces have."""
    made = fake.trace = Traced(fake, {1: packets(), 2: packets(1505 * MS)})
    for seed in (1, 2):
        assert orchestrator("run", "pair.yaml", "--set", f"seed={seed}").exit_code == 0
    return made


def ask(one: str = "", other: str = "last") -> RunDifference:
    executor = choose(LOCAL, backends.DEFAULT, None, (None, None, None))
    settings = RunSettings(DB, backends.DEFAULT, executor)
    return diff((one or run_ids()[0], other), settings, lambda _event: None)


def refused(one: str = "", other: str = "last") -> str:
    with pytest.raises(UsageError) as error:
        ask(one, other)
    return str(error.value)


def times_ms(difference: RunDifference, side: int) -> list[int]:
    return [event.time_ns // MS for event in difference.sides[side].following]


def test_the_first_event_that_differs_is_found(traced: Traced) -> None:
    found = ask()
    assert (found.time_ns, found.kind, found.identical) == (1510 * MS, "packet", False)
    assert [side.run_id for side in found.sides] == run_ids()
    assert [side.trace for side in found.sides] == [1, 1]
    assert [value.path for value in found.set_up] == ["seed"]
    assert [vars(value) for value in found.differing] == [
        {"path": "queue_packets", "values": [1, 2]}
    ]
    assert found.equal == {"links": 151, "acks": 0, "events": 0, "drops": 0}
    texts = [side.there.text for side in found.sides if side.there is not None]
    assert [text.rpartition(" held ")[2] for text in texts] == ["1 packet", "2 packets"]
    assert times_ms(found, 0) == times_ms(found, 1) == list(range(1520, 1620, 10))
    assert traced.asked == [(1, 0, 2000), (2, 0, 2000)]


def test_the_traces_are_kept_and_used_again(traced: Traced) -> None:
    first = ask()
    with Store.open_read_only(DB) as store:
        heads = [head for run in run_ids() for head in store.traces(run)]
    assert [(head.number, head.capture.from_ns, head.capture.to_ns, head.full_ns)
            for head in heads] == [(1, 0, END_NS, None)] * 2  # fmt: skip
    assert ask() == first
    assert len(traced.asked) == 2


def test_traces_of_some_flows_or_kinds_are_not_used(traced: Traced) -> None:
    capture = Capture(0, END_NS, KINDS)
    with Store(DB) as store:
        for wrong in (
            replace(capture, flows=("one",)), replace(capture, links=("bottleneck",)),
            replace(capture, kinds=KINDS - {"queue"}), replace(capture, to_ns=END_NS - 1),
            replace(capture, from_ns=1),
        ):  # fmt: skip
            store.add_trace(run_ids()[0], Trace(wrong))
    assert ask().time_ns == 1510 * MS
    assert len(traced.asked) == 2


@pytest.mark.parametrize("room", [7, 60, 149, 150, 151, 152, 199])
def test_a_window_that_is_full_is_followed_by_another(traced: Traced, room: int) -> None:
    """The runs part at the same event, whatever a trace has room for."""
    whole = ask()
    with Store(DB) as store, store.writing() as connection:
        connection.execute("DELETE FROM trace_tables")
        connection.execute("DELETE FROM traces")
    traced.room = room
    traced.asked.clear()
    found = ask()
    assert (found.time_ns, found.equal) == (whole.time_ns, whole.equal)
    assert [side.there for side in found.sides] == [side.there for side in whole.sides]
    assert [side.following for side in found.sides] == [side.following for side in whole.sides]
    assert (len(traced.asked) > 2) == (room < 199)
    with Store.open_read_only(DB) as store:
        (head,) = store.traces(run_ids()[0])
        assert head.full_ns is None
        assert head.capture.from_ns <= 1510 * MS < head.capture.to_ns
        assert store.trace(run_ids()[0], 1, ["links"]).tables["links"]["time_ns"].max() < (
            head.capture.to_ns
        )


def test_more_at_one_time_than_a_trace_has_room_for_is_an_error(traced: Traced) -> None:
    traced.room = 0
    assert "diff: what happens at 0.000000000 s of the runs " in refused()
    assert "is more than a trace can have" in refused()


def test_a_run_that_ends_earlier_has_no_such_event(traced: Traced) -> None:
    traced.rows[2] = packets(times_ns=TIMES_NS[:150])
    found = ask()
    assert found.time_ns == 1500 * MS
    assert found.sides[0].there is not None
    assert found.sides[1].there is None
    assert found.differing == []
    assert (len(times_ms(found, 0)), times_ms(found, 1)) == (10, [])


def test_without_a_traced_difference_nothing_is_said_of_one(traced: Traced) -> None:
    traced.rows[2] = packets()
    found = ask()
    assert (found.time_ns, found.kind, found.identical) == (None, None, False)
    assert found.equal == {"links": 200, "acks": 0, "events": 0, "drops": 0}
    with Store.open_read_only(DB) as store:
        assert store.traces(run_ids()[0]) == [], "nothing is to be seen in them"


def test_a_shorter_run_is_compared_until_it_ends(traced: Traced) -> None:
    """The other one has packets after that, too."""
    traced.rows[3] = packets(times_ns=TIMES_NS[:100])
    orchestrator("run", "pair.yaml", "--set", "seed=3", "--set", "duration=1s")
    found = ask()
    assert (found.time_ns, found.equal_until_ns, found.identical) == (None, 1_000 * MS, False)
    assert [side.end_ns for side in found.sides] == [END_NS, 1_000 * MS]
    assert found.equal == {"links": 100, "acks": 0, "events": 0, "drops": 0}
    assert {value.path for value in found.set_up} == {"seed", "duration"}
    assert traced.asked == [(1, 0, 1000), (3, 0, 1000)]
    traced.rows[3] = packets(500 * MS, TIMES_NS[:100])
    found = ask()
    assert (found.time_ns, found.equal_until_ns) == (500 * MS, None)


def test_a_sample_that_differs_is_no_equality(
    traced: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced.rows[2] = packets()
    assert ask().equal_until_ns == END_NS
    monkeypatch.setattr(
        "results.traces.difference.sides.first_unequal_sample_ns", lambda *_runs: END_NS - 1
    )
    found = ask()
    assert (found.time_ns, found.equal_until_ns) == (None, None)


def test_equal_digests_are_enough(traced: Traced, fake: FakeRunner) -> None:
    fake.digest = lambda _spec: "digest of 1"
    orchestrator("run", "pair.yaml", "--set", "seed=3")
    found = ask()
    assert (found.identical, found.time_ns, found.equal) == (True, None, None)
    assert [value.values for value in found.set_up] == [[1, 3]]
    assert ask("last", "last").set_up == []
    assert traced.asked == []


def test_digests_of_other_versions_are_not_compared(traced: Traced) -> None:
    spec = traced.runner.asked[0][0].runs[0]
    with Store(DB) as store:
        head = store.load(run_ids()[0]).head
        other = store.begin(replace(head, link_model=LINK_MODEL + 1))
        store.finish(other, recording(spec, "faithful", "digest of 1"), 1.0)
    assert "has link model" in refused()
    assert refused().endswith("(orchestrator run FILE) and compare that")


def test_another_digest_this_time_is_an_error(traced: Traced, fake: FakeRunner) -> None:
    fake.digest = lambda spec: "another" if spec.capture else f"digest of {spec.seed}"
    with pytest.raises(RunError, match="its digest differs: it is another, and digest of 1 was"):
        ask()
    with Store.open_read_only(DB) as store:
        assert store.traces(run_ids()[0]) == []


def test_runs_that_do_not_correspond_are_refused(traced: Traced, fake: FakeRunner) -> None:
    scenario = Path("other.yaml")
    for changed, said in (
        (("name: one", "name: two"), ("the flows one (", "has two (")),
        (("hosts: 1", "hosts: 2"), ("the flows ", "fix: name runs with the same flows and links")),
    ):
        assert changed[0] in SCENARIO
        scenario.write_text(SCENARIO.replace(*changed).replace("seed: 1", "seed: 9"))
        assert orchestrator("run", str(scenario)).exit_code == 0
        text = refused()
        assert all(words in text for words in said), text
    assert traced.asked == []


def test_runs_that_cannot_be_made_again_are_refused(
    traced: Traced, fake: FakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.failed = {3}
    orchestrator("run", "pair.yaml", "--set", "seed=3")
    assert refused() == (
        f"diff: run {run_ids()[2]} is failed; only a run that is ok can be made again"
    )
    spec = fake.asked[0][0].runs[0]
    with Store(DB) as store:
        other = store.begin(replace(store.load(run_ids()[0]).head, backend="lab"))
        store.finish(other, recording(spec, "faithful", "d"), 1.0)
    assert refused() == f"diff: run {other} ran with --backend lab, not guest"
    assert refused(other, run_ids()[0]) == refused()
    assert "there is no run nosuch" in refused("nosuch")
    monkeypatch.setattr(stored_plans, "LINK_MODEL", LINK_MODEL + 1)
    assert "has link model" in refused(other=run_ids()[1])
    assert traced.asked == []


def test_a_stored_trace_of_nothing_that_a_run_has_is_damage(traced: Traced) -> None:
    rows = [{**packets()[0], "flow": 7}]
    with Store(DB) as store:
        store.add_trace(
            run_ids()[0], Trace(Capture(0, END_NS, KINDS), traces.filled({"links": rows}))
        )
    with pytest.raises(StoreError, match="trace 1: links has a row of an unknown flow"):
        ask()


def test_the_document_is_the_contract(traced: Traced) -> None:
    said = document(ask())
    assert list(said) == ["schema", "identical", "set_up", "time_ns", "kind", "differs", "equal",
                          "equal_until_ns", "runs", "in_kind_time_ns",
                          "in_kind_until_ns"]  # fmt: skip
    assert said["set_up"] == [{"path": "seed", "values": [1, 2]}]
    assert said["differs"] == [{"path": "queue_packets", "values": [1, 2]}]
    one, other = said["runs"]
    assert (one["id"], one["digest"], one["trace"]) == (run_ids()[0], "digest of 1", 1)
    assert len(one["next"]) == len(other["next"]) == 10
    assert {key: value for key, value in other["event"].items() if key != "values"} == {
        "time_ns": 1510 * MS, "kind": "packet", "table": "links", "flow": "one",
        "place": "bottleneck:forward", "what": "enqueued", "only_here": True,
        "other_values": {"queue_packets": 1},
        "text": "the queue of bottleneck:forward took a packet of one (1448 bytes), and then held "
                "2 packets",
    }  # fmt: skip
    assert other["event"]["values"]["queue_packets"] == 2
    assert (said["in_kind_time_ns"], said["in_kind_until_ns"]) == (None, END_NS)
    assert (one["in_kind"], other["in_kind"]) == (None, None)


def test_the_first_difference_in_kind_is_told_too(traced: Traced) -> None:
    """The queue holds one packet more for 300 ms, and then one run drops a packet."""
    traced.rows[2] = packets(1005 * MS)
    (dropped,) = (row for row in traced.rows[2] if row["time_ns"] == 1300 * MS)
    dropped["step"] = records.REFUSED
    for room in (10**6, 112):
        traced.room = room
        found = ask()
        assert (found.time_ns, found.in_kind_time_ns) == (1010 * MS, 1300 * MS)
        one, other = found.sides
        assert one.in_kind is None
        assert other.in_kind is not None
        assert other.in_kind.what == "dropped on arrival"
        assert {event.only_here for event in other.following} == {True}
        assert {tuple(event.other_values or {}) for event in other.following} == {
            ("queue_packets",)
        }


def test_traces_are_no_part_of_a_set_up(traced: Traced) -> None:
    spec = traced.runner.asked[0][0].runs[0]
    with Store(DB) as store:
        plain = store.load(run_ids()[0])
        head = replace(plain.head, resolved={**plain.head.resolved, "capture": {}})
        other = store.begin(head)
        store.finish(other, recording(spec, "faithful", "another digest"), 1.0)
        captured = store.load(other)
        sch_link = {"sch_link": {"sha256": "1"}}
        plain.provenance["modules"] = sch_link
        captured.provenance["modules"] = {**sch_link, "run_trace": {"sha256": "2"}}
        assert set_ups_in_short(plain, captured) == []
        captured.provenance["modules"] = {"sch_link": {"sha256": "3"}}
        (differs,) = set_ups_in_short(plain, captured)
    assert differs.path == "modules.sch_link"
