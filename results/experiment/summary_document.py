"""The JSON document of a summary, by the models of the contract.

In SI units::

    {"schema": 1, "experiment": NAME, "identity": HASH, "window": NAME or null,
     "axes": [{"path", "paths", "label", "unit", "values", "numbers", "sets"}],
     "without_values": [NAME],
     "rows": [{"variant", "flow", "link", "n", "left_out": {"unfaithful", "failed", "identical"},
       "metrics": {NAME: {"mean", "low", "high", "sd", "n", "of", "flows_n", "flows_of",
                          "finished", "drifting", "rise", "steady_from_s", "rule", "median",
                          "quantiles", "values", "runs"}}}],
     "differences": [{"variant", "axis", "flow", "a", "b", "metric", "mean", "low", "high", "p",
                      "p_holm", "effect", "method", "paired_n", "a_n", "b_n", "low_family",
                      "high_family", "p_family", "family_n", "label"}],
     "crossings": [{"variant", "axis", "a", "b", "metric", "mean", "low", "high", "n", "of"}]}

Rows without a flow and a link are of the whole run. Intervals are of 95% (see
``results.statistics``). ``rise`` is the change of a metric over its window, as a share of its mean.
``quantiles`` are those that were asked for: "share", "value", "low", "high", "n".

The ``n`` of a metric is the number of runs that have a value, and ``of`` that of all that count.
The value of a flow entry is the mean over its flows that have one: ``flows_n`` of ``flows_of`` in
all runs together. ``finished`` is the share of transfers that were complete by the end of their
run, of metrics that only these have, such as completion times. A metric that was asked for and
that no run has is in ``without_values``, and in ``metrics`` with ``n`` 0 and ``mean`` null.
"""

from __future__ import annotations

from typing import Any

from results.contract import experiments as contract
from results.contract.base import SCHEMA
from results.experiment.left_out import LeftOut
from results.experiment.model import (
    Comparison,
    Crossing,
    MetricSummary,
    QuantileSummary,
    Summary,
    SummaryRow,
)
from results.matrix import axis_document
from results.statistics.bootstrap import Quantile


def document(summary: Summary) -> dict[str, Any]:
    """Return the JSON contract of a summary."""
    return contract.Summary.model_construct(
        schema_=SCHEMA,
        experiment=summary.experiment,
        identity=summary.identity,
        window=summary.window,
        axes=[axis_document.axis(axis) for axis in summary.axes],
        without_values=list(summary.without_values),
        rows=[_row(row) for row in summary.rows],
        differences=[_difference(difference) for difference in summary.differences],
        crossings=[_crossing(crossing) for crossing in summary.crossings],
    ).document()


def _row(row: SummaryRow) -> contract.SummaryRow:
    return contract.SummaryRow.model_construct(
        variant=dict(row.variant),
        flow=row.flow,
        link=row.link,
        n=row.n,
        left_out=left_out_of(row.left_out),
        metrics={name: _mean(metric) for name, metric in row.metrics.items()},
    )


def left_out_of(left_out: LeftOut) -> contract.LeftOut:
    """Return how many runs do not count."""
    return contract.LeftOut.model_construct(
        unfaithful=left_out.unfaithful, failed=left_out.failed, identical=left_out.identical
    )


def _mean(metric: MetricSummary) -> contract.Mean:
    return contract.Mean.model_construct(
        mean=metric.mean,
        low=metric.low,
        high=metric.high,
        sd=metric.sd,
        n=metric.n,
        rule=metric.rule,
        of=metric.of,
        flows_n=metric.flows_n,
        flows_of=metric.flows_of,
        finished=metric.finished,
        drifting=metric.drifting,
        rise=metric.rise,
        steady_from_s=metric.steady_from_s,
        median=None if metric.median is None else _median(metric.median),
        values=list(metric.values),
        runs=list(metric.runs),
        quantiles=[_quantile(quantile) for quantile in metric.quantiles],
    )


def _median(quantile: Quantile) -> contract.Quantile:
    return contract.Quantile.model_construct(**vars(quantile))


def _quantile(quantile: QuantileSummary) -> contract.ShareQuantile:
    return contract.ShareQuantile.model_construct(**vars(quantile))


def _difference(comparison: Comparison) -> contract.Difference:
    return contract.Difference.model_construct(
        **(vars(comparison) | {"variant": dict(comparison.variant)})
    )


def _crossing(crossing: Crossing) -> contract.Crossing:
    return contract.Crossing.model_construct(
        **(vars(crossing) | {"variant": dict(crossing.variant)})
    )
