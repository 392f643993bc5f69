"""``orchestrator.analysis``: the data frames, and the notebook that shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orchestrator.analysis as oa
from orchestrator.recording.model import COUNTER_DTYPE
from results.store.store import Store
from tests.support.experiments import make
from tests.support.recordings import head, whole

pytestmark = pytest.mark.slow

NOTEBOOK = Path(__file__).parents[3] / "docs" / "analysis.ipynb"
LIMIT = "topology.bottleneck.queue.limit"
LIMITS = [{LIMIT: f"{limit}bdp"} for limit in ("0.5", "1", "2")]


def two(variant: Any, repetition: int) -> dict[str, float]:
    return {"cubic": 1e6 * float(variant[LIMIT][:-3]) + 1e4 * repetition**2, "bbr": 3e6}


@pytest.fixture
def results(tmp_path: Path) -> Iterator[oa.Results]:
    with Store(tmp_path / "runs.db") as store:
        make(store, two, LIMITS, name="bbr-vs-cubic")
        make(store, lambda _v, r: {"a": 1e6 + r}, name="other")
    with oa.open(tmp_path / "runs.db") as opened:
        yield opened


def test_the_summary_is_that_of_the_command(results: oa.Results) -> None:
    frame = results.summary("bbr-vs-cubic", "goodput_bps")
    assert list(frame.columns) == [
        "limit", "flow", "link", "metric", "mean", "low", "high", "sd", "n", "of",
        "flows_n", "flows_of", "finished", "drifting", "unfaithful", "failed",
    ]  # fmt: skip
    assert len(frame) == 9
    cubic = frame[(frame["flow"] == "cubic") & (frame["limit"] == "2bdp")].iloc[0]
    assert cubic["mean"] == pytest.approx(2.06e6, rel=1e-4)
    assert cubic["low"] < cubic["mean"] < cubic["high"]
    assert cubic["n"] == 5


def test_the_summary_has_the_quantiles_that_are_asked_for(results: oa.Results) -> None:
    frame = results.summary("bbr-vs-cubic", "goodput_bps", quantiles=[0.5, 0.9])
    cubic = frame[(frame["flow"] == "cubic") & (frame["limit"] == "2bdp")].iloc[0]
    assert cubic["50%"] == pytest.approx(2.04e6, rel=1e-4)
    assert cubic["50% low"] <= cubic["50%"] < cubic["90%"] <= cubic["90% high"]
    with pytest.raises(oa.UsageError, match=r"quantiles: 90 is not between 0 and 1"):
        results.summary("bbr-vs-cubic", quantiles=[90])


def test_differences(results: oa.Results) -> None:
    frame = results.differences("bbr-vs-cubic", "goodput_bps")
    assert frame[["limit", "a", "b"]].to_numpy().tolist() == [
        [f"{limit}bdp", "cubic", "bbr"] for limit in ("0.5", "1", "2")
    ]
    assert (frame["p"] <= frame["p_holm"]).all()
    assert (frame["family_n"] == 3).all()
    assert (frame["low_family"] < frame["low"]).all()
    other = results.differences("bbr-vs-cubic", "goodput_bps", by=("limit",))
    assert set(other["axis"]) == {LIMIT}
    two_limits = results.differences("bbr-vs-cubic", "goodput_bps", compare=("0.5bdp,2bdp",))
    assert set(zip(two_limits["a"], two_limits["b"], strict=True)) == {("0.5bdp", "2bdp")}


def test_runs_have_a_column_for_each_axis(results: oa.Results) -> None:
    frame = results.runs("bbr-vs-cubic")
    assert frame["limit"].tolist() == [
        f"{limit}bdp" for limit in ("0.5", "1", "2") for _ in range(5)
    ]
    assert sorted(set(frame["limit [BDP]"])) == [0.5, 1.0, 2.0]
    assert frame.groupby("limit")["jain_index"].count().to_dict() == {
        "0.5bdp": 5, "1bdp": 5, "2bdp": 5,
    }  # fmt: skip
    every = results.runs()
    assert len(every) == 20
    assert every["limit"].isna().sum() == 5  # of the experiment without axes


def test_a_run_that_was_made_again_counts_once(tmp_path: Path) -> None:
    """`run --verify` stores a second run of the same variant, repetition and seed."""
    with Store(tmp_path / "runs.db") as store:
        make(store, two, LIMITS[:1], repetitions=2, name="again")
        (verified,) = make(store, two, LIMITS[:1], repetitions=1, name="again")
    with oa.open(tmp_path / "runs.db") as opened:
        flows = opened.flows("again")
        assert flows.groupby("flow")["run"].count().to_dict() == {"bbr": 2, "cubic": 2}
        assert verified in set(flows["run"])
        assert opened.summary("again", "goodput_bps")["n"].tolist() == [2, 2, 2]
        assert len(opened.runs("again")) == 3


def test_flows_and_windows_are_tidy(results: oa.Results) -> None:
    flows = results.flows("bbr-vs-cubic")
    assert len(flows) == 30
    assert set(flows["flow"]) == {"cubic", "bbr"}
    means = flows[flows["flow"] == "cubic"].groupby("limit [BDP]")["goodput_bps"].mean()
    assert means.index.tolist() == [0.5, 1.0, 2.0]
    assert means.to_numpy() == pytest.approx([0.56e6, 1.06e6, 2.06e6], rel=1e-4)
    windows = results.windows("bbr-vs-cubic")
    assert len(windows) == 45  # and a row of each run itself
    assert windows.loc[windows["flow"] == "", "jain_index"].notna().all()


def test_runs_and_experiments(results: oa.Results) -> None:
    assert results.experiments()["name"].tolist() == ["bbr-vs-cubic", "other"]
    assert len(results.runs()) == 20
    runs = results.runs("other")
    assert len(runs) == 5
    assert runs["goodput_bps"].notna().all()


def test_samples_have_their_time(results: oa.Results) -> None:
    run = results.flows("other")["run"].iloc[0]
    samples = results.samples(run, "a", "receiver")
    assert samples["time_s"].tolist() == [tick / 2 for tick in range(21)]
    assert samples["bytes_received"].is_monotonic_increasing
    assert results.samples(run, 0)["rtt_us"].eq(100_000).all()
    assert results.transfers(run, "a").empty
    assert list(results.queue(run, 0).columns[:2]) == ["time_s", "time_ns"]


def test_counters_of_a_host_have_a_column_each(tmp_path: Path) -> None:
    """A counter is 0 before its first row, and keeps its value between two."""
    made = whole()
    rows = [(0, 0, 1, 2), (5 * 10**9, 0, 0, 1), (5 * 10**9, 0, 1, 3), (10**10, 0, 0, 4)]
    made.counters = np.array(rows, COUNTER_DTYPE)
    with Store(tmp_path / "runs.db") as store:
        store.finish(store.begin(head()), made, 1.0)
    with oa.open(tmp_path / "runs.db") as opened:
        found = opened.counters("last", "s")
        assert found.to_dict("list") == {
            "time_s": [0.0, 5.0, 10.0],
            "TcpExt:TCPTimeouts": [0, 1, 4],
            "TcpExt:TCPLossProbes": [2, 3, 3],
        }
        assert list(opened.counters("last", "d").columns) == ["time_s"]
        with pytest.raises(oa.UsageError, match="no counters of host 'x'; it has s, d"):
            opened.counters("last", "x")


def test_what_is_not_there_is_an_error(results: oa.Results, tmp_path: Path) -> None:
    with pytest.raises(oa.UsageError, match="no experiment nothing"):
        results.summary("nothing")
    with pytest.raises(oa.UsageError, match="choose sender or receiver"):
        results.samples("last", "a", "both")  # type: ignore[arg-type]
    with pytest.raises(oa.UsageError, match="the run has no flow b"):
        results.samples("last", "b")
    with pytest.raises(oa.StoreError):
        oa.open(tmp_path / "nothing.db")


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    Path("results").mkdir()
    with Store(Path("results/runs.db")) as store:
        make(store, two, LIMITS, name="bbr-vs-cubic")
    notebook = json.loads(NOTEBOOK.read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 6
    assert all(cell["outputs"] == [] for cell in cells), "outputs are not committed"
    names: dict[str, Any] = {}
    for cell in cells:
        exec("".join(cell["source"]), names)
    assert len(names["means"]) == 9
