"""``zoom``: what it prints, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.recording.trace import Capture
from results.documents import trace_document
from results.store.store import Store
from tests.support import golden, traces
from tests.support.run import FakeRunner, fake, orchestrator, run_ids

__all__ = ["fake"]

GOLDEN = Path(__file__).parent / "golden"
WINDOW = ("--window", "1s..1.5s")


@pytest.fixture
def stored(fake: FakeRunner) -> str:
    """The id of a run that is stored."""
    fake.trace = traces.small
    orchestrator("run", "pair.yaml")
    return run_ids()[0]


def test_zoom_reads_as_its_golden_file(fake: FakeRunner, stored: str) -> None:
    said = ""

    def ask(*words: str) -> None:
        nonlocal said
        said += golden.transcript(("zoom", *words), orchestrator("zoom", *words))

    ask("last", *WINDOW)
    ask("last", *WINDOW, "--flow", "one", "--link", "bottleneck:forward", "--quiet")
    ask("last", *WINDOW)
    fake.trace = lambda capture: replace(traces.small(capture), full_ns=1_288_015_680)
    ask("last", *WINDOW, "--limit", "10MiB", "--snap", "64")
    fake.digest = lambda _spec: "another"
    ask("last", *WINDOW, "--snap", "64")
    fake.failed = {1}
    ask("last", *WINDOW, "--snap", "64")
    golden.check(GOLDEN / "zoom.txt", said)


def test_options_are_what_is_traced(fake: FakeRunner, stored: str) -> None:
    done = orchestrator(
        "zoom", stored, "--window", "900ms..1.1s", "--trace", "queue, tcp", "--limit", "1MiB",
        "--snap", "0", "--timeout", "10min", "--unconfined",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    plan, options = fake.asked[1]
    assert plan.runs[0].capture == Capture(
        900_000_000, 1_100_000_000, frozenset({"queue", "tcp"}), 2**20, 0
    )
    assert (options.timeout_s, options.backend.unconfined) == (600.0, True)


def test_the_usual_trace_has_all_kinds_within_256_mib(fake: FakeRunner, stored: str) -> None:
    assert orchestrator("zoom", "last", *WINDOW).exit_code == 0
    capture = fake.asked[1][0].runs[0].capture
    assert capture == Capture(10**9, 1_500_000_000)
    assert capture.kinds == {"packets", "acks", "queue", "tcp"}
    assert (capture.limit_bytes, capture.snap_bytes) == (256 * 2**20, 116)


@pytest.mark.parametrize("written", ["9000", "9000B", "9kB"])
def test_a_snap_is_bytes_with_and_without_a_unit(
    fake: FakeRunner, stored: str, written: str
) -> None:
    assert orchestrator("zoom", "last", *WINDOW, "--snap", written).exit_code == 0
    capture = fake.asked[1][0].runs[0].capture
    assert capture is not None
    assert capture.snap_bytes == 9000


def test_json_is_the_contract(fake: FakeRunner, stored: str) -> None:
    done = orchestrator("zoom", "last", *WINDOW, "--json")
    assert done.exit_code == 0
    said = json.loads(done.stdout)
    with Store.open_read_only(Path("results/runs.db")) as store:
        (head,) = store.traces(stored)
    assert said == {
        "schema": said["schema"], "run": stored, "bit_identical": True, "digest": "digest of 1",
        "stored_digest": "digest of 1", "trace": trace_document.trace(head).document(),
        "was_stored": False,
    }  # fmt: skip
    assert (said["trace"]["from_ns"], said["trace"]["to_ns"]) == (10**9, 1_500_000_000)
    assert said["trace"]["rows"]["links"] == 2

    done = orchestrator("zoom", "last", *WINDOW, "--json")
    assert (done.exit_code, json.loads(done.stdout)) == (0, {**said, "was_stored": True})

    fake.digest = lambda _spec: "another"
    done = orchestrator("zoom", "last", "--window", "1s..2s", "--json")
    assert done.exit_code == 1
    said = json.loads(done.stdout)
    assert (said["bit_identical"], said["digest"], said["trace"]) == (False, "another", None)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Missing option '--window'"),
        (["--window", "1s"], "--window 1s: give FROM..TO, such as 12s..13s"),
        (["--window", "1s..2"], "--window 1s..2: `2`: a time needs a unit"),
        (["--window", "..2s"], "--window ..2s: `` is not a time"),
        (["--window", "1s.."], "--window 1s..: `` is not a time"),
        (["--window", "1s..1s"], "--window 1s..1s: it must begin at 0s or later, and end after"),
        (["--window", "1.5s..1s"], "--window 1.5s..1s: it must begin at 0s or later, and end"),
        (["--window", "-1s..1s"], "--window -1s..1s: `-1s`: a time must not be negative"),
        (["--window", "1s..2s..3s"], "`2s..3s`: unknown unit"),
        (["--window", "1s..2.1s"], "zoom: the window ends at 2.1s, after the run, which ends at"),
        (
            [*WINDOW, "--trace", "packet"],
            "--trace packet: there is no such trace (did you mean "
            "`packets`?); there are packets, acks, queue, tcp",
        ),
        ([*WINDOW, "--trace", ""], "--trace without a name: there is no such trace"),
        ([*WINDOW, "--trace", "tcp,"], "--trace without a name: there is no such trace"),
        ([*WINDOW, "--limit", "1MB"], "--limit 1MB: 1 MiB to 900 MiB is valid"),
        ([*WINDOW, "--limit", "1GiB"], "--limit 1GiB: 1 MiB to 900 MiB is valid"),
        ([*WINDOW, "--limit", "much"], "--limit much: `much` is not a size"),
        ([*WINDOW, "--limit", "256 MiB"], "write the unit without a space: `256MiB`"),
        ([*WINDOW, "--snap", "9217"], "--snap 9217: must be at most 9216B, not `9217`"),
        ([*WINDOW, "--snap", "9.3kB"], "--snap 9.3kB: must be at most 9216B, not `9.3kB`"),
        ([*WINDOW, "--snap", "much"], "--snap much: `much` is not a size"),
        ([*WINDOW, "--flow", "two"], "--flow two: the run has no such flow"),
        ([*WINDOW, "--link", "core"], "--link core: the run has no such link"),
        ([*WINDOW, "--timeout", "0s"], "--timeout"),
    ],
)
def test_words_that_are_refused(fake: FakeRunner, stored: str, words: list[str], said: str) -> None:
    refused = orchestrator("zoom", "last", *words)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert said in refused.stderr
    assert len(fake.asked) == 1


def test_a_store_and_a_run_are_needed(fake: FakeRunner) -> None:
    refused = orchestrator("zoom", "last", *WINDOW)
    assert (refused.exit_code, "there is no results database" in refused.stderr) == (2, True)
    assert not Path("results/runs.db").exists()
    orchestrator("run", "pair.yaml")
    refused = orchestrator("zoom", "nosuch", *WINDOW)
    assert (refused.exit_code, "there is no run nosuch" in refused.stderr) == (2, True)
    refused = orchestrator("zoom", "pair", *WINDOW)
    assert (refused.exit_code, "pair" in refused.stderr) == (2, True)
