"""The means of a summary as CSV, or its differences, in SI units."""

from __future__ import annotations

import io

from results.experiment.model import Summary
from results.matrix.axes import shown
from results.metrics import any_scope
from results.tables.csv_lines import CsvLines


def text(summary: Summary) -> str:
    """Return one line for each row and metric of a summary, with a column for each axis."""
    axes = summary.axes
    there = shares(summary)
    out = io.StringIO()
    lines = CsvLines(out)
    lines.add(
        [*(axis.label for axis in axes), "flow", "link", "metric", "unit", "n", "mean", "low",
         "high", "sd", "drifting", "unfaithful", "failed", *COVERAGE,
         *(f"{percent(share)}{end}" for share in there for end in ("", " low", " high"))]
    )  # fmt: skip
    for row in summary.rows:
        axis_values = [shown(row.variant.get(axis.path, "")) for axis in axes]
        for name, metric in row.metrics.items():
            numbers = [metric.mean, metric.low, metric.high, metric.sd, metric.drifting]
            lines.add(
                [*axis_values, row.flow, row.link, name, any_scope(name).unit, metric.n, *numbers,
                 row.left_out.unfaithful, row.left_out.failed,
                 *(getattr(metric, key) for key in COVERAGE),
                 *(end for quantile in metric.quantiles for end in quantile.interval)]
            )  # fmt: skip
    return out.getvalue()


COVERAGE = ("of", "flows_n", "flows_of", "finished")
"""The columns that say what part a mean is of; see
:mod:`results.experiment.summary_document`."""


DIFFERENCE = (
    "axis", "flow", "a", "b", "metric", "unit", "mean", "low", "high", "p", "p_holm", "effect",
    "method", "paired_n", "a_n", "b_n", "low_family", "high_family", "p_family", "family_n",
    "label",
)  # fmt: skip
"""The columns of a difference after those of the axes."""


def differences(summary: Summary) -> str:
    """Return one line for each difference ``b - a``, with a column for each axis that it keeps."""
    axes = summary.axes
    out = io.StringIO()
    lines = CsvLines(out)
    lines.add([*(axis.label for axis in axes), *DIFFERENCE])
    for difference in summary.differences:
        axis_values = [shown(difference.variant.get(axis.path, "")) for axis in axes]
        numbers = {**vars(difference), "unit": any_scope(difference.metric).unit}
        for end in "ab":
            numbers[end] = shown(numbers[end])
        lines.add([*axis_values, *(numbers[key] for key in DIFFERENCE)])
    return out.getvalue()


def shares(summary: Summary) -> list[float]:
    """Return the shares of the summary's quantiles."""
    every = (
        quantile.share
        for row in summary.rows
        for metric in row.metrics.values()
        for quantile in metric.quantiles
    )
    return list(dict.fromkeys(every))


def percent(share: float) -> str:
    """Return a share as per cent, such as ``90%``."""
    return f"{100 * share:g}%"
