"""Variants that `include` in a matrix makes, which have no value on some axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.application.report import section_tables
from orchestrator.errors import UsageError
from results.experiment.experiments import find
from results.experiment.observations import ValueSelection
from results.experiment.summary import summarise
from results.figures import _series
from results.figures._drawing import content
from results.figures._samples import pooled
from results.matrix.axes import axes, distinguishing
from results.store.store import Store
from tests.support.experiments import make
from tests.support.figures import canvas, drawn, figure, legend, study

CONTROL, LIMIT = "flows.a.congestion", "topology.bottleneck.queue.limit"
APART = [{CONTROL: "vegas"}, {LIMIT: "3bdp"}]
"""No axis has several values."""
BESIDE = [{CONTROL: "reno", LIMIT: limit} for limit in ("1bdp", "2bdp")] + [{CONTROL: "vegas"}]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


def rates(variant: Mapping[str, Any], repetition: int) -> dict[str, float]:
    return {"a": (2e6 if CONTROL in variant else 1e6) + 1000.0 * repetition}


def test_axes_without_several_values_tell_variants_apart(store: Store) -> None:
    make(store, rates, APART)
    names = ["queue limit 3 BDP", "vegas"]
    with canvas(store, "tradeoff") as shown:
        assert sorted(legend(shown)) == names
    with canvas(store, "bars", metric="goodput_bps") as shown:
        ticks = [text.get_text() for text in shown.axes[0].get_xticklabels()]
        assert sorted(" ".join(tick.split()) for tick in ticks) == names


def test_samples_of_different_variants_are_not_put_together(store: Store) -> None:
    make(store, rates, APART)
    found = pooled(study(store), "rtt", {}, (), {})
    assert sorted(name for name, _values in found) == ["queue limit 3 BDP", "vegas"]


def test_a_figure_of_one_run_names_the_axes_to_choose_by(store: Store) -> None:
    make(store, rates, APART)
    with pytest.raises(UsageError, match="keep one by `where`, such as limit=3bdp"):
        drawn(store, "time")


def test_a_report_has_a_column_for_each_axis_on_which_variants_differ(store: Store) -> None:
    make(store, rates, APART)
    summary = summarise(store, find(store, "trial")[0], ValueSelection(("goodput_bps",)))
    (table,) = section_tables.means(summary, ["goodput_bps"], "")
    assert table.headings[:2] == ["Queue limit (BDP)", "Congestion control"]
    assert sorted(list(row[:2]) for row in table.rows) == [["", "vegas"], ["3", ""]]


@pytest.mark.parametrize("kind", ["metric", "bars", "box"])
def test_means_without_a_place_are_counted_and_have_no_entry_in_the_legend(
    store: Store, kind: str
) -> None:
    make(store, rates, BESIDE)
    there = study(store)
    content(figure(kind, metric="goodput_bps", by="limit"), there)
    assert "not drawn: 1 of 3 means, whose variants have no value of limit" in there.notes
    with canvas(store, kind, metric="goodput_bps", by="limit") as shown:
        assert legend(shown) == []


def test_a_heat_map_has_no_empty_row_of_variants_without_a_place(store: Store) -> None:
    make(store, rates, BESIDE)
    with canvas(store, "heatmap", metric="goodput_bps", by=["limit", "congestion"]) as shown:
        assert [text.get_text() for text in shown.axes[0].get_yticklabels()] == ["reno"]


def test_no_variant_with_a_place_is_an_error(store: Store) -> None:
    make(store, rates, BESIDE)
    with pytest.raises(UsageError, match="they have no value of limit"):
        drawn(store, "metric", metric="goodput_bps", by="limit", where={"congestion": "vegas"})


def test_an_axis_that_another_one_implies_is_not_named() -> None:
    """As where `include` lets the rest of a named value run for longer."""
    variants = [{"rtt": "short"}, {"rtt": "long", "duration": "60s"}]
    assert [axis.path for axis in distinguishing(axes(variants), variants)] == ["rtt"]


def test_a_variant_without_any_value_has_a_name_of_its_own() -> None:
    variants: list[dict[str, str]] = [{CONTROL: "vegas"}, {}]
    there = _series.distinguishing(variants)
    assert [_series.variant_parts(there, variant, {}) for variant in variants] == [
        ["vegas"], ["without congestion"],
    ]  # fmt: skip
