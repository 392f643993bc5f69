"""Where figures and tables of a report stand on its pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from results.report import (
    LabelledValue,
    Picture,
    Section,
    Table,
    _page_order,
    _pdf,
    html_page,
    typeset,
)

Results = Sequence[Picture | Table]

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="600" height="{}">'
    '<rect width="600" height="{}" fill="gray"/></svg>'
)


def figure(height: int, name: str = "figure.svg") -> Picture:
    """Return a figure; 964 pixels are the height of a page's text."""
    return Picture("A figure.", name, SVG.format(height, height).encode())


def table(rows: int, caption: str = "A table.") -> Table:
    return Table(caption, ["Variant", "Value"], [[f"variant {at}", str(at)] for at in range(rows)])


def section(results: Results, notes: int = 0, lines: int = 3) -> Section:
    return Section(
        title="one", label="one@12345678", question="Which? " * 10 * lines,
        facts=[LabelledValue("Runs", "3")], findings=["A finding."] * 8,
        network=[figure(220, "net.svg")],
        setup=[table(2)], results=results, notes=["A note."] * notes, methods=["A method."],
        trust=[table(1)], provenance=[LabelledValue("Identity", "1")], command="run",
        scenario="version: 1",
    )  # fmt: skip


def laid_out(sections: Sequence[Section]) -> list[_page_order.Boxes]:
    with _pdf._typesetter() as typesetter:
        return _pdf._boxes(typesetter.laid_out(html_page("one", sections)))


def end(page: _page_order.Boxes) -> float:
    return max(bottom for _top, bottom in page.values())


@pytest.mark.slow
def test_a_table_fills_the_page_that_a_figure_does_not_fit_into() -> None:
    """The first page was half empty: the figure began the next one, and the table followed."""
    written: Results = [figure(500, "first.svg"), figure(300, "second.svg"), table(12), table(5)]
    before = laid_out([section(written)])
    assert end(before[0]) < 1 - _page_order.MOST_EMPTY
    assert "result-1-1" in before[1]
    page, document = typeset("one", [section(written)])
    after = laid_out(_page_order.filled([section(written)], laid_out))
    assert end(after[0]) > 1 - _page_order.MOST_EMPTY
    assert document[:5] == b"%PDF-"
    order = [page.index(f'id="result-1-{at}"') for at in (1, 2, 3, 4)]
    assert order == sorted(order)
    first = page[order[0] : order[1]]
    assert "<table" in first
    assert "<figcaption" not in first


@pytest.mark.slow
def test_without_a_table_the_order_stays_and_a_page_is_laid_out_once() -> None:
    calls = []

    def counted(sections: Sequence[Section]) -> list[_page_order.Boxes]:
        calls.append(1)
        return laid_out(sections)

    sections = [section([figure(500), figure(300)])]
    assert _page_order.filled(sections, counted) == sections
    assert len(calls) == 1


@pytest.mark.parametrize(("bottom", "moved"), [(0.85, False), (0.75, True)])
def test_a_small_gap_stays_so_that_figures_come_first(bottom: float, moved: bool) -> None:
    results: Results = [figure(500), table(12)]

    def one_gap(sections: Sequence[Section]) -> Sequence[_page_order.Boxes]:
        at = [isinstance(each, Picture) for each in sections[0].results].index(True)
        return [{"setup-1-1": (0.1, bottom)}, {"result-1-1": (0.0, 0.5)}][: 2 - at]

    (found,) = _page_order.filled([section(results)], one_gap)
    assert list(found.results) == list(results[::-1] if moved else results)


def test_each_layout_moves_one_table_and_their_number_has_an_end() -> None:
    results: Results = [figure(500), *(table(3, str(at)) for at in range(12))]

    def never_full(sections: Sequence[Section]) -> Sequence[_page_order.Boxes]:
        (one,) = sections
        at = next(at for at, each in enumerate(one.results) if isinstance(each, Picture))
        return [{"setup-1-1": (0.1, 0.3)}, {f"result-1-{at + 1}": (0.0, 0.5)}]

    (found,) = _page_order.filled([section(results)], never_full)
    moved = found.results[: _page_order.MOST_LAYOUTS]
    assert [each.caption for each in moved] == [str(at) for at in range(_page_order.MOST_LAYOUTS)]
    assert isinstance(found.results[_page_order.MOST_LAYOUTS], Picture)


@pytest.mark.slow
@pytest.mark.parametrize("facts", range(20, 27))
def test_no_table_begins_with_a_row_or_two_at_the_end_of_a_page(facts: int) -> None:
    made = replace(
        section([table(12)]), network=[], setup=[], facts=[LabelledValue("Runs", "3")] * facts
    )
    parts = [page["result-1-1"] for page in laid_out([made]) if "result-1-1" in page]
    # The caption, the headings and three rows need a tenth of a page.
    assert all(bottom - top > 0.09 for top, bottom in parts)


def test_a_table_in_parts_names_the_command_once() -> None:
    wide = Table(
        "Wide.", ["Variant", *(f"metric {at}" for at in range(14))],
        [["a variant", *["1234.567 ± 12.345"] * 14]] * 3, command="orchestrator summary one --csv",
    )  # fmt: skip
    parts = wide.fitted()
    assert len(parts) > 1
    assert [part.command for part in parts[:-1]] == [""] * (len(parts) - 1)
    assert parts[-1].command == "orchestrator summary one --csv"
    page = html_page("one", [section(parts)])
    assert page.count("All rows: <code>orchestrator summary one --csv</code>") == 1
