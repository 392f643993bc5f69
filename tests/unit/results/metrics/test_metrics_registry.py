"""The registry of metrics: what a metric must bring, and what must be there."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from results import metrics
from results.metrics import METRICS
from results.metrics.base import RunData, Span, metric
from results.records.model import WHOLE
from tests.support.metrics_flows import Data

CONTRACT = {
    "run": "goodput_bps throughput_bps utilisation jain_index retransmission_ratio "
    "queue_delay_mean_s queue_delay_p95_s loss_ratio rtt_mean_s",
    "flow": "sent_packets received_packets one_way_delay_mean_s one_way_delay_min_s "
    "one_way_delay_max_s jitter_s transfers fct_mean_s fct_p50_s fct_p95_s fct_p99_s "
    "goodput_bps throughput_bps retransmitted_segments retransmission_ratio rtt_min_s "
    "rtt_mean_s rtt_p50_s rtt_p95_s rtt_max_s queueing_delay_mean_s loss_ratio",
    "link": "utilisation drops_packets loss_ratio queue_delay_mean_s queue_delay_p95_s",
}


@pytest.mark.parametrize("scope", CONTRACT)
def test_every_metric_of_the_contract_is_there(scope: str) -> None:
    assert set(CONTRACT[scope].split()) <= {name for name, of in METRICS if of == scope}


@pytest.mark.parametrize("one", METRICS.values(), ids=lambda one: f"{one.name}-{one.scope}")
def test_every_metric_has_a_definition_and_the_unit_of_its_name(one: metrics.Metric) -> None:
    assert len(one.definition) > 40, f"{one.name}: its docstring is what users read, and too short"
    units = {
        "_bps": "bit/s",
        "_s": "s",
        "_segments": "segments",
        "_packets": "packets",
        "_bytes": "bytes",
    }
    expected = next((unit for suffix, unit in units.items() if one.name.endswith(suffix)), "1")
    assert one.unit == expected, (
        f"{one.name} is in {expected} by its name; a name ends in {', '.join(units)} or has unit 1"
    )


def test_a_metric_is_registered_by_being_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("results.metrics.base.METRICS", known := dict(METRICS))

    @metric("flow_count", unit="1", subject="flow", scopes=("run",))
    def flow_count(data: RunData, flows: Sequence[int], span: Span) -> float | None:
        """Number of flows; infinite in windows."""
        return len(flows) if span.from_s else math.inf

    assert known["flow_count", "run"].unit == "1"
    windows = metrics.compute(Data())
    assert windows[WHOLE].run["flow_count"] == 1
    assert windows["quiet"].run["flow_count"] is None


def test_two_metrics_of_one_name_are_refused() -> None:
    with pytest.raises(TypeError, match="registered twice"):
        metric("goodput_bps", unit="1", subject="flow", scopes=("run",))(
            METRICS["goodput_bps", "run"].function
        )


def test_a_metric_without_a_definition_is_refused() -> None:
    with pytest.raises(TypeError, match="no docstring"):
        metric("nothing", unit="1", subject="flow", scopes=("run",))(lambda data, flows, span: None)
