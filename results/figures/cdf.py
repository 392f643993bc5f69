"""Distribution functions: of RTT samples, of transfer times, or of a metric over runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from orchestrator.errors import UsageError
from orchestrator.kinds.fields import located
from results.experiment.names import MetricName
from results.figures import _axes, _labels, _samples, _series
from results.figures._canvas import Canvas, line, require_distinct
from results.figures._frame import set_scale
from results.figures._spec import ExperimentFigure

if TYPE_CHECKING:
    import numpy.typing as npt

    from results.figures._study import Study

MOST_POINTS = 1000
"""Of more values, this many evenly spaced ones are drawn, and all of the largest."""

TAIL = 200

_COUNTED: Mapping[_samples.SampleName, str] = {"rtt": "samples", "transfers": "transfers"}

_SHARES = (0.2, 0.3, 0.5, 0.7, 1.0)
"""Ticks of a logarithmic axis of shares that is shorter than a power of ten."""


class Distribution(NamedTuple):
    """The values of one line, ascending, in an SI unit."""

    name: str
    values: npt.NDArray[np.float64]


class CdfFigure(ExperimentFigure):
    """The share of values up to each value: of samples of all repetitions, or of a metric.

    Samples are those after the warm-up. Repetitions are put together; their samples depend on each
    other, so they have no confidence interval.
    """

    complementary: ClassVar[bool] = False

    kind: Literal["cdf"] = Field(description="cumulative distribution function")
    sample: _samples.SampleName | None = Field(
        default=None, description="`rtt`: samples of the smoothed RTT; `transfers`: their durations"
    )
    metric: MetricName | None = Field(
        default=None, description="values of this metric over runs, instead of samples"
    )
    log_x: bool = Field(default=False, description="logarithmic horizontal axis")
    log_y: bool = Field(default=False, description="logarithmic vertical axis")

    @model_validator(mode="after")
    def _one_source(self) -> CdfFigure:
        if (self.sample is None) == (self.metric is None):
            raise located([((), "give either `sample` (rtt, transfers) or `metric`")])
        if self.sample is not None and (self.of is not None or self.window is not None):
            key = "of" if self.of is not None else "window"
            raise located([((key,), f"`{key}` is of metrics; leave it out with `sample`")])
        return self

    def caption(self, study: Study) -> str:
        """Return what a line is the share of, of how many runs, and why it has no interval."""
        where = "above" if self.complementary else "up to"
        runs = study.repetitions()
        if self.metric is not None:
            title = _labels.metric_title(self.metric)
            return f"{title}: the share of runs {where} each value, of {runs}, without intervals."
        assert self.sample is not None, "validated"
        return (
            f"{_samples.TITLES[self.sample]}: the share of {_COUNTED[self.sample]} {where} each "
            f"value, after the warm-up. A line has those of {runs} together; they depend on each "
            "other, so it has no confidence interval."
        )

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw a line for each flow entry and variant."""
        if self.metric is not None:
            lines, unit, title = self._of_metric(study, self.metric)
        else:
            assert self.sample is not None, "validated"
            lines = self._of_samples(study, self.sample)
            unit, title = "s", _samples.TITLES[self.sample]
        require_distinct([distribution.name for distribution in lines])
        divisor, shown_unit = _labels.scale(
            unit, np.concatenate([distribution.values for distribution in lines])
        )
        panel = canvas.panel()
        label = self.x_label if self.x_label is not None else _labels.with_unit(title, shown_unit)
        panel.set_xlabel(label)
        set_scale(panel.xaxis, unit, divisor)
        set_scale(panel.yaxis, "1", 1.0)
        short = "CCDF" if self.complementary else "CDF"
        panel.set_ylabel(self.y_label if self.y_label is not None else short)
        if self.log_x:
            _axes.log_scale(panel, "x", [float(distribution.values[0]) for distribution in lines])
        handles = [
            self._line(panel, index, distribution, divisor)
            for index, distribution in enumerate(lines)
        ]
        if self.log_y:
            _log_shares(panel, 1 / max(len(distribution.values) for distribution in lines))
        else:
            panel.set_ylim(0, 1.02)
        canvas.legend(handles, [distribution.name for distribution in lines])

    def _line(self, panel: Any, index: int, distribution: Distribution, divisor: float) -> Any:
        style = line(index)
        count = len(distribution.values)
        chosen = _chosen(count)
        # The line begins at the first value: below it no value is.
        values = distribution.values[np.concatenate([[0], chosen])]
        share = np.concatenate([[0.0], (chosen + 1) / count])
        if self.complementary:
            share = 1 - share
        if self.log_y:  # which cannot show a share of 0
            share = np.where(share > 0, share, np.nan)
        (handle,) = panel.step(
            values / divisor, share, where="post",
            color=style.color, linestyle=style.dashes,
        )  # fmt: skip
        return handle

    def _of_metric(self, study: Study, metric: str) -> tuple[list[Distribution], str, str]:
        summary = self.summary(study, metric)
        plotted = _series.cells(summary, [metric], self.of)
        lines = []
        for series in _series.series(summary, plotted, [], self.names):
            (cell,) = series.cells
            values = np.sort(np.array(cell.metrics[metric].values, np.float64))
            if len(values) < 2:
                raise UsageError(
                    f"too few runs: {series.name or study.experiment.name} has one value of "
                    f"{metric}; give the scenario more repetitions"
                )
            lines.append(Distribution(series.name, values))
        return lines, _labels.metric_unit(metric), _labels.metric_title(metric)

    def _of_samples(self, study: Study, sample: _samples.SampleName) -> list[Distribution]:
        lines = [
            Distribution(name, values)
            for name, values in _samples.pooled(study, sample, self.where, self.flow, self.names)
        ]
        if not lines:
            raise UsageError(
                f"{study.experiment.name} has no {_samples.WORDS[sample]} to draw: "
                f"{_samples.WHY_NONE[sample]}"
            )
        return lines


def _log_shares(panel: Any, least: float) -> None:
    """Make the vertical axis of shares from ``least`` to 1 logarithmic."""
    _axes.log_scale(panel, "y", [least, 1.0])
    if least > _SHARES[0] / 2:
        panel.set_yticks([share for share in _SHARES if share >= 0.9 * least])
    panel.set_ylim(0.9 * least, 1.0)


def _chosen(count: int) -> npt.NDArray[np.intp]:
    """Return the indices to draw of that many ascending values."""
    if count <= MOST_POINTS + TAIL:
        return np.arange(count)
    body = np.linspace(0, count - TAIL - 1, MOST_POINTS).round().astype(np.intp)
    return np.concatenate([body, np.arange(count - TAIL, count)])
