"""The means of a summary as CSV, in SI units."""

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
