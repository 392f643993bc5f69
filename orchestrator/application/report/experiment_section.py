"""A report's section: one experiment, from its stored runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from orchestrator.application import stored_plans
from orchestrator.application.report import section_differences, section_figures, section_tables
from orchestrator.application.report.section_commands import commands
from orchestrator.errors import OrchestratorError, UsageError
from results.drawing import draw_figure
from results.experiment.model import Comparison, Crossing, Summary
from results.experiment.observations import ValueSelection
from results.experiment.summary import summarise
from results.figures import _labels
from results.matrix.axes import key
from results.report import LabelledValue, Picture, Section, Table
from results.statistics.drift import PARTS
from results.wording import endings, quantities, summary_tables, variant_names
from results.wording.check_words import check_words, outcome_words

if TYPE_CHECKING:
    from orchestrator.application.report.section_figures import ReportSelection
    from results.experiment.experiments import Experiment
    from results.records.model import RunRow
    from results.store.store import Store
    from results.store.stored import StoredRun

MOST_FINDINGS = 6


def section(store: Store, experiment: Experiment, selection: ReportSelection) -> Section:
    """Return the section of an experiment.

    Raises:
        UsageError: the experiment has no such axis, flow entry or metric, or no variant fits.
    """
    by = (selection.by,) if selection.by is not None else ()
    try:
        rows = selection.rows(experiment)
        metrics = selection.columns(rows)
        chosen = ValueSelection(
            metrics, where=selection.where, entries=selection.flows, parts=PARTS
        )
        summary = summarise(store, experiment, chosen, by)
    except UsageError as error:
        raise UsageError(f"{experiment.label}: {error}") from None
    last = store.load(rows[-1].id)
    figures, not_drawn = section_figures.pictures(
        store, experiment, last.head.scenario_text, selection
    )
    return Section(
        title=experiment.name,
        label=experiment.label,
        question=last.head.description or f"The experiment {experiment.name}.",
        facts=list(_facts(summary, rows, selection)),
        findings=list(_findings(summary)),
        network=list(_network(last)),
        setup=list(section_tables.flows(last.flows, last.entries)),
        results=[*figures, *_tables(summary, experiment, metrics, selection)],
        notes=[*_notes(summary), *_failures(store, rows), *not_drawn],
        methods=list(_methods(summary, metrics)),
        trust=[_fidelity(store, rows)],
        provenance=list(_provenance(experiment, rows)),
        command=commands(experiment, last),
        scenario=last.head.scenario_text,
    )  # fmt: skip


def _tables(
    summary: Summary, experiment: Experiment, metrics: Sequence[str], selection: ReportSelection
) -> Iterator[Table]:
    """Yield the tables of results. What they leave out is what a command prints."""
    yield from section_tables.means(
        summary, metrics, selection.command(experiment, metrics, "--csv")
    )
    yield from section_differences.differences(
        summary,
        {name: selection.command(experiment, [name], "--csv-differences") for name in metrics},
    )
    yield from section_differences.crossings(
        summary, selection.command(experiment, metrics, "--json")
    )


def _facts(
    summary: Summary, rows: Sequence[RunRow], selection: ReportSelection
) -> Iterator[LabelledValue]:
    yield LabelledValue("Runs", _counts(rows))
    for axis in section_tables.varying(summary):
        yield LabelledValue(_labels.axis_title(axis), ", ".join(_labels.value_texts(axis.values)))
    repetitions = len({row.repetition for row in rows})
    often = f"; {repetitions} repetitions" if repetitions > 1 else "; a single run of each variant"
    lengths = sorted({(row.duration_s, row.warmup_s) for row in rows})
    lengths_text = [f"{length:g} s, without the first {warmup:g} s" for length, warmup in lengths]
    yield LabelledValue("Length", f"{'; or '.join(lengths_text)}{often}")
    if selection.where:
        yield LabelledValue("Only where", " and ".join(selection.where))
    if selection.flows:
        yield LabelledValue("Only flows", ", ".join(selection.flows))


def _counts(rows: Sequence[RunRow]) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        state = (row.verdict or row.status) if row.status == "ok" else row.status
        counts[state] = counts.get(state, 0) + 1
    if len(counts) == 1:
        return f"{len(rows)} {next(iter(counts))}"
    listed = ", ".join(f"{count} {state}" for state, count in counts.items())
    return f"{len(rows)}: {listed}"


def _findings(summary: Summary) -> Iterator[str]:
    """Yield the sentences that answer the question: who is higher where, and where it turns."""
    sentences = [*_compared(summary), *_turns(summary)]
    yield from sentences[:MOST_FINDINGS]
    if len(sentences) > MOST_FINDINGS:
        more = len(sentences) - MOST_FINDINGS
        are = "is" if more == 1 else "are"
        yield f"{quantities.plural(more, 'more comparison')} {are} in the tables."


def _compared(summary: Summary) -> Iterator[str]:
    """Yield what the differences show; of those of many variants, in how many they show it.

    Comparisons that show a difference in a variant come first.
    """
    too_few = False
    shown: list[str] = []
    undecided: list[str] = []
    groups: dict[tuple[str, str | None, str | None, str, str], list[Comparison]] = {}
    for difference in summary.differences:
        compared = (difference.metric, difference.axis, difference.flow, difference.a, difference.b)
        groups.setdefault(compared, []).append(difference)
    names = {axis.path: _labels.axis_words(axis) for axis in summary.axes}
    units = summary_tables.units_of(summary)
    for (metric, axis, _flow, a, b), group in groups.items():
        whose = section_differences.whose(group[0])
        name = _labels.in_sentence(metric) + (f" of {whose}" if whose else "")
        first, second = b, a
        if axis:
            value_names = section_tables.value_words(summary, axis)
            first, second = (f"{names[axis]} {value_names[side]}" for side in (b, a))
        if len(group) == 1:
            unit = units[metric]
            text = summary_tables.family_interval(group[0], unit) + (
                f" {unit.name}" if unit.name else ""
            )
            single = group[0].low_family is None
            sure = "" if single or group[0].sign else ": no difference is shown"
            runs = " in a single run" if single else ""
            sentence = f"{first} − {second}, {name}: {text}{runs}{sure}."
        elif any(difference.low_family is not None for difference in group):
            sentence = _counted(first, second, name, [difference.sign for difference in group])
        else:
            too_few = True
            continue
        (shown if any(difference.sign for difference in group) else undecided).append(sentence)
    yield from (*shown, *undecided)
    if too_few:
        yield "Too few repetitions to tell differences: --repetitions N makes more."


def _counted(first: str, second: str, what: str, signs: Sequence[int]) -> str:
    """Return in how many variants the first is higher, and lower, than the second."""
    higher, lower, number = signs.count(1), signs.count(-1), len(signs)
    if higher + lower == 0:
        return (
            f"In none of {number} variants is a difference in {what} shown between {first} and "
            f"{second}."
        )
    parts = [
        f"a {word} {what} than {second} in {count}"
        for word, count in (("higher", higher), ("lower", lower))
        if count
    ]
    rest = number - higher - lower
    open_ = f"; in {rest} no difference is shown" if rest else ""
    return f"Of {number} variants, {first} has {' and '.join(parts)}{open_}."


def _turns(summary: Summary) -> Iterator[str]:
    """Yield where two flow entries change places; several places of one kind in one sentence."""
    axes = {axis.path: axis for axis in summary.axes}
    groups: dict[tuple[str, str, str, str], list[Crossing]] = {}
    for crossing in summary.crossings:
        if crossing.mean is not None and 2 * crossing.n > crossing.of:
            turned = (crossing.metric, crossing.axis, crossing.a, crossing.b)
            groups.setdefault(turned, []).append(crossing)
    for (metric, path, a, b), crossings in groups.items():
        unit = summary_tables.fixed(axes[path].unit or "1")
        if len(crossings) == 1:
            at = summary_tables.interval(crossings[0], unit)
        else:
            places = sorted(
                crossing.mean / unit.scale for crossing in crossings if crossing.mean is not None
            )
            at = f"{places[0]:.3g} to {places[-1]:.3g}"
        at += f" {unit.name}" if unit.name else ""
        others = (
            f", depending on the other axes ({len(crossings)} places)" if len(crossings) > 1 else ""
        )
        yield (
            f"{a} and {b} change places in {_labels.in_sentence(metric)} at a "
            f"{_labels.axis_words(axes[path])} of {at}{others}."
        )


def _notes(summary: Summary) -> Iterator[str]:
    """Yield the notes of a summary as sentences, with the words for metrics."""
    named = {name for row in summary.rows for name in row.metrics}
    names = {name for name in (*named, *summary.without_values) if "_" in name}
    known = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in sorted(names)) or r"(?!)")
    for note in summary_tables.notes(section_tables.in_words(summary)):
        yield _sentence(known.sub(lambda match: _labels.in_sentence(match[0]), note))


def _failures(store: Store, rows: Sequence[RunRow]) -> Iterator[str]:
    """Yield a sentence for each variant in which the network ended flows."""
    by_variant: dict[str, list[RunRow]] = {}
    for row in rows:
        if row.counts:
            by_variant.setdefault(key(dict(row.variant)), []).append(row)
    for of_variant in by_variant.values():
        said = endings.failures([store.load(row.id).flows for row in of_variant])
        if said is not None:
            values = _labels.variant_words(of_variant[0].variant)
            yield _sentence(f"with {values}, {said}" if values else said)


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}{'' if note.endswith('.') else '.'}"


def _methods(summary: Summary, metrics: Sequence[str]) -> Iterator[str]:
    yield (
        "Each run emulates the network with a real Linux TCP stack and measures its own emulation. "
        "Runs that are unfaithful or failed are left out of all means, and counted."
    )
    if any(row.n > 1 for row in summary.rows):
        yield (
            "A mean is over the repetitions of a variant, each with its own seed; a flow entry's "
            "value in a run is the mean over its flows. Intervals are Student's 95% confidence "
            "intervals over runs. A ~ marks a mean that still drifts within its window."
        )
    if any(difference.low_family is not None for difference in summary.differences):
        yield (
            "Differences are taken between values of the same seed where there are any. Their "
            "intervals, results and p values hold for all comparisons of a table together."
        )
    yield from section_tables.metric_definitions(metrics)


def _network(run: StoredRun) -> Iterator[Picture]:
    """Yield the drawing of a run's network; none if this version refuses its scenario."""
    try:
        network = stored_plans.plan_stored(run).runs[0].network
    except OrchestratorError:
        return
    row = run.row
    values = variant_names.one_line(row.variant, variant_names.short_names([row.variant]))
    title = f"{row.scenario}: {values}" if values else row.scenario
    label = f", with {_labels.variant_words(row.variant)}" if values else ""
    yield Picture(
        f"The network{label}. Thick lines are bottlenecks; times are one-way delays.",
        "network.svg",
        draw_figure(network, title).encode(),
    )


def _fidelity(store: Store, rows: Sequence[RunRow]) -> Table:
    """Return verdicts, and the checks that failed or were not measured."""
    counts: dict[tuple[str, str, str], int] = {}
    for row in rows:
        verdict = row.verdict or row.status
        wrong = [
            (check_words(check.name), outcome_words(check.ok, check.measured).lower())
            for check in store.load(row.id).checks
            if check.ok is not True
        ]
        for what in wrong or [("all checks passed" if row.verdict else "no checks", "")]:
            counts[verdict, *what] = counts.get((verdict, *what), 0) + 1
    lines = [[*what, str(count)] for what, count in sorted(counts.items())]
    caption = "Verdicts on the emulation, and the checks that did not pass."
    headings = ("Verdict", "Check that did not pass", "Outcome", "Runs")
    return Table(caption, headings, lines).without_empty_columns()


def _provenance(experiment: Experiment, rows: Sequence[RunRow]) -> Iterator[LabelledValue]:
    last = rows[-1]
    yield LabelledValue("Identity", experiment.identity)
    yield LabelledValue("Back end", last.backend)
    releases = dict.fromkeys(row.kernel for row in rows if row.kernel)
    yield LabelledValue("Kernel", ", ".join(releases) or "-")
    versions = f"link model {last.link_model}, digest version {last.digest_version}"
    yield LabelledValue("Versions", versions)
    yield LabelledValue("Git commit", last.git_commit or "-")
    yield LabelledValue("First, last run", f"{rows[0].started_utc}, {last.started_utc}")
    for named, modules in sorted(experiment.modules.items()):
        where = f" with {named}" if named else ""
        for name, sha256 in sorted(modules.items()):
            yield LabelledValue(f"Module {name}{where}", sha256)
