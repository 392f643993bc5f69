"""First runs with `capture` keep a trace, and are the runs that they are without."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.backends.contract import Backend
from orchestrator.backends.lab import Lab
from orchestrator.backends.local import Local
from orchestrator.backends.vagrant import Vagrant
from orchestrator.errors import UsageError
from orchestrator.execution.runner import RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.recording.trace import Capture, Trace
from orchestrator.scenario import load
from results.store.store import Store
from tests.support import traces
from tests.support.run import FakeRunner, fake, orchestrator, run_ids

__all__ = ["fake"]

DB = Path("results/runs.db")
CAPTURE = "capture={window: 500ms..1s, flows: [one]}"


@pytest.fixture(autouse=True)
def _traced(fake: FakeRunner) -> None:
    fake.trace = traces.small


def kept() -> list[int]:
    """How many traces each run of the store has."""
    with Store.open_read_only(DB) as store:
        return [len(store.traces(run)) for run in run_ids()]


def asked_last(fake: FakeRunner) -> Capture | None:
    """What the last run was to trace."""
    return fake.asked[-1][0].runs[0].capture


def test_a_first_run_keeps_what_its_capture_names(fake: FakeRunner) -> None:
    made = orchestrator("run", "pair.yaml", "--set", CAPTURE)
    assert made.exit_code == 0, made.stderr
    with Store.open_read_only(DB) as store:
        (head,) = store.traces("last")
        assert (head.capture.from_ns, head.capture.to_ns) == (500_000_000, 1_000_000_000)
        flows = store.trace("last", 1).tables["links"]["flow"]
    assert set(flows.tolist()) == {0}


def test_it_is_the_same_run_when_one_goes_on(fake: FakeRunner) -> None:
    assert orchestrator("run", "pair.yaml").exit_code == 0
    for capture in (CAPTURE, "capture={}"):
        again = orchestrator("run", "pair.yaml", "--resume", "--set", capture)
        assert again.exit_code == 0, again.stderr
    assert (len(fake.asked), kept()) == (1, [0])
    assert orchestrator("run", "pair.yaml", "--set", CAPTURE).exit_code == 0
    assert orchestrator("run", "pair.yaml", "--resume").exit_code == 0
    assert (len(fake.asked), kept()) == (2, [0, 1])
    (experiment,) = json.loads(orchestrator("experiments", "--json").stdout)["experiments"]
    assert experiment["runs"] == 2


def test_verify_traces_nothing_and_zoom_what_it_is_asked(fake: FakeRunner) -> None:
    orchestrator("run", "pair.yaml", "--set", CAPTURE)
    verified = orchestrator("run", "--verify", "last")
    assert verified.exit_code == 0, verified.stderr
    assert asked_last(fake) is None
    zoomed = orchestrator("zoom", "last", "--window", "1s..2s", "--quiet")
    assert zoomed.exit_code == 0, zoomed.stderr
    capture = asked_last(fake)
    assert capture is not None
    assert (capture.from_ns, capture.to_ns, capture.flows) == (10**9, 2 * 10**9, ())


def test_what_is_handed_on_keeps_it(fake: FakeRunner, tmp_path: Path) -> None:
    orchestrator("run", "pair.yaml", "--set", CAPTURE)
    crate = tmp_path / "crate.zip"
    made = orchestrator("export", "last", "--format", "rocrate", "-o", str(crate))
    assert made.exit_code == 0, made.stderr
    again = orchestrator("run", str(crate))
    assert again.exit_code == 0, again.stderr
    assert asked_last(fake) == fake.asked[0][0].runs[0].capture


def test_a_trace_over_its_limit_fails_its_run_and_no_other(fake: FakeRunner) -> None:
    seeds: list[int] = []

    def cut_once(capture: Capture) -> Trace:
        seeds.append(1)
        return replace(traces.small(capture), full_ns=600_000_000 if len(seeds) == 1 else None)

    fake.trace = cut_once
    made = orchestrator(
        "run", "pair.yaml", "--set", CAPTURE, "--set", "start_jitter=10ms", "--repetitions", "2"
    )
    assert made.exit_code == 1
    assert "give `capture.window` 0.5s..0.595s, which fits" in made.output
    assert kept() == [0, 1]
    with Store.open_read_only(DB) as store:
        assert [row.status for row in store.list_runs()] == ["failed", "ok"]


class Silent:
    """Hears of no progress."""

    def progress(self, _progress: object) -> None:
        """Say nothing."""


LEFT_OUT = "leave out `capture` (--set capture=null), or give --backend guest"
PACKETS = f"  fix: give `capture.trace: [packets]`, or {LEFT_OUT}"


def without_captures() -> Lab:
    """A back end that makes no traces."""
    made = Lab()
    made.traits = replace(made.traits, captures=frozenset())
    return made


@pytest.mark.parametrize(
    ("backend", "capture", "said"),
    [
        (
            without_captures(),
            "{trace: [packets]}",
            f"--backend lab: capture is not possible with it\n  fix: {LEFT_OUT} or local or lab or "
            "vagrant",
        ),
        (
            Lab(),
            "{}",
            f"--backend lab: it captures no acks and no queue and no tcp, only packets\n{PACKETS}",
        ),
        (
            Vagrant(),
            "{trace: [queue]}",
            f"--backend vagrant: it captures no queue, only packets\n{PACKETS}",
        ),
        (
            Local(),
            "{trace: [packets, tcp, acks]}",
            f"--backend local: it captures no acks and no tcp, only packets\n{PACKETS}",
        ),
    ],
)
def test_back_ends_that_cannot_make_a_trace_say_so_before_anything_runs(
    fake: FakeRunner, tmp_path: Path, backend: Backend, capture: str, said: str
) -> None:
    planned = plan(load(Path("pair.yaml"), [f"capture={capture}"]))
    db = tmp_path / "other.db"
    with pytest.raises(UsageError) as refused:
        run_plan(planned, RunOptions(db, backend), Silent())
    assert str(refused.value) == said
    assert not db.exists()
