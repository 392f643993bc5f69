"""Counts of planted events: recoveries, timeouts, probes, undos, HyStart and marks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from orchestrator.recording.model import SENDER
from results.records.model import WHOLE
from results.store.store import Store
from results.store.stored import StoredRun
from tests.support.run import orchestrator

pytestmark = pytest.mark.guest

SCENARIO = """\
version: 1
name: counted
duration: {duration}
topology:
  kind: dumbbell
  bottleneck: {bottleneck}
  groups: [{{name: a, access: {{rate: 1gbit, delay: 5ms}}}}]
flows:
  - {{name: mine, group: a, congestion: {congestion}, traffic: {traffic}}}
"""
WIDE = "{rate: 20mbit, delay: 20ms, queue: {limit: 2000p}}"
STEPS = (
    "{rate: 20mbit, delay: 20ms, queue: "
    "{kind: red, limit: 500p, min: 20p, max: 20p, weight: 1, ecn: true}}"
)
COUNTS = ("recoveries", "timeouts", "spurious_timeouts", "tail_loss_probes",
          "lost_retransmissions", "spurious_retransmissions", "undos", "hystart_exits",
          "ecn_marked_segments", "ecn_reactions", "paws_drops_segments",
          "receiver_drops_segments")  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """A scenario, and the counts that it has; all others are 0."""

    counts: dict[str, int] = field(default_factory=dict)
    some: tuple[str, ...] = ()
    """Counts that are above 0."""
    bottleneck: str = WIDE
    congestion: str = "reno"
    traffic: str = "{kind: bulk, window: 60p}"
    duration: str = "3s"
    more: str = ""


ECHOES = "marks are echoed until the sender reacts"
LOST = "a packet and its retransmission are lost"
PLANTED = {
    "nothing": Planted(),
    LOST: Planted(
        {"recoveries": 1, "timeouts": 1, "lost_retransmissions": 1},
        bottleneck="{rate: 20mbit, delay: 20ms, queue: {limit: 2000p}, loss: {reverse: 0, "
        "forward: {kind: list, packets: [1000, 1120], flow: mine, count: data}}}",
        traffic="{kind: bulk, window: 120p}",
    ),
    "the delay grows for good": Planted(
        {"timeouts": 1, "spurious_timeouts": 1, "undos": 1, "tail_loss_probes": 1},
        some=("spurious_retransmissions",),
        more="events: [{at: 1s, link: bottleneck, delay: 900ms}]\n",
        duration="4s",
    ),
    "HyStart": Planted(
        {"hystart_exits": 1},
        bottleneck="{rate: 50mbit, delay: 75ms, queue: {limit: 5000p}}",
        congestion="cubic",
        traffic="{kind: bulk}",
        duration="2s",
    ),
    "marks": Planted(
        some=("ecn_marked_segments", "ecn_reactions"),
        bottleneck=STEPS,
        congestion="dctcp",
        traffic="{kind: bulk}",
        duration="2s",
    ),
    ECHOES: Planted(
        some=("ecn_marked_segments", "ecn_reactions"),
        bottleneck=STEPS,
        more="tcp: {ecn: true}\n",
        duration="4s",
    ),
    "jitter of ACKs": Planted(
        some=("paws_drops_segments",),
        bottleneck="{rate: 20mbit, delay: 20ms, queue: {limit: 2000p}, "
        "jitter: {forward: 0ms, reverse: {spread: 8ms, keep_order: false}}}",
        duration="2s",
    ),
}


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run of each scenario, in their order."""
    folder = tmp_path_factory.mktemp("counted")
    for number, planted in enumerate(PLANTED.values()):
        file = folder / f"{number}.yaml"
        file.write_text(planted.more + SCENARIO.format(**vars(planted)))
        made = orchestrator("run", str(file), "--db", str(folder / "runs.db"), "--json")
        assert made.exit_code == 0, made.stderr
    return folder / "runs.db"


def total(run: StoredRun, host: str, name: str) -> int:
    """What a host counted in the whole run."""
    columns = run.counter_columns(run.counter_names.place_of[host])
    number = run.counter_names.number_of.get(name)
    values = columns["value"][columns["counter"] == number]
    return int(values[-1]) if len(values) else 0


@pytest.mark.parametrize("name", PLANTED)
def test_a_run_counts_what_was_planted_and_nothing_else(db: Path, name: str) -> None:
    planted = PLANTED[name]
    with Store.open_read_only(db) as store:
        row = sorted(store.list_runs(), key=lambda row: row.started_utc)[list(PLANTED).index(name)]
        metrics = store.load(row.id).metrics()[WHOLE]
    counts = {count: metrics.run[count] for count in COUNTS}
    assert counts == {count: metrics.flows[0][count] for count in COUNTS}
    for count in planted.some:
        assert (counts.pop(count) or 0) > 0, count
    assert counts == {count: planted.counts.get(count, 0) for count in counts}


@pytest.mark.parametrize("name", [ECHOES, "marks"])
def test_reactions_to_marks_are_those_of_a_trace(db: Path, name: str) -> None:
    with Store.open_read_only(db) as store:
        row = sorted(store.list_runs(), key=lambda row: row.started_utc)[list(PLANTED).index(name)]
        counted = store.load(row.id).metrics()[WHOLE].run["ecn_reactions"]
    told = orchestrator("explain", row.id, "--db", str(db), "--json")
    assert told.exit_code == 0, told.stderr
    (flow,) = json.loads(told.stdout)["flows"]
    reactions = [moment for moment in flow["moments"] if moment["kind"] == "ECN reaction"]
    assert len(reactions) == counted


def test_hosts_count_what_sockets_count(db: Path) -> None:
    """Counters of a host with one flow are those of its socket (tcp_info), in every run."""
    with Store.open_read_only(db) as store:
        runs = [store.load(row.id) for row in store.list_runs()]
        assert len(runs) == len(PLANTED)
        for run in runs:
            last = {name: values[-1] for name, values in run.tcp(0, SENDER).items()}
            source = run.flows[0].source
            assert total(run, source, "Tcp:RetransSegs") == last["total_retrans_segments"]
            assert total(run, source, "Tcp:InSegs") == last["segs_in"]
            assert total(run, source, "TcpExt:TCPTimeouts") == last["total_rto"]
            assert total(run, source, "TcpExt:TCPDSACKRecvSegs") == last["dsack_dups"]
            assert total(run, source, "TcpExt:TCPDelivered") == last["delivered_segments"]
            assert total(run, source, "TcpExt:TCPDeliveredCE") == last["delivered_ce_segments"]


FINE = "sample: {counters: 10ms}\n"


@pytest.fixture(scope="module")
def fine(db: Path) -> StoredRun:
    """The run with a lost retransmission, with counters every 10 ms."""
    planted = PLANTED[LOST]
    file = db.parent / "fine.yaml"
    file.write_text(FINE + SCENARIO.format(**vars(planted)))
    target = db.parent / "fine.db"
    made = orchestrator("run", str(file), "--db", str(target), "--json")
    assert made.exit_code == 0, made.stderr
    store = Store.open_read_only(target)
    (row,) = store.list_runs()
    return store.load(row.id)


def test_sampling_counters_changes_nothing_else(db: Path, fine: StoredRun) -> None:
    with Store.open_read_only(db) as store:
        rows = sorted(store.list_runs(), key=lambda row: row.started_utc)
        plain = store.load(rows[list(PLANTED).index(LOST)].id)
        assert fine.row.digest == plain.row.digest
        assert fine.metrics() == plain.metrics()
        for host in range(2):
            last, series = plain.counter_series(host), fine.counter_series(host)
            ends = {name: int(values[-1]) for name, (_times, values) in series.items()}
            assert {name: value for name, value in ends.items() if value} == {
                name: int(values[-1]) for name, (_times, values) in last.items() if values[-1]
            }


def test_a_series_grows_by_steps_to_what_the_end_counts(fine: StoredRun) -> None:
    series = fine.counter_series(fine.counter_names.place_of[fine.flows[0].source])
    times_ns, values = series["Tcp:InSegs"]
    assert (times_ns % 10_000_000 == 0).all()
    assert len(times_ns) > 200
    assert sum(np.diff(values, prepend=0)) == total(fine, fine.flows[0].source, "Tcp:InSegs")
    assert (np.diff(values) > 0).all(), "rows are of changes only"
    (recovery_ns,), _ = series["TcpExt:TCPSackRecovery"]
    (timeout_ns,), (timeouts,) = series["TcpExt:TCPTimeouts"]
    assert timeouts == 1
    assert recovery_ns < timeout_ns
    tcp = fine.tcp(0, SENDER, ("time_ns", "total_rto"))
    first_seen_ns = tcp["time_ns"][tcp["total_rto"] > 0][0]
    assert first_seen_ns - 100_000_000 < timeout_ns <= first_seen_ns
