"""A matrix of harm as a page: a table of each metric and variant, and what is needed to cite it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from orchestrator import __version__
from orchestrator.evaluation.card import document as cards
from orchestrator.evaluation.tones import TONES
from results import report
from results.matrix.axes import key
from results.report import LabelledValue, Section, Table
from results.wording import intervals, quantities, variant_names

if TYPE_CHECKING:
    from orchestrator.evaluation.matrix.harm import HarmMatrix, MatrixCell
    from orchestrator.evaluation.model import Row

METHODS = (
    "A cell is what the flow of an incumbent (column) has beside a flow of a newcomer (row), and "
    "in brackets the change from what it has beside a flow of its own kind, which is the mean of "
    "the two flows there. Both flows begin together over equal paths, so that the runs of a pair "
    "tell of both directions.",
    "Ware et al., Beyond Jain's Fairness Index (HotNets 2019), define harm by what a flow has "
    "alone, and accept of a newcomer the harm that the incumbent does to itself. What it has alone "
    "is the same on both sides, so that the change decides: less goodput, or more delay or loss, "
    "is more harm than that bound accepts.",
    "A change is the mean of the differences of runs with equal seeds, as a share of the mean "
    "beside itself, with the 95% confidence interval of Student. The word after it is the verdict "
    "of the criterion harm of report cards with its bounds; beside controls that no RFC on the "
    "standards track specifies, its rows are shoulds.",
)


def page(found: HarmMatrix, command: str) -> str:
    """Return the matrix as an HTML document, which needs no other file, network or script.

    ``command`` makes it again.
    """
    prepared = found.prepared
    names = ", ".join(one.name for one in prepared.controls)
    kernels, digest = ", ".join(kernels_of(found)), cards.digest(found.rows)
    section = Section(
        title="Harm of each control to each other one",
        label=f"{prepared.request.length} matrix",
        question="What has a flow of each congestion control beside one of each other control?",
        facts=[
            LabelledValue("controls", names),
            LabelledValue("runs", str(len(found.rows))),
            LabelledValue("source", prepared.criterion.sources[0].text),
        ],
        findings=findings(found),
        network=(),
        setup=(),
        results=list(tables(found)),
        notes=[f"Quick leaves out: {prepared.criterion.quick_leaves_out.strip()}"]
        if prepared.request.length == "quick"
        else [],
        methods=METHODS,
        trust=[_trust(found)],
        provenance=[
            LabelledValue("version", __version__),
            LabelledValue("kernel", kernels),
            LabelledValue("digest of all runs", digest),
            LabelledValue(
                "to cite it",
                f"Harm matrix of {names}. TCP congestion-control orchestrator {__version__}, Linux "
                f"{kernels}, digest {digest[:16]}",
            ),
        ],
        command=command,
        scenario=next(iter(prepared.experiments.values())).text,
    )
    return report.html_page(f"Harm matrix of {names}", [section])


def _trust(found: HarmMatrix) -> Table:
    """Return how many runs have each verdict of the emulation's own checks."""
    verdicts = [row.verdict or row.status for row in found.rows]
    counted = [[verdict, str(verdicts.count(verdict))] for verdict in sorted(set(verdicts))]
    return Table("Verdicts of the emulation's own checks.", ["verdict", "runs"], counted)


def findings(found: HarmMatrix) -> list[str]:
    """Return a sentence of each newcomer: whose rows it does not meet."""
    said = []
    for newcomer in dict.fromkeys(cell.newcomer for cell in found.cells):
        own = [cell for cell in found.cells if cell.newcomer == newcomer and cell.verdict]
        worse = [cell for cell in own if cell.verdict == "does not meet"]
        harmed = ", ".join(dict.fromkeys(f"{cell.incumbent} in {cell.row.id}" for cell in worse))
        of = quantities.plural(len(own), "cell")
        said.append(
            f"{newcomer} harms {harmed} more than these do themselves, beyond the limits of harm: "
            f"{len(worse)} of {of}"
            if worse
            else f"{newcomer}: no cell of {of} is beyond the limits of harm"
        )
    return said


def tables(found: HarmMatrix) -> Iterator[Table]:
    """Yield a table of each metric and variant: newcomers by incumbents."""
    for row in found.prepared.rows:
        yield from _of_row(found, row)


def kernels_of(found: HarmMatrix) -> list[str]:
    """Return the releases of the kernels of the runs."""
    return sorted({row.kernel for row in found.rows if row.kernel is not None})


def _of_row(found: HarmMatrix, row: Row) -> Iterator[Table]:
    cells = [cell for cell in found.cells if cell.row.id == row.id]
    labels = variant_names.short_names(cell.variant for cell in cells)
    names = [one.name for one in found.prepared.controls]
    unit = quantities.unit(row.definition.unit)
    for place in dict.fromkeys(key(dict(cell.variant)) for cell in cells):
        here = [cell for cell in cells if key(dict(cell.variant)) == place]
        by_pair = {(cell.newcomer, cell.incumbent): cell for cell in here}
        where = variant_names.one_line(here[0].variant, labels)
        yield Table(
            f"{row.id}: {row.metric}{f' in {unit}' if unit else ''} of the incumbent"
            f"{f', {where}' if where else ''}.",
            ["newcomer", *(f"incumbent {name}" for name in names)],
            [[name, *_line(name, names, by_pair)] for name in names],
            tones={shown(cell): TONES[cell.verdict] for cell in here if cell.verdict is not None},
        )


def _line(
    newcomer: str, names: Sequence[str], by_pair: Mapping[tuple[str, str], MatrixCell]
) -> Iterator[str]:
    for incumbent in names:
        cell = by_pair.get((newcomer, incumbent))
        yield quantities.NO_VALUE if cell is None else shown(cell)


def shown(cell: MatrixCell) -> str:
    """Return a cell as text: the mean, the change in percent with its interval, and the verdict."""
    unit = cell.row.definition.unit
    mean = cell.value.mean
    value = quantities.NO_VALUE if mean is None else quantities.quantity(mean, unit)
    if cell.change is None:
        return f"{value} (itself)"
    change = intervals.with_interval(cell.change, lambda share: f"{100 * share:+.0f}%")
    return f"{value} ({change}): {cell.verdict}"
