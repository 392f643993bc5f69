"""Counts of recoveries, timeouts, probes and the like, of flows and of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.recording.counters import ECN_PACKETS, ECN_REACTIONS, KEPT, CounterNames
from orchestrator.recording.model import ABSENT, COUNTER_DTYPE
from results import metrics
from results.metrics import tcp_events
from results.metrics.base import Span
from results.metrics.counters import counted
from results.records.model import WHOLE
from results.store.store import Store
from tests.support.metrics_flows import Data, sender
from tests.support.recordings import flow
from tests.support.stores import restore

NAMES = ("TcpExt:TCPTimeouts", "TcpExt:TCPSackRecovery", "TcpExt:TCPRenoRecovery",
         "TcpExt:PAWSEstab", "TcpExt:TCPRcvQDrop")  # fmt: skip
HOSTS = (("s",), ("d",), ("s2",))
HYSTART = ("TCPHystartTrainDetect", "TCPHystartTrainCwnd", "TCPHystartDelayDetect",
           "TCPHystartDelayCwnd")  # fmt: skip
OF_COUNTERS = ("recoveries", "timeouts", "spurious_timeouts", "tail_loss_probes",
               "lost_retransmissions", "undos", "hystart_exits", "receiver_drops_segments",
               "paws_drops_segments")  # fmt: skip


def data(
    *rows: tuple[float, int, str, int],
    hosts: tuple[tuple[str, ...], ...] = HOSTS,
    tcp: Any = (),
    names: Sequence[str] = NAMES,
    **parts: Any,
) -> Data:
    """A run with (time in s, host, counter, growth since the begin of traffic)."""
    counters = np.array(
        [(round(time_s * 1e9), host, names.index(f"TcpExt:{name}"), value)
         for time_s, host, name, value in rows],
        COUNTER_DTYPE,
    )  # fmt: skip
    provenance = {"counters": CounterNames(hosts, tuple(names)).document()}
    return Data(tcp, counters=counters, provenance=provenance, **parts)


def test_a_window_has_what_grew_between_its_edges() -> None:
    """The whole is from 2 s to 10 s, the window from 0 s to 5 s."""
    windows = metrics.compute(
        data(
            (0.0, 0, "TCPTimeouts", 1),
            (2.0, 0, "TCPTimeouts", 3),
            (5.0, 0, "TCPTimeouts", 4),
            (10.0, 0, "TCPTimeouts", 9),
            (10.0, 0, "TCPSackRecovery", 5),
            (10.0, 0, "TCPRenoRecovery", 2),
            (10.0, 1, "TCPTimeouts", 70),
        )
    )
    whole, quiet = windows[WHOLE], windows["quiet"]
    assert (whole.flows[0]["timeouts"], quiet.flows[0]["timeouts"]) == (6, 3)
    assert (whole.flows[0]["recoveries"], quiet.flows[0]["recoveries"]) == (7, 0)
    assert whole.run["timeouts"] == 6, "the receiver's host counts for no sender"


def test_the_window_at_which_hystart_ended_slow_start_is_the_mean_over_its_ends() -> None:
    names = tuple(f"TcpExt:{name}" for name in HYSTART)
    rows = [(10.0, 0, name, value) for name, value in zip(HYSTART, (2, 1000, 1, 350), strict=True)]
    found = metrics.compute(data(*rows, names=names))[WHOLE].flows[0]
    assert (found["hystart_exits"], found["hystart_exit_cwnd_segments"]) == (3, 450)
    found = metrics.compute(data((10.0, 0, HYSTART[0], 0), names=names))[WHOLE].flows[0]
    assert (found["hystart_exits"], found["hystart_exit_cwnd_segments"]) == (0, None)


def test_receivers_and_both_ends() -> None:
    found = metrics.compute(
        data((10.0, 0, "PAWSEstab", 1), (10.0, 1, "PAWSEstab", 2), (10.0, 1, "TCPRcvQDrop", 4))
    )[WHOLE]
    assert found.flows[0]["paws_drops_segments"] == 3
    assert found.flows[0]["receiver_drops_segments"] == 4


def test_a_counter_that_the_kernel_lacks_is_not_measured() -> None:
    found = metrics.compute(data())[WHOLE]
    assert (found.run["undos"], found.flows[0]["hystart_exits"]) == (None, None)
    assert (found.run["timeouts"], found.flows[0]["timeouts"]) == (0, 0)


def test_reactions_to_ecn_are_none_without_ecn_and_unknown_where_nobody_counted() -> None:
    ecn = [sender(10.0, options=8 + 1)]
    assert metrics.compute(data())[WHOLE].run["ecn_reactions"] is None, "no sender was read"
    assert metrics.compute(data(tcp=[sender(10.0, options=1)]))[WHOLE].run["ecn_reactions"] == 0
    assert metrics.compute(data(tcp=ecn))[WHOLE].run["ecn_reactions"] is None
    named = data(tcp=ecn, names=(*NAMES, ECN_REACTIONS))
    assert metrics.compute(named)[WHOLE].flows[0]["ecn_reactions"] == 0


def test_flows_that_share_a_host_have_only_a_sum() -> None:
    rows = [sender(10.0, flow=0, total_rto=1), sender(10.0, flow=1, total_rto=2)]
    run = data(
        (10.0, 0, "TCPSackRecovery", 4),
        (10.0, 0, "TCPTimeouts", 3),
        tcp=rows,
        flows=[flow("a"), flow("b"), flow("c", source="s2", sink="d2")],
        hosts=(("s",), ("d",), ("s2",), ("d2",)),
    )
    found = metrics.compute(run)[WHOLE]
    assert [one["recoveries"] for one in found.flows] == [None, None, 0]
    assert found.run["recoveries"] == 4
    assert [one["timeouts"] for one in found.flows] == [1, 2, 0], "tcp_info has those of flows"
    assert found.run["timeouts"] == 3
    assert [one["paws_drops_segments"] for one in found.flows] == [None, None, 0]


def test_tcp_info_counts_for_flows_only_where_it_is_what_the_host_counted() -> None:
    rows = [sender(10.0, flow=0, total_rto=1), sender(10.0, flow=1, total_rto=1)]
    run = data((10.0, 0, "TCPTimeouts", 3), tcp=rows, flows=[flow("a"), flow("b")])
    found = metrics.compute(run)[WHOLE]
    assert [one["timeouts"] for one in found.flows] == [None, None]
    assert found.run["timeouts"] == 3


def test_timeouts_of_flows_that_share_a_host_are_unknown_before_linux_6_7() -> None:
    rows = [sender(10.0, flow=0, total_rto=ABSENT), sender(10.0, flow=1, total_rto=ABSENT)]
    run = data((10.0, 0, "TCPTimeouts", 0), tcp=rows, flows=[flow("a"), flow("b")])
    found = metrics.compute(run)[WHOLE]
    assert [one["timeouts"] for one in found.flows] == [None, None]
    assert found.run["timeouts"] == 0


def test_hosts_in_one_namespace_are_as_one() -> None:
    run = data(
        (10.0, 0, "TCPSackRecovery", 4),
        flows=[flow("a"), flow("b", source="s2", sink="d2")],
        hosts=(("s", "s2"), ("d", "d2")),
    )
    found = metrics.compute(run)[WHOLE]
    assert [one["recoveries"] for one in found.flows] == [None, None]
    assert found.run["recoveries"] == 4


def test_udp_has_no_such_counts_and_shares_a_host() -> None:
    run = data(
        (10.0, 0, "TCPSackRecovery", 4),
        flows=[flow("a"), flow("u", transport="udp", congestion_asked=None)],
    )
    found = metrics.compute(run)[WHOLE]
    assert [one["recoveries"] for one in found.flows] == [4, None]


def test_a_span_between_other_times_is_not_counted() -> None:
    run = data((10.0, 0, "TCPSackRecovery", 4))
    assert counted(run, [0], Span(2.0, 10.0), ("TCPSackRecovery",)) == 4
    assert counted(run, [0], Span(2.0, 9.0), ("TCPSackRecovery",)) is None


def test_a_run_that_was_stored_without_counters_has_none() -> None:
    found = metrics.compute(Data())[WHOLE]
    for name in OF_COUNTERS:
        assert (found.run[name], found.flows[0][name]) == (None, None), name


def test_metrics_of_tcp_info() -> None:
    rows = [
        sender(2.0, dsack_dups=1, reord_seen=1, delivered_ce_segments=5),
        sender(10.0, dsack_dups=3, reord_seen=4, delivered_ce_segments=25),
    ]
    found = metrics.compute(Data(rows))[WHOLE].run
    assert (found["spurious_retransmissions"], found["reorderings"]) == (2, 3)
    assert found["ecn_marked_segments"] == 20


def test_every_counter_of_a_metric_is_kept() -> None:
    """Or a run in which it did not grow would look like one of a kernel without it."""
    text = Path(tcp_events.__file__).read_text()
    named = {name for name in KEPT if f'"{name.removeprefix("TcpExt:")}"' in text}
    assert named == KEPT - {ECN_REACTIONS, *ECN_PACKETS.values()}
    assert "ECN_REACTIONS" in text
    uses = text.count("return counted(") + text.count("known = counted(")
    assert len({*OF_COUNTERS, "ecn_reactions"}) == uses


@pytest.mark.slow
def test_stored_runs_have_them(tmp_path: Path) -> None:
    """Two flows of the real runs share their hosts. The interrupted run has no counters."""
    with Store.open_read_only(restore(tmp_path / "runs.db")) as store:
        runs = [store.load(row.id) for row in store.list_runs()]
        counted_runs = [run for run in runs if run.counter_names.hosts]
        assert len(counted_runs) == 2
        for run in counted_runs:
            found = run.metrics()[WHOLE]
            assert (found.run["timeouts"], found.flows[0]["timeouts"]) == (0, 0)
            assert found.run["recoveries"] is not None
            assert found.flows[0]["recoveries"] is None
            (received,) = run.counter_columns(0)["value"][
                (run.counter_columns(0)["counter"] == run.counter_names.number_of["Tcp:InSegs"])
                & (run.counter_columns(0)["time_ns"] == 10**9)
            ]
            assert received > 0
