"""The draft of a mail that states what one run or two show, with intervals if there are any."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from orchestrator import plaintext
from results.comparison.variants import VariantComparison
from results.experiment.model import HasInterval
from results.metrics import METRICS
from results.records.model import WHOLE
from results.store.stored import StoredRun
from results.wording import quantities
from results.wording.intervals import with_interval

LETTERS = "AB"
_METRICS = (
    "goodput_bps", "retransmitted_segments", "rtt_mean_s", "rtt_p95_s", "fct_mean_s", "loss_ratio",
)  # fmt: skip


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
    def is_of_a_tree(self) -> bool:
        """Whether the kernel's source was a path, which others do not have."""
        kernel = self.run.head.resolved.get("kernel")
        source = kernel.get("source") if isinstance(kernel, Mapping) else kernel
        return isinstance(source, str) and not source.replace(".", "").isdigit()

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
    yield from _set_up(first)
    yield ""
    yield from _differences(comparison) if comparison else _single(sides)
    yield ""
    yield "Each run is bit-identical when it is made again:"
    for side in sides:
        yield f"  {side.letter}: digest {side.run.row.digest}"
    yield ""
    yield "These runs, of the files in this folder:"
    yield f"  {command}"
    if any(side.is_of_a_tree for side in sides):
        yield "(--kernel names your tree in place of that of the file)"
    yield ""
    where = "Beside this file" if len(sides) == 1 else "In the folders A and B"
    of_tcp = any(flow.transport == "tcp" for flow in first.flows)
    more = "the text of ss and nstat every 50 ms and packets of TCP senders, " if of_tcp else ""
    text = (
        f"{where} are {more}intervals.txt, sysctls.json, kernel.json, kernel.config, set-up.yaml "
        "and figure.svg."
    )
    yield from textwrap.wrap(text, 72)


def _set_up(run: StoredRun) -> Iterator[str]:
    """Yield the flows, the links and the times of a run, and how far it can be trusted."""
    controls: dict[str, int] = {}
    for flow in run.flows:
        name = plaintext.one_line(flow.congestion_asked or flow.traffic)
        controls[name] = controls.get(name, 0) + 1
    flows = ", ".join(f"{count} x {name}" for name, count in controls.items())
    links = "; ".join(
        f"{queue.link}:{queue.direction} {queue.rate_bps / 1e6:g} Mbit/s, {queue.kind}"
        for queue in run.queues
        if queue.bottleneck and queue.role == "queue" and queue.rate_bps
    )
    rtts = sorted({round(flow.base_rtt_s * 1e3, 3) for flow in run.flows if flow.base_rtt_s})
    spread = f", base RTT {' to '.join(f'{rtt:g}' for rtt in (rtts[:1] + rtts[1:][-1:]))} ms"
    text = (
        f"{flows}; {links}{spread if rtts else ''}; {run.duration_s:g} s, the first "
        f"{run.warmup_s:g} s left out; emulation {run.row.verdict}."
    )
    yield from textwrap.wrap(plaintext.one_line(text), 72)


def _single(sides: Sequence[Side]) -> Iterator[str]:
    """Yield the flows' metrics of each run: one run has no interval."""
    yield "Without an interval, as there are no repetitions (`repetitions: 10`):"
    for side in sides:
        for flow, values in zip(side.run.flows, side.run.metrics()[WHOLE].flows, strict=True):
            yield f"  {side.letter} {plaintext.one_line(flow.name)}:"
            for name in _METRICS:
                if (name, "flow") not in METRICS:
                    continue
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
                yield f"    {letter}      {_interval(mean, metric.unit)}"
        for difference in metric.differences[1:]:
            if difference is not None:
                text = _interval(difference, metric.unit)
                yield f"    B - A  {text}, {difference.method}"


def _mean(value: float, unit: str) -> str:
    """Return a mean; that of a count has a decimal."""
    if unit in ("segments", "packets", "bytes"):
        return f"{value:.1f}"
    return quantities.quantity(value, unit)


def _interval(each: HasInterval, unit: str) -> str:
    if each.mean is None:
        return quantities.NO_VALUE
    text = f"{with_interval(each, partial(_mean, unit=unit))} {quantities.unit(unit)}".rstrip()
    return f"{text} (no interval)" if each.low is None else text


def _quantity(value: object, unit: str) -> str:
    return f"{quantities.quantity(value, unit)} {quantities.unit(unit)}".rstrip()
