"""The means of a summary as CSV, or its differences, in SI units."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from results.axes import shown
from results.metrics import METRICS


def text(document: Mapping[str, Any]) -> str:
    """Return one line for each row and metric of a summary, with a column for each axis."""
    axes = document["axes"]
    units = {name: one.unit for (name, _scope), one in METRICS.items()}
    there = shares(document)
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(
        [*(axis["label"] for axis in axes), "flow", "link", "metric", "unit", "n", "mean", "low",
         "high", "sd", "drifting", "unfaithful", "failed",
         *(f"{percent(share)}{end}" for share in there for end in ("", " low", " high"))]
    )  # fmt: skip
    for row in document["rows"]:
        place = [shown(row["variant"].get(axis["path"], "")) for axis in axes]
        for name, metric in row["metrics"].items():
            numbers = [metric[key] for key in ("mean", "low", "high", "sd", "drifting")]
            lines.writerow(
                [*place, row["flow"], row["link"], name, units[name], metric["n"], *numbers,
                 row["left_out"]["unfaithful"], row["left_out"]["failed"],
                 *(each[key] for each in metric["quantiles"] for key in ("value", "low", "high"))]
            )  # fmt: skip
    return out.getvalue()


DIFFERENCE = (
    "axis", "flow", "a", "b", "metric", "unit", "mean", "low", "high", "p", "p_holm", "effect",
    "method", "paired_n", "a_n", "b_n",
)  # fmt: skip
"""The columns of a difference after those of the axes."""


def differences(document: Mapping[str, Any]) -> str:
    """Return one line for each difference ``b - a``, with a column for each axis that it keeps."""
    axes = document["axes"]
    units = {name: one.unit for (name, _scope), one in METRICS.items()}
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow([*(axis["label"] for axis in axes), *DIFFERENCE])
    for each in document["differences"]:
        place = [shown(each["variant"].get(axis["path"], "")) for axis in axes]
        numbers = {**each, "unit": units[each["metric"]]}
        for end in "ab":
            numbers[end] = shown(each[end])
        lines.writerow([*place, *(numbers[key] for key in DIFFERENCE)])
    return out.getvalue()


def shares(document: Mapping[str, Any]) -> list[float]:
    """Return the shares of the summary's quantiles."""
    found = (
        each["share"]
        for row in document["rows"]
        for metric in row["metrics"].values()
        for each in metric["quantiles"]
    )
    return list(dict.fromkeys(found))


def percent(share: float) -> str:
    """Return a share as per cent, such as ``90%``."""
    return f"{100 * share:g}%"
