"""A stored run is made again with a trace, which is kept if the digests are equal."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from orchestrator import backends
from orchestrator.application import stored_plans
from orchestrator.application.executor import LOCAL, choose
from orchestrator.application.making_runs import RunSettings
from orchestrator.application.zoom import ZoomRequest, ZoomResult, flows_named, zoom
from orchestrator.errors import RunError, UsageError
from orchestrator.protocol.reports.trace_records import MOST_LIMIT_BYTES
from orchestrator.protocol.version import LINK_MODEL
from orchestrator.recording.trace import Capture, Trace
from orchestrator.units import parse_time_ns
from orchestrator.windows import window_text
from results.schema import database
from results.store.store import Store
from results.store.stored import StoredRun
from tests.support import traces
from tests.support.run import KERNEL, FakeRunner, fake, orchestrator, recording, run_ids

pytestmark = pytest.mark.slow

__all__ = ["fake"]

DB = Path("results/runs.db")
CAPTURE = Capture(10**9, 2 * 10**9)
"""The second half of the run."""


@pytest.fixture
def stored(fake: FakeRunner) -> str:
    """The id of a run that is stored."""
    fake.trace = traces.small
    assert orchestrator("run", "pair.yaml").exit_code == 0
    return run_ids()[0]


def ask(request: ZoomRequest, backend: str = backends.DEFAULT) -> ZoomResult:
    executor = choose(LOCAL, backends.DEFAULT, None, (None, None, None))
    return zoom(request, RunSettings(DB, backend, executor), lambda _event: None)


def refused(request: ZoomRequest) -> str:
    with pytest.raises(UsageError) as error:
        ask(request)
    return str(error.value)


def test_an_equal_run_keeps_the_trace_and_no_second_run(fake: FakeRunner, stored: str) -> None:
    result = ask(ZoomRequest("last", CAPTURE))
    assert (result.status, result.run_id, result.digest) == (0, stored, "digest of 1")
    assert result.head is not None
    assert (result.head.number, result.head.capture) == (1, CAPTURE)
    assert run_ids() == [stored]
    with Store.open_read_only(DB) as store:
        assert traces.same(store.trace(stored, 1), traces.small(CAPTURE))


def test_an_equal_trace_is_not_made_again(fake: FakeRunner, stored: str) -> None:
    capture = replace(CAPTURE, flows=("one",), links=("bottleneck:reverse", "bottleneck"))
    first = ask(ZoomRequest(stored, capture))
    asked = len(fake.asked)
    other = replace(capture, limit_bytes=2**20, links=capture.links[::-1])
    again = ask(ZoomRequest(stored[:-1], other))
    assert again == replace(first, was_stored=True)
    assert (again.status, first.was_stored) == (0, False)
    assert again.document() == {**first.document(), "was_stored": True}
    assert len(fake.asked) == asked
    for number, changed in enumerate(
        (
            replace(capture, from_ns=capture.from_ns + 1),
            replace(capture, to_ns=capture.to_ns - 1),
            replace(capture, kinds=frozenset({"queue"})),
            replace(capture, snap_bytes=54),
            replace(capture, flows=()),
            replace(capture, links=("bottleneck",)),
        ),
        start=2,
    ):
        made = ask(ZoomRequest(stored, changed))
        assert made.head is not None
        assert (made.head.number, made.was_stored) == (number, False)


def test_only_the_trace_differs_from_the_stored_run(fake: FakeRunner, stored: str) -> None:
    ask(ZoomRequest(stored, CAPTURE))
    (first,), (again,) = (plan.runs for plan, _options in fake.asked)
    assert again.capture == CAPTURE
    for name in ("network", "flows", "seed", "duration_s", "scenario_text", "windows", "events"):
        assert getattr(again, name) == getattr(first, name), name
    options = fake.asked[1][1]
    assert options.db != DB
    assert not options.db.exists(), "the run itself is not kept"


def test_another_digest_keeps_nothing(fake: FakeRunner, stored: str) -> None:
    fake.digest = lambda _spec: "another"
    result = ask(ZoomRequest(stored, CAPTURE))
    assert (result.status, result.head) == (1, None)
    assert result.document() == {
        "schema": result.document()["schema"], "run": stored, "bit_identical": False,
        "digest": "another", "stored_digest": "digest of 1", "trace": None,
        "was_stored": False,
    }  # fmt: skip
    with Store.open_read_only(DB) as store:
        assert store.traces(stored) == []
    assert run_ids() == [stored]


def test_a_run_that_fails_this_time_keeps_nothing(fake: FakeRunner, stored: str) -> None:
    fake.failed = {1}
    with pytest.raises(RunError, match="could not be made again: failed: the guest hung"):
        ask(ZoomRequest(stored, CAPTURE))
    fake.failed, fake.interrupting = set(), {1}
    with pytest.raises(KeyboardInterrupt):
        ask(ZoomRequest(stored, CAPTURE))
    with Store.open_read_only(DB) as store:
        assert store.traces(stored) == []
        assert store.load(stored).status == "ok"


def test_flows_and_links_select_what_is_kept(fake: FakeRunner, stored: str) -> None:
    def rows(flows: tuple[str, ...] = (), links: tuple[str, ...] = ()) -> dict[str, int]:
        head = ask(ZoomRequest(stored, replace(CAPTURE, flows=flows, links=links))).head
        assert head is not None
        return {name: count for name, count in head.rows.items() if name in ("links", "frames")}

    links = [link.name for link in fake.asked[0][0].runs[0].network.links]
    first = links[0]
    assert rows() == {"links": 2, "frames": 2}
    assert rows(flows=("one",)) == {"links": 1, "frames": 1}
    assert rows(links=(first,)) == {"links": 2, "frames": 2}
    assert rows(links=(f"{first}:forward",)) == {"links": 1, "frames": 1}
    assert rows(links=(f"{first}:reverse",)) == {"links": 1, "frames": 2}
    assert rows(links=(f"{first}:reverse", first)) == {"links": 2, "frames": 2}
    assert rows(links=(links[1],)) == {"links": 0, "frames": 1}


def test_an_entry_names_all_its_flows(stored: str) -> None:
    flows = [SimpleNamespace(name=name) for name in ("bulk[0]", "bulk[1]", "web")]
    run = cast("StoredRun", SimpleNamespace(flows=flows, entries=["bulk", "bulk", "web"]))
    assert flows_named(run, ()) == ["bulk[0]", "bulk[1]", "web"]
    assert flows_named(run, ("web", "bulk[1]", "bulk")) == ["web", "bulk[1]", "bulk[0]"]
    with pytest.raises(UsageError, match=r"--flow bul: .*bulk"):
        flows_named(run, ("bul",))
    assert refused(ZoomRequest(stored, replace(CAPTURE, flows=("onee",)))).startswith("--flow onee")


def test_a_store_that_cannot_be_written_is_refused_before_the_run_is_made(
    fake: FakeRunner, stored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite opens a read-only file without an error, as here; root may write any file."""
    connect = database._connect
    monkeypatch.setattr(
        database, "_connect", lambda path, mode: connect(path, mode.replace("rwc", "ro"))
    )
    for command in (["zoom", "last", "--window", "1s..2s"], ["explain", "last"]):
        refused = orchestrator(*command)
        assert refused.exit_code == 1
        assert "error: results/runs.db: cannot write the results database: attempt to write a" in (
            refused.stderr
        )
    assert len(fake.asked) == 1


def test_a_run_that_cannot_be_made_again_is_refused_before_it_is(
    fake: FakeRunner, stored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.failed = {1}
    orchestrator("run", "pair.yaml")
    failed = run_ids()[1]
    fake.failed = set()
    asked = len(fake.asked)
    assert "there is no run nosuch" in refused(ZoomRequest("nosuch", CAPTURE))
    for capture in (CAPTURE, replace(CAPTURE, flows=("one",))):
        assert refused(ZoomRequest("last", capture)) == (
            f"zoom: run {failed} is failed; only a run that is ok can be made again"
        )
    monkeypatch.setattr(stored_plans, "LINK_MODEL", LINK_MODEL + 1)
    said = refused(ZoomRequest(stored, CAPTURE))
    assert f"zoom: run {stored} has link model " in said
    assert said.endswith("(orchestrator run FILE) and zoom into that")
    assert len(fake.asked) == asked


def test_a_run_in_real_time_is_refused(fake: FakeRunner, stored: str) -> None:
    """zoom has no option for another back end."""
    spec = fake.asked[0][0].runs[0]
    with Store(DB) as store:
        other = store.begin(replace(store.load(stored).head, backend="lab"))
        store.finish(other, recording(spec, "faithful", "d"), 1.0)
    assert refused(ZoomRequest(other, CAPTURE)) == (
        f"zoom: run {other} ran with --backend lab, not guest"
    )
    assert len(fake.asked) == 1


def test_another_kernel_is_refused_before_anything_runs(
    fake: FakeRunner, stored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(KERNEL, release="6.1.0", manifest={"release": "6.1.0"})
    monkeypatch.setattr("guest.build.ensure", lambda confine, progress, choice=None: other)
    said = refused(ZoomRequest(stored, CAPTURE))
    assert said.startswith(f"zoom: run {stored} has the kernel 6.12.7, and this machine's guest")
    assert "fix: use the program of its time" in said
    assert len(fake.asked) == 1


@pytest.mark.parametrize(
    ("request_of", "said"),
    [
        (lambda run: ZoomRequest(run, Capture(10**9, 2 * 10**9 + 1)),
         "zoom: the window ends at 2.000000001s, after the run, which ends at 2s"),
        (lambda run: ZoomRequest(run, replace(CAPTURE, flows=("onee",))),
         "--flow onee: the run has no such flow (did you mean `one`?); it has one"),
        (lambda run: ZoomRequest(run, replace(CAPTURE, links=("botleneck",))),
         "--link botleneck: the run has no such link (did you mean `bottleneck`?); it has "),
        (lambda run: ZoomRequest(run, replace(CAPTURE, links=("bottleneck:fwd",))),
         "--link bottleneck:fwd: the run has no such link (did you mean `bottleneck:forward`?)"),
        (lambda run: ZoomRequest(run, replace(CAPTURE, links=("bottleneck:",))),
         "each also as LINK:forward and LINK:reverse"),
        (lambda run: ZoomRequest(run, replace(CAPTURE, snap_bytes=37, flows=("one",))),
         "--snap 37: the flow of a frame is known by its first 38 bytes; give --snap 38 or more"),
    ],
)  # fmt: skip
def test_what_the_run_does_not_have_is_refused_before_it_is_made(
    fake: FakeRunner, stored: str, request_of: Callable[[str], ZoomRequest], said: str
) -> None:
    assert said in refused(request_of(stored))
    assert len(fake.asked) == 1


def test_a_small_snap_is_enough_without_frames_or_flows(fake: FakeRunner, stored: str) -> None:
    short = replace(CAPTURE, snap_bytes=0)
    assert ask(ZoomRequest(stored, short)).status == 0
    no_frames = replace(short, kinds=frozenset({"queue"}), flows=("one",))
    assert ask(ZoomRequest(stored, no_frames)).status == 0


def full(full_ns: int) -> Callable[[Capture], Trace]:
    return lambda capture: replace(traces.small(capture), full_ns=full_ns)


WINDOW = re.compile(r"give --window (\S+)\.\.(\S+), which fits")


@pytest.mark.parametrize(
    ("full_ns", "window"),
    [
        (1_788_015_680, "1s..1.74s"), (1_000_000_100, "1s..1.000000095s"),
        (1_999_999_999, "1s..1.94s"), (1_000_000_002, "1s..1.000000001s"),
    ],
)  # fmt: skip
def test_a_full_trace_names_a_window_that_fits(
    fake: FakeRunner, stored: str, full_ns: int, window: str
) -> None:
    fake.trace = full(full_ns)
    said = refused(ZoomRequest(stored, replace(CAPTURE, limit_bytes=10 * 2**20)))
    assert said.startswith("zoom: the trace is larger than its limit of 10 MiB, which was reached ")
    assert "nothing is kept\n  fix: give --window" in said
    assert said.endswith("trace less (--trace), or raise --limit")
    found = WINDOW.search(said)
    assert found is not None
    assert f"{found[1]}..{found[2]}" == window
    from_ns, to_ns = map(parse_time_ns, found.groups())
    assert CAPTURE.from_ns == from_ns < to_ns < full_ns
    assert to_ns - from_ns >= 0.85 * (full_ns - from_ns) or full_ns - from_ns < 10
    fake.trace = traces.small
    assert ask(ZoomRequest(stored, Capture(from_ns, to_ns))).status == 0
    with Store.open_read_only(DB) as store:
        assert len(store.traces(stored)) == 1


@pytest.mark.parametrize(
    ("full_ns", "reached"),
    [(1_000_000_001, "1 ns after the window's begin"), (10**9, "0 ns after the window's begin"),
     (-5, "before the window")],
)  # fmt: skip
def test_where_nothing_fits_no_window_is_named(
    fake: FakeRunner, stored: str, full_ns: int, reached: str
) -> None:
    fake.trace = full(full_ns)
    said = refused(ZoomRequest(stored, replace(CAPTURE, limit_bytes=MOST_LIMIT_BYTES)))
    assert said == (
        "zoom: the trace is larger than its limit of 900 MiB, which was reached "
        f"{reached}; nothing is kept\n  fix: trace less (--trace)"
    )


@pytest.mark.parametrize(
    ("window", "text"),
    [
        ((0, 1), "0s..0.000000001s"), ((12 * 10**9, 12_500_000_000), "12s..12.5s"),
        ((100 * 10**9, 10**15 + 10), "100s..1000000.00000001s"),
    ],
)  # fmt: skip
def test_a_window_is_written_to_the_nanosecond(window: tuple[int, int], text: str) -> None:
    assert window_text(*window) == text
    assert tuple(map(parse_time_ns, text.split(".."))) == window
