"""Figures: what the metric figure shows, the style, and files with equal bytes."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import UsageError
from results.experiment.experiments import find
from results.experiment.observations import ValueSelection
from results.experiment.summary import summarise
from results.experiment.summary_document import document
from results.figures import FIGURES, _labels, _style
from results.store.store import Store
from tests.support.experiments import make
from tests.support.figures import canvas, drawn, figure, legend, study

LIMIT, CONTROL = "topology.bottleneck.queue.limit", "flows.a.congestion"
SWEEP = [{LIMIT: limit} for limit in ("0.1bdp", "1bdp", "16bdp")]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


def rising(variant: Mapping[str, Any], repetition: int) -> dict[str, float]:
    size = float(str(variant.get(LIMIT, "1bdp")).removesuffix("bdp"))
    return {"a": 1e6 * (1 + size) + 2e4 * repetition, "b": 9e6 - 1e5 * size - 1e4 * repetition**2}


def test_a_point_is_the_mean_and_its_bar_the_interval_of_the_summary(store: Store) -> None:
    make(store, rising, SWEEP)
    made = document(summarise(store, find(store, "trial")[0], ValueSelection(("goodput_bps",))))
    expected = {
        flow: [
            tuple(row["metrics"]["goodput_bps"][end] / 1e6 for end in ("low", "mean", "high"))
            for row in made["rows"]
            if row["flow"] == flow
        ]
        for flow in ("a", "b")
    }
    with canvas(store, "metric", metric="goodput_bps") as shown:
        (panel,) = shown.axes
        assert panel.get_xlabel() == "Queue limit (BDP)"
        assert panel.get_ylabel() == "Goodput (Mbit/s)"
        assert panel.get_xscale() == "log"
        assert [text.get_text() for text in panel.get_xticklabels()] == ["0.1", "1", "16"]
        assert panel.get_ylim()[0] == 0
        assert legend(shown) == ["a", "b"]
        for flow, bars in zip(expected, panel.containers, strict=True):
            (line, _caps, (interval,)) = bars.lines
            assert list(line.get_xdata()) == pytest.approx([0.1, 1.0, 16.0])
            ends = [
                (segment[0][1], mean, segment[1][1])
                for segment, mean in zip(interval.get_segments(), line.get_ydata(), strict=True)
            ]
            assert ends == [pytest.approx(one) for one in expected[flow]]


@pytest.mark.slow
def test_unfaithful_and_failed_runs_are_left_out_and_counted(store: Store) -> None:
    make(store, rising, SWEEP)
    clean = drawn(store, "metric", metric="goodput_bps")
    make(store, lambda *_: {"a": 5e9, "b": 5e9}, SWEEP[:1], verdict="unfaithful", repetitions=2)
    source = study(store)
    from results.figures._drawing import content

    assert content(figure("metric", metric="goodput_bps"), source) != b""
    assert source.notes == ["left out: 2 runs unfaithful"]
    assert clean.count(b"<path") > 0


@pytest.mark.slow
def test_each_flow_and_value_of_another_axis_is_a_line(store: Store) -> None:
    variants = [{**one, CONTROL: control} for one in SWEEP for control in ("bbr", "vegas")]
    make(store, rising, variants)
    with canvas(store, "metric", metric="goodput_bps", by="limit", names={"a": "Flow A"}) as shown:
        assert legend(shown) == ["Flow A, bbr", "b, bbr", "Flow A, vegas", "b, vegas"]
    with canvas(store, "metric", metric="goodput_bps", by="limit", flow="a") as shown:
        assert legend(shown) == ["bbr", "vegas"]
    with canvas(store, "metric", metric="jain_index", where={"congestion": "bbr"}) as shown:
        assert legend(shown) == []
        assert shown.axes[0].get_ylabel() == "Jain's index"
    with canvas(store, "metric", metric="goodput_bps", by="congestion", flow="a") as shown:
        ticks = [text.get_text() for text in shown.axes[0].get_xticklabels()]
        assert ticks == ["bbr", "vegas"]
        assert legend(shown) == ["Queue limit", "0.1 BDP", "1 BDP", "16 BDP"]


def test_numbers_that_follow_from_the_axis_make_no_further_lines(store: Store) -> None:
    """As where `include` in a matrix sets a second number for each value of an axis."""
    hosts = "topology.groups.a.hosts"
    together = [{**variant, hosts: count} for count, variant in enumerate(SWEEP, 1)]
    make(store, rising, together)
    with canvas(store, "metric", metric="goodput_bps", by="limit") as shown:
        assert legend(shown) == ["a", "b"]
        assert [len(bars.lines[0].get_xdata()) for bars in shown.axes[0].containers] == [3, 3]


@pytest.mark.slow
def test_axes_with_equal_values_are_named_once(store: Store) -> None:
    """As where `include` in a matrix gives two entries the same congestion control."""
    other = "flows.b.congestion"
    kinds = [
        {CONTROL: "reno"},
        {CONTROL: "bic", other: "bic"},
        {CONTROL: "cubic", other: "reno"},
    ]
    make(store, rising, [{**variant, **kind} for kind in kinds for variant in SWEEP])
    with canvas(store, "metric", metric="goodput_bps", by="limit", flow="a") as shown:
        assert legend(shown) == ["reno", "bic", "cubic, reno"]


def test_names_that_follow_from_the_axis_are_lines_of_their_own(store: Store) -> None:
    kinds = ["reno", "bic", "vegas"]
    together = [{**variant, CONTROL: kind} for kind, variant in zip(kinds, SWEEP, strict=True)]
    make(store, rising, together)
    with canvas(store, "metric", metric="goodput_bps", by="limit", flow="a") as shown:
        assert legend(shown) == kinds


@pytest.mark.parametrize("flow", ["a", "b"])  # over a factor of 15, and of 1.2
def test_a_short_logarithmic_axis_has_plain_labels(store: Store, flow: str) -> None:
    make(store, rising, SWEEP, repetitions=2)
    with canvas(store, "metric", metric="goodput_bps", flow=flow, log_y=True) as shown:
        shown.draw_without_rendering()
        low, high = shown.axes[0].get_ylim()
        texts = [text.get_text() for text in shown.axes[0].get_yticklabels()]
        assert len([text for text in texts if low <= float(text) <= high]) >= 3


@pytest.mark.slow
def test_a_crossing_is_marked_with_its_interval(store: Store) -> None:
    make(store, rising, SWEEP)
    made = summarise(store, find(store, "trial")[0], ValueSelection(("goodput_bps",)))
    (crossing,) = document(made)["crossings"]
    with canvas(store, "metric", metric="goodput_bps", crossings=True) as shown:
        (panel,) = shown.axes
        (band,) = panel.patches
        box = band.get_bbox()
        assert [box.x0, box.x1] == pytest.approx([crossing["low"], crossing["high"]])
        assert crossing["mean"] in [line.get_xdata()[0] for line in panel.lines]
    make(store, rising, [{CONTROL: one} for one in ("reno", "bbr")], name="names")
    with pytest.raises(UsageError, match="crossings: congestion has names and no numbers"):
        drawn(store, "metric", "names", metric="goodput_bps", crossings=True)


def test_values_of_a_single_run_have_no_interval_and_are_counted(store: Store) -> None:
    from results.figures._drawing import content

    make(store, rising, SWEEP, repetitions=1)
    source = study(store)
    content(figure("metric", metric="goodput_bps"), source)
    assert source.notes == ["no interval: 6 of 6 values are of a single run"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"metric": "goodput_bps", "by": "rate"}, "there is no axis rate.*axes are limit, cong"),
        ({"metric": "goodput_bps", "flow": "c"}, "there is no flow entry c.*a, b"),
        ({"metric": "goodput_bps", "where": {"limit": "3bdp"}}, "no value 3bdp.*`0.1bdp`, `1bdp`"),
        ({"metric": "goodput_bps", "window": "late"}, "no window late"),
        ({"metric": "fct_mean_s"}, "has no values of fct_mean_s to draw"),
        ({"metric": "jain_index", "of": "flows"}, "no values of jain_index of flow entries"),
    ],
)
def test_what_the_experiment_lacks_is_named(
    store: Store, keys: dict[str, Any], message: str
) -> None:
    make(store, rising, [{**one, CONTROL: "bbr"} for one in SWEEP], repetitions=2)
    with pytest.raises(UsageError, match=message):
        drawn(store, "metric", **keys)


def test_an_experiment_without_axes_has_another_figure(store: Store) -> None:
    make(store, rising, repetitions=2)
    with pytest.raises(UsageError, match=r"no axes to draw over.*`bars`"):
        drawn(store, "metric", metric="goodput_bps")


def test_an_experiment_of_unfaithful_runs_has_no_figure(store: Store) -> None:
    make(store, rising, SWEEP, verdict="unfaithful")
    with pytest.raises(UsageError, match="no faithful run has any"):
        drawn(store, "metric", metric="goodput_bps")


@pytest.mark.slow
def test_more_lines_than_can_be_told_apart_have_dashes_and_then_are_refused(store: Store) -> None:
    make(store, lambda *_: {f"f{n}": 1e6 + n for n in range(9)}, SWEEP[:2], repetitions=1)
    with canvas(store, "metric", metric="goodput_bps") as shown:
        (panel,) = shown.axes
        looks = {(bars.lines[0].get_color(), bars.lines[0].get_marker())
                 for bars in panel.containers}  # fmt: skip
        assert len(looks) == len(legend(shown)) == 9
    with pytest.raises(UsageError, match=r"9 lines .* cannot be told apart"):
        drawn(store, "bars", metric="goodput_bps", by="limit")
    make(store, lambda *_: {f"f{n}": 1e6 for n in range(70)}, SWEEP[:2], 1, name="many")
    with pytest.raises(UsageError, match=r"70 lines .* cannot be told apart"):
        drawn(store, "metric", name="many", metric="goodput_bps")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"file": "fig.tiff"}, "valid: .pdf, .svg, .png"),
        ({"file": "../fig.pdf"}, "without folders"),
        ({"metric": "goodput"}, "did you mean `goodput_bps`"),
        ({"width": "a4"}, "'ieee', 'ieee-wide', 'acm' or 'acm-wide'"),
        ({"colour": "red"}, "Extra inputs"),
        ({"x_label": "Puffer 缓冲"}, "the font STIXGeneral has no `缓`"),
        ({"y_label": r"$\fraction{1}{2}$"}, "is not valid between dollar signs: "),
        ({"x_label": "$" + "{" * 16 + "}" * 16 + "$"}, "may have 15 pairs of braces"),
        ({"x_label": "x" * 201}, "may have 200 characters"),
        ({"names": {"a": "$x^$"}}, "is not valid between dollar signs: "),
    ],
)
def test_a_wrong_key_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        figure("metric", **{"metric": "goodput_bps", **keys})


@pytest.mark.slow
def test_equal_runs_give_equal_bytes(store: Store) -> None:
    make(store, rising, SWEEP)
    forms = ("pdf", "svg", "png")
    first = [drawn(store, "metric", metric="goodput_bps", file=f"fig.{form}") for form in forms]
    program = (
        "import sys; from pathlib import Path; from results.store.store import Store\n"
        "from tests.support.figures import drawn\n"
        "with Store.open_read_only(Path(sys.argv[1])) as store:\n"
        "    for form in sys.argv[2:]:\n"
        "        data = drawn(store, 'metric', metric='goodput_bps', file=f'fig.{form}')\n"
        "        sys.stdout.buffer.write(data)\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    again = subprocess.run(
        [sys.executable, "-c", program, str(store.path), *forms],
        capture_output=True, check=True, env=environment, cwd=Path(__file__).parents[4],
    )  # fmt: skip
    assert again.stdout == b"".join(first)
    assert not [data for data in first if b"Date" in data]


@pytest.mark.slow
def test_a_pdf_embeds_its_fonts_as_true_type(store: Store) -> None:
    make(store, rising, SWEEP, repetitions=2)
    data = drawn(store, "metric", metric="goodput_bps", file="fig.pdf")
    assert data.startswith(b"%PDF")
    assert b"/Subtype /Type3" not in data
    assert b"/FontFile2" in data


def test_labels_may_have_letters_and_mathematics(store: Store) -> None:
    make(store, rising, SWEEP, repetitions=2)
    keys: dict[str, Any] = {"x_label": r"Größe $\beta_0$ (µs)", "names": {"a": r"$\alpha$"}}
    with canvas(store, "metric", metric="goodput_bps", **keys) as shown:
        assert shown.axes[0].get_xlabel() == keys["x_label"]
    assert drawn(store, "metric", metric="goodput_bps", **keys)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "size_in"), _style.WIDTHS_IN.items())
def test_figures_are_as_wide_as_the_column(store: Store, width: str, size_in: float) -> None:
    make(store, rising, SWEEP, repetitions=2)
    data = drawn(store, "metric", metric="goodput_bps", width=width, file="fig.pdf")
    box = re.search(rb"/MediaBox \[ 0 0 ([0-9.]+) ", data)
    if box is None:  # inside a compressed stream
        streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL)
        text = b"".join(zlib.decompress(one) for one in streams if one[:1] == b"x")
        box = re.search(rb"/MediaBox \[ 0 0 ([0-9.]+) ", text)
    assert box is not None
    assert float(box[1]) / 72 == pytest.approx(size_in, abs=0.01)


def _lightness(color: str) -> float:
    """Return CIE L* of an sRGB colour, from 0 to 100."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


def test_lines_differ_in_grey_scale() -> None:
    for name in ("color", "dashes", "marker", "hatch"):
        values = [str(getattr(line, name)) for line in _style.LINES]
        assert len(set(values)) == len(values), name
    light = [_lightness(line.color) for line in _style.LINES[:4]]
    assert min(abs(a - b) for a, b in itertools.combinations(light, 2)) > 10


def test_the_colour_map_grows_lighter() -> None:
    import matplotlib as mpl
    from matplotlib.colors import to_hex

    light = [_lightness(to_hex(mpl.colormaps[_style.MAP](step / 20))) for step in range(21)]
    assert light == sorted(light)


@pytest.mark.parametrize(
    ("unit", "values", "expected"),
    [
        ("bit/s", [9e6, 2e5], (1e6, "Mbit/s")),
        ("s", [0.1], (1e-3, "ms")),
        ("s", [0.0], (1, "s")),
        ("packets", [1200], (1, "packets")),
        ("%", [0.02], (0.01, "%")),
        ("1", [0.02], (1, "")),
        ("bytes", [-2e6], (1e6, "MB")),
    ],
)
def test_units_suit_the_largest_value(
    unit: str, values: list[float], expected: tuple[float, str]
) -> None:
    assert _labels.scale(unit, values) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [("10mbit", "10 Mbit/s"), ("0.1bdp", "0.1 BDP"), ("100p", "100 packets"), ("bbr", "bbr"),
     ("20ms", "20 ms"), (3, "3"), ("150kB", "150 kB"), (True, "true")],
)  # fmt: skip
def test_values_are_written_for_readers(written: object, expected: str) -> None:
    assert _labels.value(written) == expected


def test_every_kind_has_a_description() -> None:
    assert "metric" in FIGURES.found
    for name, model in FIGURES.found.items():
        assert model.__doc__, name
        assert all(field.description for field in model.model_fields.values()), name
