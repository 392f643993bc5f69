"""The draft of a mail that states what one run or two show, with intervals if there are any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator import plaintext
from results.comparison.variants import VariantComparison
from results.metrics import METRICS
from results.records.model import WHOLE
from results.store.stored import StoredRun
from results.wording import quantities

LETTERS = "AB"
_METRICS = ("goodput_bps", "retransmitted_segments", "rtt_mean_s", "rtt_p95_s")


@dataclass(frozen=True)
class Side:
    """A run of the evidence: its letter, its folder, and the run as it was made again.

    ``stored`` is the id of the run that it repeats.
    """

    letter: str
    folder: str
    stored: str
    run: StoredRun

    @property
    def kernel(self) -> str:
        """The kernel in words: its release, the source, and what was changed in it."""
        manifest = self.run.provenance.get("guest_kernel")
        source = manifest if isinstance(manifest, Mapping) else {}
        words = [f"Linux {self.run.row.kernel}"]
        words += [f"with {name}" for name in source.get("added", ())]
        words += [f"without {name}" for name in source.get("taken_out", ())]
        words += [f"{name}={value}" for name, value in source.get("options", {}).items()]
        return plaintext.one_line(", ".join(words))


def draft(
    sides: Sequence[Side], comparison: VariantComparison | None, command: str
) -> Iterator[str]:
    """Yield the lines of a plain-text mail of at most 72 columns, links and tables aside."""
    first = sides[0].run
    yield f"Subject: TCP: {plaintext.one_line(first.head.description or first.row.scenario)}"
    yield ""
    yield f"Scenario {plaintext.one_line(first.row.scenario)}, in User Mode Linux in virtual time:"
    for side in sides:
        yield f"  {side.letter}: {side.kernel}, seed {side.run.row.seed}, run {side.stored}"
    yield ""
    yield from _differences(comparison) if comparison else _single(sides)
    yield ""
    yield "Each run is bit-identical when it is made again:"
    for side in sides:
        yield f"  {side.letter}: digest {side.run.row.digest}"
    yield ""
    yield "The same evidence, from the scenario in this folder:"
    yield f"  {command}"
    yield ""
    where = "Beside this file" if len(sides) == 1 else "In the folders A and B"
    yield f"{where} are the text of ss and nstat every 50 ms, packets of the"
    yield "senders, intervals.txt, sysctls.json, kernel.json and kernel.config,"
    yield "set-up.json and figure.svg."


def _single(sides: Sequence[Side]) -> Iterator[str]:
    """Yield the flows' metrics of each run: one run has no interval."""
    yield "One run each, so without an interval (`repetitions: 10` makes one):"
    for side in sides:
        for flow, values in zip(side.run.flows, side.run.metrics()[WHOLE].flows, strict=True):
            yield f"  {side.letter} {plaintext.one_line(flow.name)}:"
            for name in _METRICS:
                unit = METRICS[name, "flow"].unit
                if values.get(name) is not None:
                    yield f"    {name}: {_quantity(values[name], unit)}"


def _differences(comparison: VariantComparison) -> Iterator[str]:
    """Yield the means of both variants and their difference, each with its 95% interval."""
    yield "Means over repetitions, with 95% confidence intervals:"
    for letter, variant in zip(LETTERS, comparison.variants, strict=False):
        runs = quantities.plural(len(variant.runs), "run")
        yield f"  {letter}: {plaintext.one_line(variant.name)}, {runs}"
    for metric in comparison.values:
        if metric.metric not in _METRICS:
            continue
        yield f"  {plaintext.one_line(metric.subject)}, {metric.metric}:"
        for letter, mean in zip(LETTERS, metric.means, strict=False):
            if mean is not None:
                yield f"    {letter}      {_interval(mean.mean, mean.low, mean.high, metric.unit)}"
        for difference in metric.differences[1:]:
            if difference is not None:
                low, high = difference.low, difference.high
                text = _interval(difference.mean, low, high, metric.unit)
                yield f"    B - A  {text}, {difference.method}"


def _interval(mean: float | None, low: float | None, high: float | None, unit: str) -> str:
    if mean is None:
        return quantities.NO_VALUE
    if low is None or high is None:
        return f"{_quantity(mean, unit)} (no interval)"
    edges = ", ".join(quantities.quantity(edge, unit) for edge in (low, high))
    return f"{quantities.quantity(mean, unit)} [{edges}] {quantities.unit(unit)}".rstrip()


def _quantity(value: object, unit: str) -> str:
    return f"{quantities.quantity(value, unit)} {quantities.unit(unit)}".rstrip()
