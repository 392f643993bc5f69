"""What a user sets around a figure: height, limits, lines at values, the legend's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import UsageError
from results.figures import _labels
from results.figures._canvas import _without_beginning
from results.figures._drawing import content
from results.store.store import Store
from tests.support.experiments import make
from tests.support.figures import canvas, drawn, figure, legend, study

pytestmark = pytest.mark.slow

LIMIT, QUEUE = "topology.bottleneck.queue.limit", "topology.bottleneck.queue"
SWEEP = [{LIMIT: limit} for limit in ("0.5bdp", "1bdp", "8bdp")]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        make(opened, two, SWEEP, repetitions=2)
        yield opened


def two(variant: Mapping[str, Any], repetition: int) -> dict[str, float]:
    return {"a": 3e6 + 1e4 * repetition, "b": 5e6 - 1e4 * repetition}


GOODPUT: dict[str, Any] = {"metric": "goodput_bps"}


@pytest.mark.parametrize(
    ("keys", "limits"),
    [
        ({"y_from": "1mbit", "y_to": "20mbit"}, (1.0, 20.0)),
        ({"y_from": 1, "y_to": "20"}, (1.0, 20.0)),  # in the unit that is shown
        ({"y_to": "800kbit"}, (0.0, 0.8)),
    ],
)
def test_limits_have_a_unit_or_that_of_the_axis(
    store: Store, keys: dict[str, Any], limits: tuple[float, float]
) -> None:
    with canvas(store, "metric", **GOODPUT, **keys) as shown:
        assert shown.axes[0].get_ylim() == pytest.approx(limits)


def test_limits_of_the_horizontal_axis_and_of_a_share(store: Store) -> None:
    with canvas(store, "metric", **GOODPUT, x_from="1bdp", x_to=4) as shown:
        assert shown.axes[0].get_xlim() == pytest.approx((1.0, 4.0))
    with canvas(store, "tradeoff", x_from="50ms", x_to="200ms") as shown:
        assert shown.axes[0].get_xlim() == pytest.approx((200.0, 50.0))  # grows to the left
    with canvas(store, "cdf", **GOODPUT, y_from="20%", y_to=0.8) as shown:
        assert shown.axes[0].get_ylim() == pytest.approx((0.2, 0.8))


def test_a_height_holds_whatever_the_legend_needs(store: Store) -> None:
    for text, height_in in (("2.4in", 2.4), ("60mm", 60 / 25.4), ("6cm", 6 / 2.54)):
        with canvas(store, "metric", **GOODPUT, height=text) as shown:
            assert shown.get_figheight() == pytest.approx(height_in)
            assert shown.get_figwidth() == 3.5


def test_lines_at_values_are_in_the_figure_and_in_the_legend(store: Store) -> None:
    keys = {"reference": ["4mbit=fair share", 12], "reference_x": "1bdp"}
    with canvas(store, "metric", **GOODPUT, **keys) as shown:
        (panel,) = shown.axes
        across = [line for line in panel.lines if list(line.get_xdata()) == [0, 1]]
        up = [line for line in panel.lines if list(line.get_ydata()) == [0, 1]]
        assert [list(line.get_ydata()) for line in across] == [[4, 4], [12, 12]]
        assert [list(line.get_xdata()) for line in up] == [[1, 1]]
        assert legend(shown) == ["a", "b", "fair share"]
        assert panel.get_ylim()[1] > 12  # the axis reaches as far
    with canvas(store, "metric", **GOODPUT, reference="9=all") as shown:
        assert legend(shown) == ["a", "b", "all"]
        assert shown.axes[0].get_ylim()[1] > 9


def test_entries_of_the_legend_have_other_words(store: Store) -> None:
    with canvas(store, "metric", **GOODPUT, legend={"a": "Mine", "b": "Theirs"}) as shown:
        assert legend(shown) == ["Mine", "Theirs"]
    with pytest.raises(UsageError, match=r"legend: there is no entry `c`; the entries are `a`, `b"):
        drawn(store, "metric", **GOODPUT, legend={"c": "Mine"})


def test_a_figure_without_a_legend_has_no_entries_to_name(store: Store) -> None:
    """A heat map took the words and showed them nowhere."""
    pair = [{QUEUE: kind, LIMIT: limit} for kind in ("red", "pie") for limit in ("5p", "9p")]
    make(store, two, pair, repetitions=1, name="pair")
    keys: dict[str, Any] = {**GOODPUT, "by": ["queue", "limit"], "flow": "a"}
    with pytest.raises(UsageError, match=r"legend: this figure has no legend"):
        drawn(store, "heatmap", "pair", **keys, legend={"a": "Mine"})


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("metric", GOODPUT), ("metric", {**GOODPUT, "flow": "a"}), ("bars", GOODPUT),
        ("tradeoff", {}), ("cdf", GOODPUT), ("cdf", {"sample": "rtt"}),
        ("time", {"where": {"limit": "1bdp"}}), ("sequence", {"where": {"limit": "1bdp"}}),
    ],
)  # fmt: skip
def test_names_of_no_line_are_refused(store: Store, kind: str, keys: dict[str, Any]) -> None:
    made = figure(kind, **keys, names={"a": "Alpha"})
    content(made, study(store))
    made.require_names()
    made = figure(kind, **keys, names={"a": "Alpha", "aa": "Beta"})
    content(made, study(store))
    with pytest.raises(UsageError, match=r"names: there is no name `aa` .*; the names are .*`a`"):
        made.require_names()


def test_labels_with_commas_are_told_apart_in_errors(tmp_path: Path) -> None:
    queues = [{QUEUE: {"kind": "codel", "target": f"{ms}ms", "ecn": True}} for ms in (5, 9)]
    with Store(tmp_path / "codel.db") as opened:
        make(opened, two, queues, repetitions=1)
        keys = {**GOODPUT, "by": "queue"}
        with pytest.raises(UsageError, match=r"the entries are `a, target 5 ms`, `b, target 5 ms`"):
            drawn(opened, "tradeoff", legend={"c": "Mine"})
        made = figure("metric", **keys, names={"c": "Mine"})
        content(made, study(opened))
        with pytest.raises(UsageError, match=r"the names are .*`target 5 ms`, `target 9 ms`"):
            made.require_names()


@pytest.mark.parametrize(
    ("kind", "keys", "message"),
    [
        ("metric", {"y_to": "80ms"}, "y_to: 80ms is of s, and the axis is of bit/s"),
        ("metric", {"y_from": 9, "y_to": 4}, "the axis would go from 9 to 4"),
        ("metric", {"x_from": 0}, "x_from: 0 has no place on a logarithmic axis"),
        ("bars", {"x_to": 3}, "x_to: this axis has names and no numbers"),
        ("heatmap", {"y_to": 3, "by": ["limit", "limit"]}, "are the same axis"),
    ],
)
def test_what_an_axis_cannot_have_is_named(
    store: Store, kind: str, keys: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        drawn(store, kind, **GOODPUT, **keys)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"height": "60"}, "a length such as 60mm"),
        ({"height": "1mm"}, "must be from 0.8in to 20in"),
        ({"y_to": "much"}, "a number in the unit of the axis"),
        ({"y_to": "inf"}, "a number in the unit of the axis"),
        ({"reference": "fair=1"}, "a number in the unit of the axis"),
        ({"reference": "1=$x"}, "is not valid between dollar signs"),
    ],
)
def test_a_wrong_value_is_refused_before_any_run(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("$", r"\$")):
        figure("metric", **GOODPUT, **keys)


def test_legends_of_an_axis_of_mappings_say_what_differs(tmp_path: Path) -> None:
    queues = [{"kind": "droptail", "limit": "1bdp"}, {"kind": "codel", "limit": "1bdp"},
              {"kind": "codel", "limit": "1bdp", "target": "5ms"}]  # fmt: skip
    variants = [{QUEUE: queue, "topology.bottleneck.rate": rate}
                for queue in queues for rate in ("10mbit", "20mbit")]  # fmt: skip
    with Store(tmp_path / "queues.db") as opened:
        make(opened, two, variants, repetitions=2)
        with canvas(opened, "metric", **GOODPUT, by="rate", flow="a") as shown:
            assert legend(shown) == ["droptail", "codel", "codel (target 5 ms)"]
        with canvas(opened, "metric", **GOODPUT, by="queue", flow="a") as shown:
            ticks = [text.get_text() for text in shown.axes[0].get_xticklabels()]
            assert ticks == ["droptail", "codel", "codel (target 5 ms)"]


def test_words_for_values() -> None:
    limits = [{"kind": "codel", "limit": "1bdp"}, {"kind": "codel", "limit": "2bdp"}]
    assert _labels.value_texts(limits) == ["limit 1 BDP", "limit 2 BDP"]
    assert _labels.value_texts(limits[:1]) == ["codel (limit 1 BDP)"]
    assert _labels.value_texts([{"forward": "1%", "reverse": 0}, "2%"]) == [
        "forward 1%, reverse 0", "2%",
    ]  # fmt: skip
    assert _labels.value(["1ms", "2ms"]) == "(1 ms, 2 ms)"


def test_a_title_of_a_legend_cuts_no_brackets() -> None:
    labels = ["codel (target 5 ms)", "codel (target 9 ms)"]
    assert _without_beginning(labels) == ("Codel", ["(target 5 ms)", "(target 9 ms)"])
    assert _without_beginning(["bbr, rate 1 Mbit/s", "bbr, rate 2 Mbit/s"])[0] == "bbr, rate"


def test_a_switch_is_named_by_its_axis(tmp_path: Path) -> None:
    variants = [{"tcp.sack": sack, LIMIT: limit} for sack in (True, False)
                for limit in ("1bdp", "2bdp")]  # fmt: skip
    with Store(tmp_path / "switch.db") as opened:
        make(opened, two, variants, repetitions=2)
        with canvas(opened, "metric", **GOODPUT, by="limit", flow="a") as shown:
            assert legend(shown) == ["Sack", "true", "false"]
