"""A scenario's `capture`: what is valid, and that it makes no other run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from orchestrator.errors import RunError, ScenarioError
from orchestrator.planning import captures, plan_document
from orchestrator.planning.identity import experiment_sha256
from orchestrator.planning.plan import plan, validate
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.reports.trace_records import CLOSEST, DEFAULT_LIMIT_BYTES, WANTED
from orchestrator.recording.trace import Capture
from orchestrator.scenario import load
from orchestrator.scenario.capture import Kind
from tests.support import traces

TEXT = f"""{traces.SCENARIO}\
capture:
  window: 500ms..1.5s
  trace: [packets, acks]
  flows: [up, voice]
  links: [bottleneck:forward, a_src0]
  snap: 60B
  limit: 64MiB
"""
LINE = {
    key: number
    for number, line in enumerate(TEXT.splitlines(), start=1)
    for key in ("window", "trace", "flows", "links", "snap", "limit")
    if line.startswith(f"  {key}: ")
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "captured.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def planned(file: Path, *overrides: str) -> RunSpec:
    return plan(load(file, overrides)).runs[0]


def test_a_run_is_planned_with_its_capture(file: Path) -> None:
    assert planned(file).capture == Capture(
        500_000_000,
        1_500_000_000,
        frozenset({"packets", "acks"}),
        64 * 2**20,
        60,
        ("up", "voice"),
        ("bottleneck:forward", "a_src0"),
    )


def test_all_of_the_run_is_traced_as_zoom_does_it_unless_less_is_asked(file: Path) -> None:
    capture = planned(file, "capture={}").capture
    assert capture == Capture(0, 2_000_000_000)
    assert capture.kinds == frozenset(CLOSEST)
    assert capture.limit_bytes == DEFAULT_LIMIT_BYTES
    assert planned(file, "capture=null").capture is None


def test_it_can_be_set_where_the_file_has_none(tmp_path: Path) -> None:
    file = tmp_path / "without.yaml"
    file.write_text(traces.SCENARIO, encoding="utf-8")
    assert planned(file).capture is None
    assert planned(file, "capture.window=1s..2s").capture == Capture(10**9, 2 * 10**9)


def test_the_kinds_are_those_of_the_kernel() -> None:
    assert get_args(Kind) == tuple(WANTED)


@pytest.mark.parametrize(
    ("key", "value", "column", "message"),
    [
        ("window", "1s", 11, "give FROM..TO, such as 12s..13s, not `1s`"),
        ("window", "[1s, 2s]", 11, "give FROM..TO, such as 12s..13s, not a list"),
        ("window", "1s..1s", 11, "it must begin at 0s or later, and end after its begin"),
        ("window", "1s..2", 11, "`2`: a time needs a unit"),
        ("window", "-1s..2s", 11, "a time must not be negative"),
        ("window", "1s..2.5s", 11, "the window ends at 2.5s, after the run, which ends at 2s"),
        ("trace", "[packet]", 11, "(did you mean `packets`?); valid: packets, acks, queue, tcp, d"),
        ("trace", "[]", 10, "must have at least 1 item"),
        ("trace", "packets", 10, "must be a list"),
        ("flows", "[up, upp]", 15, "no such flow (did you mean `up`?); it has up, down, asked, vo"),
        ("links", "[botleneck]", 11, "no such link (did you mean `bottleneck`?); it has bottlenec"),
        ("links", "[bottleneck:back]", 11, "each also as LINK:forward and LINK:reverse"),
        ("snap", "37B", 9, "give 38B or more, or leave out `flows`"),
        ("snap", "10kB", 9, "must be at most 9216B, not `10kB`"),
        ("snap", "9300", 9, "must be at most 9216B, not `9300`"),
        ("snap", "0.1MB", 9, "must be at most 9216B, not `0.1MB`"),
        ("snap", "0", 9, "a size must be above zero"),
        ("snap", "1.5", 9, "a size needs a unit"),
        ("snap", "true", 9, "not"),
        ("limit", "1kB", 10, "must be 1MiB to 900MiB, not `1kB`"),
        ("limit", "100GiB", 10, "must be 1MiB to 900MiB, not `100GiB`"),
        ("limit", "1GB", 10, "must be 1MiB to 900MiB, not `1GB`"),
    ],
)
def test_what_is_wrong_is_said_at_its_place(
    file: Path, key: str, value: str, column: int, message: str
) -> None:
    lines = TEXT.splitlines(keepends=True)
    lines[LINE[key] - 1] = f"  {key}: {value}\n"
    file.write_text("".join(lines), encoding="utf-8")
    (fault,) = validate(file)
    assert (fault.line, fault.column) == (LINE[key], column), fault
    assert message in fault.message


def test_a_short_snap_is_no_fault_where_no_flow_is_selected(file: Path) -> None:
    assert planned(file, "capture.snap=1B", "capture.flows=[]").capture is not None
    assert planned(file, "capture.snap=1B", "capture.trace=[acks]").capture is not None


@pytest.mark.parametrize("written", ["60", "60B", "'60'", "0.06kB"])
def test_a_snap_without_a_unit_is_bytes(file: Path, written: str) -> None:
    capture = planned(file, f"capture.snap={written}").capture
    assert capture is not None
    assert capture.snap_bytes == 60


def test_it_makes_no_other_experiment_and_no_other_variant(file: Path) -> None:
    without = experiment_sha256(load(file, ["capture=null"]))
    assert experiment_sha256(load(file)) == without
    assert experiment_sha256(load(file, ["capture.window=0s..1s"])) == without
    assert experiment_sha256(load(file, ["duration=3s"])) != without
    named = "matrix={size: {small: {duration: 2s, capture.limit: %s}, large: {duration: 3s}}}"
    first, second = (experiment_sha256(load(file, [named % limit])) for limit in ("64MiB", "32MiB"))
    assert first == second
    with pytest.raises(ScenarioError, match="two variants are equal"):
        load(file, ["matrix={capture.window: [0s..1s, 1s..2s]}"])


def test_a_resolved_capture_gives_the_same_one(file: Path) -> None:
    resolved = planned(file).resolved["capture"]
    assert resolved == {
        "window": "0.5s..1.5s",
        "trace": ["packets", "acks"],
        "flows": ["up", "voice"],
        "links": ["bottleneck:forward", "a_src0"],
        "snap": "60B",
        "limit": "64MiB",
    }
    assert planned(file, f"capture={resolved}".replace("'", "")).capture == planned(file).capture


def test_a_plan_has_it(file: Path) -> None:
    (described,) = plan_document.document(plan(load(file)).describe())["runs"]
    assert described["capture"] == {
        "from_ns": 500_000_000,
        "to_ns": 1_500_000_000,
        "trace": ["packets", "acks"],
        "flows": ["up", "voice"],
        "links": ["bottleneck:forward", "a_src0"],
        "snap_bytes": 60,
        "limit_bytes": 64 * 2**20,
    }
    (described,) = plan_document.document(plan(load(file, ["capture=null"])).describe())["runs"]
    assert described["capture"] is None


def test_a_trace_that_is_cut_fails_its_run(file: Path) -> None:
    spec = planned(file)
    assert spec.capture is not None
    whole = replace(traces.drawn(1, capture=spec.capture), full_ns=None)
    assert set(captures.kept(whole, spec).tables["links"]["flow"].tolist()) <= {0, 3}
    with pytest.raises(RunError) as raised:
        captures.kept(replace(whole, full_ns=900_000_000), spec)
    assert str(raised.value) == (
        "capture: the trace is larger than its limit of 64 MiB, which was reached 400 ms after the "
        "window's begin; nothing is kept\n"
        "  fix: give `capture.window` 0.5s..0.88s, which fits, or trace less (`capture.trace`), "
        "or raise `capture.limit`"
    )
