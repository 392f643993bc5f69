"""Writes the summary of an experiment as text, Markdown, LaTeX and CSV."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import click

from orchestrator import plaintext
from orchestrator.cli import _metrics, _output, _report
from results.statistics.differences import SIGNIFICANT

Document = Mapping[str, Any]
Form = Literal["markdown", "latex"]

_HOW_TO_DIFFER = (
    ": nothing random varies between them; `start_jitter` in the scenario lets repetitions differ"
)


def print_text(document: Document, form: Form | None = None) -> None:
    """Print the tables of a summary, and below them what they leave out."""
    for title, headings, rows in tables(document):
        if form == "markdown":
            click.echo(f"{title}\n\n{_markdown(headings, rows)}")
        elif form == "latex":
            click.echo(_latex(title, headings, rows))
        else:
            first = rows[0] if rows else headings
            right = [at for at, cell in enumerate(first) if _is_number(cell)]
            click.echo(title)
            _output.console().print(_output.table(headings, rows, right))
            click.echo()
    for line in notes(document):
        click.echo(line, err=form is not None)


def tables(document: Document) -> list[Table]:
    """Return (title, headings, rows) of means, differences and crossings, if there are any."""
    found = [
        _means(document), _quantiles(document), _differences(document), _crossings(document)
    ]  # fmt: skip
    return [each for each in found if each is not None]


def notes(document: Document) -> Iterator[str]:
    """Yield what a reader of the means must know: runs left out, drifts, single runs."""
    from results import left_out

    for reason, number in left_out.of_rows(document["rows"]).items():
        singular, several = left_out.SENTENCES[reason]
        hint = _HOW_TO_DIFFER if reason == "identical" else ""
        if number:
            said = singular if number == 1 else several
            yield f"{_output.plural(number, 'run')} {said}{hint}"
    drifting = [
        " ".join(filter(None, (_variant(document, row), row["flow"], name))) + _rise(metric)
        for row in document["rows"]
        for name, metric in row["metrics"].items()
        if metric["drifting"]
    ]
    if drifting:
        more = f" and {len(drifting) - 5} more" if len(drifting) > 5 else ""
        listed = "; ".join(drifting[:5])
        yield f"still drifting (marked ~): run longer, or lengthen the warm-up: {listed}{more}"
    if any(row["n"] == 1 for row in document["rows"]):
        yield "a single run has no interval; --repetitions N makes more"


def _rise(metric: Document) -> str:
    """Return by how much a metric still rises or falls, and from when on it is steady."""
    word = "rises" if metric["rise"] > 0 else "falls"
    since_s = metric["steady_from_s"]
    since = "" if since_s is None else f", steady from {since_s:.3g} s"
    return f" ({word} by {abs(metric['rise']):.0%}{since})"


def _variant(document: Document, row: Document) -> str:
    labels = {axis["path"]: axis["label"] for axis in document["axes"]}
    return _report.variant(row["variant"], labels)


Table = tuple[str, list[str], list[list[str]]]


def _means(document: Document) -> Table:
    """Return the table of means: axes, flow, number of runs, and a column for each metric."""
    from results.axes import shown

    units = _units(document)
    names = list(dict.fromkeys(name for row in document["rows"] for name in row["metrics"]))
    axes = document["axes"]
    headings = [axis["label"] for axis in axes]
    headings += ["of", "runs", *(_heading(name, units[name]) for name in names)]
    rows = [
        [
            *(shown(row["variant"].get(axis["path"], "")) for axis in axes),
            row["flow"] or row["link"] or "run",
            str(row["n"]),
            *(mean_with_half(row["metrics"].get(name), units[name]) for name in names),
        ]
        for row in document["rows"]
    ]
    window = f" in the window {document['window']}" if document["window"] else ""
    title = f"{document['experiment']}@{document['identity'][:8]}: means with 95% intervals{window}"
    return title, headings, rows


def _quantiles(document: Document) -> Table | None:
    """Return the table of quantiles, a row for each metric of a variant and flow."""
    from results import summary_csv
    from results.axes import shown

    units, axes = _units(document), document["axes"]
    rows = [
        [
            *(shown(row["variant"].get(axis["path"], "")) for axis in axes),
            row["flow"] or row["link"] or "run",
            _heading(name, units[name]),
            *(interval({**each, "mean": each["value"]}, units[name])
              for each in metric["quantiles"]),
            str(metric["n"]),
        ]
        for row in document["rows"]
        for name, metric in row["metrics"].items()
        if metric["quantiles"]
    ]  # fmt: skip
    if not rows:
        return None
    shares = map(summary_csv.percent, summary_csv.shares(document))
    headings = [*(axis["label"] for axis in axes), "of", "metric", *shares, "runs"]
    return "Quantiles over repetitions [95% interval by bootstrap]", headings, rows


def _differences(document: Document) -> Table | None:
    if not document["differences"]:
        return None
    units = _units(document)
    rows = [
        [
            _variant(document, each) or _output.NO_VALUE,
            each["flow"] or _output.NO_VALUE,
            f"{each['b']} - {each['a']}",
            _heading(each["metric"], units[each["metric"]]),
            interval(each, units[each["metric"]]),
            _output.NO_VALUE if each["effect"] is None else f"{each['effect']:+.2f}",
            p_value(each["p_holm"]),
            str(each["paired_n"] or f"{each['a_n']}, {each['b_n']}"),
        ]
        for each in document["differences"]
    ]
    headings = [
        "variant",
        "of",
        "difference",
        "metric",
        "mean [95% interval]",
        "effect",
        "p (Holm)",
    ]
    methods = {each["method"] for each in document["differences"]}
    if methods == {"paired"}:
        return "Paired differences", [*headings, "pairs"], rows
    title = "Differences; those with two numbers of runs are not paired (Welch's t test)"
    return title, [*headings, "pairs or runs"], rows


def _crossings(document: Document) -> Table | None:
    if not document["crossings"]:
        return None
    axes = {axis["path"]: axis for axis in document["axes"]}
    rows = []
    for each in document["crossings"]:
        unit = fixed(axes[each["axis"]]["unit"])
        rows.append(
            [
                _variant(document, each) or _output.NO_VALUE,
                f"{each['b']} and {each['a']}",
                each["metric"],
                f"{axes[each['axis']]['label']} {interval(each, unit)}"
                + (f" {unit.name}" if unit.name else ""),
                f"{each['n']} of {each['of']}",
            ]
        )
    return (
        "Where two flows change places",
        ["variant", "flows", "metric", "at", "repetitions"],
        rows,
    )


class _Unit(NamedTuple):
    """The unit in which text shows values: its name, and its size in the stored unit."""

    name: str
    scale: float


def fixed(stored: str) -> _Unit:
    """Return the unit for values that are stored in that unit."""
    return _Unit(_metrics.unit(stored), _metrics.scale(stored))


def _units(document: Document) -> dict[str, _Unit]:
    """Return the unit of each metric; times of a second and more are shown in seconds."""
    from results.metrics import METRICS

    units = {name: fixed(one.unit) for (name, _scope), one in METRICS.items()}
    times = {name for (name, _scope), one in METRICS.items() if one.unit == "s"}
    for name in times:
        found = [row["metrics"][name]["mean"] for row in document["rows"] if name in row["metrics"]]
        if found and min(map(abs, found)) >= 1:
            units[name] = _Unit("s", 1.0)
    return units


def _heading(name: str, unit: _Unit) -> str:
    return f"{name} ({unit.name})" if unit.name else name


def mean_with_half(metric: Document | None, unit: _Unit) -> str:
    """Return ``mean ± half width`` with the digits that the interval gives a meaning."""
    if metric is None:
        return _output.NO_VALUE
    scale = unit.scale
    mark = " ~" if metric.get("drifting") else ""
    mean = metric["mean"] / scale
    if metric["low"] is None:
        return f"{_digits(mean, abs(mean) / 1000)}{mark}"
    half = (metric["high"] - metric["low"]) / 2 / scale
    step = half or abs(mean) / 1000
    return f"{_digits(mean, step)} ± {_digits(half, step)}{mark}"


def interval(each: Document, unit: _Unit) -> str:
    """Return ``mean [low, high]`` with the digits that the interval gives a meaning."""
    if each["mean"] is None:
        return _output.NO_VALUE
    scale = unit.scale
    mean = each["mean"] / scale
    if each["low"] is None:
        return _digits(mean, abs(mean) / 1000)
    low, high = each["low"] / scale, each["high"] / scale
    step = (high - low) / 2 or abs(mean) / 1000
    return f"{_digits(mean, step)} [{_digits(low, step)}, {_digits(high, step)}]"


def _digits(value: float, step: float) -> str:
    """Return a number with two digits of ``step``."""
    if step <= 0 or not math.isfinite(step):
        return f"{value:.4g}"
    return f"{value:.{max(0, 1 - math.floor(math.log10(step)))}f}"


def p_value(value: float | None) -> str:
    """Return a p value, marked by ``*`` where it is significant."""
    if value is None:
        return _output.NO_VALUE
    text = "< 0.001" if value < 0.001 else f"{value:.3f}"
    return f"{text} *" if value <= SIGNIFICANT else text


def _is_number(cell: str) -> bool:
    return cell[:1].isdigit() or cell[:1] == "-"


def _markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return (
            "| " + " | ".join(plaintext.visible(cell).replace("|", r"\|") for cell in cells) + " |"
        )

    return "\n".join([line(headings), "|" + "---|" * len(headings), *map(line, rows), ""])


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$",
    "<": r"$<$", ">": r"$>$",
}  # fmt: skip


def _latex(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        escaped = ("".join(_LATEX.get(letter, letter) for letter in cell) for cell in cells)
        return " & ".join(escaped) + r" \\"

    return "\n".join(
        [
            f"% {title}",
            rf"\begin{{tabular}}{{{'l' * len(headings)}}}",
            r"\toprule",
            line(headings),
            r"\midrule",
            *map(line, rows),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )
