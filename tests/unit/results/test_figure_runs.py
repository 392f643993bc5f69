"""Figures of a single run: over time, sequence numbers, phases; and which run they are of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.errors import UsageError
from results.experiments import Experiment
from results.figures import _style
from results.figures._canvas import Canvas
from results.figures._drawing import content
from results.figures._study import Study
from results.store import Store
from tests.unit.results.figures import canvas, drawn, figure, legend, study
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
            events = [one for one in panel.lines if one.get_color() == "#808080"]
            assert [one.get_xdata()[0] for one in events] == [2.0, 9.0]
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
    with canvas(store, "sequence") as shown:
        assert legend(shown) == ["a", "b", "retransmission"]


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
    with pytest.raises(ValueError, match="cwnd"):
        figure("time", panel=["window"])


def test_too_many_events_are_not_marked_and_counted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = add(store)
    run = store.load(run_id)
    run.provenance["events"] = [{"applied_s": step / 10} for step in range(90)]
    source = study(store)
    monkeypatch.setattr(source, "load", lambda row: run)
    with _style.applied():
        figure("time").draw(Canvas("ieee"), source)
    assert source.notes == ["events are not marked: 90 in the run, none or too many to show"]
