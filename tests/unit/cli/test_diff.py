"""``diff``: what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis import use_cases
from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.trace import Capture, Trace
from tests.support import golden, traces
from tests.support.run import FakeRunner, fake, orchestrator, run_ids

__all__ = ["fake"]

GOLDEN = Path(__file__).parent / "golden"
MS = 1_000_000


def rows(seed: int) -> dict[str, list[Any]]:
    """What a run does: with another seed its window is another one, and so is the queue later."""
    times = range(0, 500 * MS, 100 * MS)
    return {
        "ends": [{"end": 1, "flow": 0, "is_sender": 1}],
        "acks": [
            {"time_ns": t, "end": 1, "by": records.BY_SEGMENT, "srtt_us": 60_500,
             "cwnd_segments": 20 + seed * (t >= 300 * MS), "ssthresh_segments": 2**31 - 1}
            for t in times
        ],
        "links": [
            {"time_ns": t + 5, "step": records.ENQUEUED, "to_sink": 1, "payload_bytes": 1448,
             "queue_packets": 1 + seed * (t >= 400 * MS)}
            for t in times
        ],
    }  # fmt: skip


@pytest.fixture
def stored(fake: FakeRunner) -> list[str]:
    """The ids of two runs that are stored."""

    def trace(capture: Capture) -> Trace:
        return Trace(capture, traces.filled(rows(fake.asked[-1][0].runs[0].seed)))

    fake.trace = trace
    for seed in (1, 2):
        orchestrator("run", "pair.yaml", "--set", f"seed={seed}")
    return run_ids()


def test_diff_reads_as_its_golden_file(fake: FakeRunner, stored: list[str]) -> None:
    said = ""

    def ask(*words: str) -> None:
        nonlocal said
        said += golden.transcript(("diff", *words), orchestrator("diff", *words))

    ask(stored[0], "last")
    ask("last", "last", "--quiet")
    fake.digest = lambda _spec: "digest of 2"
    orchestrator("run", "pair.yaml", "--set", "seed=3")
    ask("last", stored[1])
    fake.digest = lambda spec: f"other digest of {spec.seed}"
    fake.trace = lambda capture: Trace(capture, traces.filled(rows(0)))
    for seed in (4, 5):
        orchestrator("run", "pair.yaml", "--set", f"seed={seed}")
    ask(run_ids()[3], "last", "--quiet")
    orchestrator("run", "pair.yaml", "--set", "seed=6", "--set", "duration=500ms")
    ask("last", run_ids()[3], "--quiet")
    Path("other.yaml").write_text(Path("pair.yaml").read_text().replace("name: one", "name: two"))
    orchestrator("run", "other.yaml")
    ask(stored[0], "last")
    fake.digest = lambda _spec: "digest of 1"
    orchestrator("run", "other.yaml")
    ask(stored[0], "last")
    golden.check(GOLDEN / "diff.txt", said)


def test_json_is_the_contract(stored: list[str]) -> None:
    done = orchestrator("diff", stored[0], stored[1], "--json", "--quiet")
    assert done.exit_code == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["schema"], said["identical"], said["time_ns"], said["kind"]) == (
        1, False, 300 * MS, "ack",
    )  # fmt: skip
    assert said["differs"] == [{"path": "cwnd_segments", "values": [21, 22]}]
    assert [run["id"] for run in said["runs"]] == stored
    assert [run["event"]["values"]["cwnd_segments"] for run in said["runs"]] == [21, 22]
    assert [event["only_here"] for event in said["runs"][0]["next"]] == [False, True, True]
    same = json.loads(orchestrator("diff", "last", "last", "--json").stdout)
    assert (same["identical"], same["time_ns"], same["differs"], same["equal"]) == (
        True, None, [], None,
    )  # fmt: skip
    assert [(run["event"], run["next"], run["trace"]) for run in same["runs"]] == [
        (None, [], None)
    ] * 2


def test_python_has_it_too(stored: list[str]) -> None:
    found = use_cases.diff(*stored, listener=lambda _event: None)
    assert (found.time_ns, found.kind, found.identical) == (300 * MS, "ack", False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["last"], "Missing argument 'RUN'"),
        (["last", "nosuch"], "there is no run nosuch"),
        (["last", "last", "last"], "unexpected extra argument"),
    ],
)
def test_words_that_are_refused(stored: list[str], words: list[str], said: str) -> None:
    refused = orchestrator("diff", *words)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert said in refused.stderr


def test_a_store_is_needed(fake: FakeRunner) -> None:
    refused = orchestrator("diff", "last", "last")
    assert (refused.exit_code, "there is no results database" in refused.stderr) == (2, True)
    assert not Path("results/runs.db").exists()
