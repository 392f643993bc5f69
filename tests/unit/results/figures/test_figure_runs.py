"""Figures of a single run: over time, sequence numbers, phases; and which run they are of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.errors import UsageError
from orchestrator.recording.counters import CounterNames
from orchestrator.recording.model import COUNTER_DTYPE
from results.experiment.experiments import Experiment
from results.figures import _style
from results.figures._canvas import Canvas
from results.figures._drawing import content
from results.figures._study import Study
from results.figures._style import LINES
from results.store.store import Store
from tests.support.figures import canvas, drawn, figure, legend, study
from tests.web.synthetic import HEAD, flow, recording

LIMIT = "topology.bottleneck.queue.limit"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


def add(store: Store, limit: str = "1bdp", repetition: int = 0, **changes: Any) -> str:
    flows = (flow("a", "bbr"), flow("b", "reno", 0.1))
    made = recording(flows=flows, duration_s=10.0)
    made.tcp["bytes_sent"] = made.tcp["bytes_acked"] + 10_000
    late = (made.tcp["time_ns"] >= 4e9) & (made.tcp["flow"] == 0)
    made.tcp["bytes_retrans"][late] = 3000
    made.tcp["rttvar_us"] = 5000
    made.tcp["congestion_0"] = 125_000  # bytes/s: 1 Mbit/s
    made.flows[0] = replace(made.flows[0], congestion_fields=(("bandwidth", "bytes/s"),))
    made.provenance["events"] = [{"time_s": 2.0, "applied_s": 2.0}, {"time_s": 9, "applied_s": 9}]
    made.digest = f"{limit} {repetition}"
    run_id = store.begin(
        replace(
            HEAD, experiment="trial", variant={LIMIT: limit}, repetition=repetition, windows=(),
            seed=repetition + 1, duration_s=10.0, warmup_s=1.0, experiment_sha256="e1",
        )
    )  # fmt: skip
    store.finish(run_id, replace(made, **changes), 1.0)
    return run_id


def labels(shown: Any) -> list[str]:
    return [panel.get_ylabel() for panel in shown.axes]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["time", "sequence", "phase"])
@pytest.mark.parametrize("form", ["pdf", "svg", "png"])
def test_every_kind_draws_twice_the_same(store: Store, kind: str, form: str) -> None:
    add(store)
    data = drawn(store, kind, file=f"fig.{form}")
    assert len(data) > 2000
    assert drawn(store, kind, file=f"fig.{form}") == data


def test_a_run_over_time_has_a_panel_for_each_quantity(store: Store) -> None:
    add(store)
    with canvas(store, "time", names={"a": "Alpha"}) as shown:
        assert labels(shown) == [
            "cwnd (segments)", "RTT (ms)", "Goodput (Mbit/s)", "Queue (packets)",
            "Estimate (Mbit/s)",
        ]  # fmt: skip
        assert legend(shown) == ["Alpha", "b"]
        for panel in shown.axes:
            events = [line for line in panel.lines if line.get_color() == "#808080"]
            assert [event.get_xdata()[0] for event in events] == [2.0, 9.0]
        estimate = shown.axes[4].lines[0]
        assert set(estimate.get_ydata()) == {1.0}
        assert shown.axes[4].get_xlabel() == "Time (s)"
        assert shown.axes[0].get_xlim() == (0.0, 10.0)


def test_goodput_over_time_adds_up_to_what_was_read(store: Store) -> None:
    run_id = add(store)
    columns = store.load(run_id).tcp_columns(0, 1)
    with canvas(store, "time", panel="goodput", flow="a", bin="500ms") as shown:
        (line,) = [one for one in shown.axes[0].lines if one.get_color() != "#808080"]
        bits = np.sum(line.get_ydata()) * 1e6 * 0.5
        assert len(line.get_xdata()) == 20
        read = int(columns["bytes_received"][-1] - columns["bytes_received"][0])
        assert bits == pytest.approx(8 * read, rel=1e-6)


def test_a_part_of_the_run(store: Store) -> None:
    add(store)
    keys = {"panel": ["cwnd"], "from": "3s", "to": "5s", "y_label": "window"}
    with canvas(store, "time", **keys) as shown:
        (panel,) = shown.axes
        assert panel.get_ylabel() == "window"
        assert panel.get_xlim() == (3.0, 5.0)
        (first, _second) = panel.lines
        assert (min(first.get_xdata()), max(first.get_xdata())) == (3.0, 5.0)


def test_a_sequence_marks_what_was_sent_again(store: Store) -> None:
    add(store)
    with canvas(store, "sequence", flow="a") as shown:
        acked, sent, again = shown.axes[0].lines
        assert legend(shown) == ["acknowledged", "sent", "retransmission"]
        assert list(again.get_xdata()) == [4.0]
        gap = sent.get_ydata() - acked.get_ydata()
        assert set(np.round(gap * 1e6)) == {10_000, 7000}
        assert again.get_color() == "black"
    with canvas(store, "sequence") as shown:
        assert legend(shown) == ["a", "b", "retransmission"]
        _a, _b, again_a, again_b = shown.axes[0].lines
        assert [again_a.get_color(), again_b.get_color()] == [LINES[0].color, LINES[1].color]
        assert list(again_a.get_xdata()) == [4.0]


def test_a_part_of_a_sequence_fills_the_height(store: Store) -> None:
    add(store)
    with canvas(store, "sequence", flow="a", **{"from": "9s", "to": "9500ms"}) as shown:
        (panel,) = shown.axes
        values = panel.lines[0].get_ydata()
        low, high = panel.get_ylim()
        assert (values.max() - values.min()) / (high - low) > 0.8
    with canvas(store, "sequence", flow="a") as shown:
        assert shown.axes[0].get_ylim()[0] == 0


def test_a_panel_shows_any_column_by_its_name(store: Store) -> None:
    run_id = add(store)
    panels = ["ssthresh", "in_flight", "retransmissions", "drops", "rttvar_us", "unacked_segments",
              "pacing_rate_bytes_per_s", "receiver.bytes_received", "backlog_bytes",
              "queue.drops", "algorithm.bandwidth"]  # fmt: skip
    with canvas(store, "time", panel=panels, flow="a", bin="1s") as shown:
        assert labels(shown) == [
            "ssthresh (segments)", "In flight (segments)", "Retransmissions\nin 1 s (segments)",
            "Drops in 1 s (packets)", "rttvar (ms)", "unacked (segments)", "pacing rate (Gbit/s)",
            "bytes received\n(receiver)", "backlog (kB)", "drops", "bandwidth (Mbit/s)",
        ]  # fmt: skip
        columns = store.load(run_id).tcp_columns(0, 0)
        in_flight = shown.axes[1].lines[0].get_ydata()
        expected = (columns["unacked_segments"] + columns["retrans_segments"]
                    - columns["sacked_segments"] - columns["lost_segments"])  # fmt: skip
        assert list(in_flight) == [float(value) for value in expected]
        again = shown.axes[2].lines[0].get_ydata()
        assert sum(again) == columns["total_retrans_segments"][-1]
        assert set(shown.axes[10].lines[0].get_ydata()) == {1.0}


def test_a_panel_shows_what_a_counter_has_grown_by_at_hosts_of_the_flows(store: Store) -> None:
    counted = np.zeros(3, COUNTER_DTYPE)
    counted["time_ns"], counted["host"] = (2 * 10**9, 5 * 10**9, 5 * 10**9), (0, 0, 2)
    counted["value"] = (1, 4, 7)
    hosts = (("al0",), ("bl0",), ("elsewhere",))
    known = CounterNames(hosts, ("TcpExt:TCPTimeouts", "TcpExt:TCPLossProbes"))
    made = recording(duration_s=10.0)
    add(store, counters=counted, provenance=made.provenance | {"counters": known.document()})
    for written in ("counter.TCPTimeouts", "counter.TcpExt:TCPTimeouts"):
        with canvas(store, "time", panel=written) as shown:
            (steps,) = shown.axes[0].lines
            assert list(steps.get_xdata()) == [0, 2, 2, 5, 5, 10]
            assert list(steps.get_ydata()) == [0, 0, 1, 1, 4, 4]
            assert labels(shown) == ["TCPTimeouts"]
    with pytest.raises(UsageError, match="it grew at no host of these flows"):
        drawn(store, "time", panel="counter.TCPLossProbes")
    with pytest.raises(UsageError, match=r"no counter TCPTimeout .*did you mean `TCPTimeouts`"):
        drawn(store, "time", panel="counter.TCPTimeout")
    with pytest.raises(UsageError, match=r"no counter TCPFooTimes that grew; `orchestrator export"):
        drawn(store, "time", panel="counter.TCPFooTimes")


def test_a_title_on_two_lines_keeps_a_number_and_its_unit_together(store: Store) -> None:
    add(store)
    with canvas(store, "time", panel=["drops"], bin="500ms") as shown:
        assert labels(shown) == ["Drops in 0.5 s\n(packets)"]


def test_a_field_that_no_algorithm_reports_is_named(store: Store) -> None:
    add(store)
    with pytest.raises(UsageError, match=r"has no such field.*its fields are bandwidth"):
        drawn(store, "time", panel="algorithm.bandwith")


@pytest.mark.slow
def test_a_phase_plot_is_of_two_flows(store: Store) -> None:
    run_id = add(store)
    with canvas(store, "phase") as shown:
        (panel,) = shown.axes
        way, equal, _begin, _end = panel.lines
        assert list(equal.get_xdata()) == list(equal.get_ydata())
        cwnd = store.load(run_id).tcp_columns(1, 0)["snd_cwnd_segments"]
        assert list(way.get_ydata()) == list(cwnd)
        assert panel.get_xlabel() == "cwnd of a (segments)"
    with pytest.raises(UsageError, match=r"two flows of TCP, not of 1 \(a\)"):
        drawn(store, "phase", flow="a")


def test_the_legend_of_a_phase_plot_has_the_same_names_for_all_runs(store: Store) -> None:
    """They had the times of samples, so that a scenario could give no other names."""
    run_id = add(store)
    with canvas(store, "phase", legend={"begin": "start"}, **{"from": "2s"}) as shown:
        assert legend(shown) == ["start", "end"]
    spec, source = figure("phase", **{"from": "2s"}), study(store)
    content(spec, source)
    assert spec.caption(source) == (
        "The cwnd of one flow against that of another, at the times of common samples. On the "
        f"dashed line both windows are equal. Run {run_id}: queue limit 1 BDP, repetition 0, "
        "seed 1. It is from 2 s to 10 s."
    )


@pytest.mark.slow
def test_an_experiment_must_leave_one_run(store: Store) -> None:
    for limit in ("1bdp", "2bdp"):
        add(store, limit)
        add(store, limit, repetition=1)
    with pytest.raises(UsageError, match=r"has 2 variants.*such as limit=1bdp"):
        drawn(store, "time")
    assert drawn(store, "time", where={"limit": "2bdp"})
    assert drawn(store, "time", where={"limit": "2bdp"}, repetition=1)
    with pytest.raises(UsageError, match=r"no faithful repetition 2; there are 0, 1"):
        drawn(store, "time", where={"limit": "2bdp"}, repetition=2)


@pytest.mark.slow
def test_an_unfaithful_run_is_drawn_only_by_its_id_and_is_said_to_be_one(store: Store) -> None:
    run_id = add(store, verdict="unfaithful")
    with pytest.raises(UsageError, match="no faithful run to draw from"):
        drawn(store, "time")
    row = store.load(run_id).row
    source = Study(store, Experiment(row.experiment, (), [row]), named=row)
    assert content(figure("time"), source)
    assert source.notes == [f"run {run_id} is unfaithful: `orchestrator show {run_id}` says why"]
    with pytest.raises(UsageError, match="where: it chooses among the variants of an experiment"):
        content(figure("time", where={"limit": "1bdp"}), source)


def test_a_failed_run_has_nothing_to_draw(store: Store) -> None:
    run_id = store.begin(replace(HEAD, experiment="trial"))
    store.fail(run_id, "the guest ended")
    row = store.load(run_id).row
    source = Study(store, Experiment(row.experiment, (), [row]), named=row)
    with pytest.raises(UsageError, match="is failed: it has no samples"):
        content(figure("time"), source)


@pytest.mark.parametrize(
    ("kind", "keys", "message"),
    [
        ("time", {"flow": "c"}, "has no flow c; there are a, b"),
        ("time", {"from": "20s"}, "has 10 s of traffic"),
        ("time", {"y_label": "window"}, "it is of one panel"),
        ("time", {"flow": "b", "panel": "estimate"}, "panel estimate: .* shows an estimate"),
    ],
)
def test_what_a_run_lacks_is_named(
    store: Store, kind: str, keys: dict[str, Any], message: str
) -> None:
    add(store)
    with pytest.raises(UsageError, match=message):
        drawn(store, kind, **keys)


def test_a_part_must_begin_before_it_ends() -> None:
    with pytest.raises(ValueError, match="must be before `to`"):
        figure("time", **{"from": "5s", "to": "4s"})
    with pytest.raises(ValueError, match=r"there is no panel `window`.*cwnd"):
        figure("time", panel=["window"])


def test_too_many_events_are_not_marked_and_counted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = add(store)
    run = store.load(run_id)
    run.provenance["events"] = [{"time_s": step / 10, "applied_s": step / 10} for step in range(90)]
    source = study(store)
    monkeypatch.setattr(source, "load", lambda row: run)
    with _style.applied():
        figure("time").draw(Canvas("ieee"), source)
    assert source.notes == ["events are not marked: 90 in the run, none or too many to show"]
