"""``orchestrator report``: a report of experiments as one HTML file and one PDF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli import (
    _completion,
    _experiments,
    _options,
    _report,
    _stored_runs,
    _summary,
)
from orchestrator.errors import OrchestratorError, UsageError

if TYPE_CHECKING:
    from results.experiments import Experiment
    from results.figures import FigureSpec
    from results.model import RunRow
    from results.report import Picture, Section, Table
    from results.store import Store

NAMES = ("report.html", "report.pdf")


@click.command()
@click.argument(
    "experiments", metavar="EXPERIMENT|FILE...", nargs=-1, required=True,
    shell_complete=_completion.experiments_and_files,
)  # fmt: skip
@_options.database
@click.option(
    "-o", "--output", metavar="DIR", required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for report.html and report.pdf; it is made if it does not exist.",
)  # fmt: skip
@click.option(
    "--metric", "metrics", metavar="M", multiple=True, shell_complete=_completion.metrics,
    help="A column of the tables and a figure. Repeatable. Default: goodput_bps.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
def command(
    experiments: tuple[str, ...], db: Path, output: Path, metrics: tuple[str, ...], force: bool
) -> None:
    """Write a report: question, network, means, differences, figures, trust, and how to repeat it.

    Figures are those that the scenario names, or else each metric against each axis of numbers.

    \b
    orchestrator report bbr-vs-cubic -o report
    orchestrator report first.yaml second.yaml --metric goodput_bps --metric rtt_p95_s -o report
    """
    from results.export.base import write_all
    from results.report import html_page, pdf
    from results.store import Store

    chosen = metrics or (_DEFAULT_METRIC,)
    with Store.open_read_only(db) as store:
        found = [_experiments.find(store, text) for text in experiments]
        sections = [_section(store, each, chosen) for each in found]
        title = ", ".join(dict.fromkeys(each.name for each in found))
        page, document = html_page(title, sections), pdf(title, sections)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{output}: cannot be made: {error.strerror}") from None

    def write(drafts: Sequence[Path]) -> None:
        drafts[0].write_text(page, encoding="utf-8")
        drafts[1].write_bytes(document)

    write_all([output / name for name in NAMES], force, write)
    for name in NAMES:
        click.echo(output / name)


_DEFAULT_METRIC = "goodput_bps"


def _section(store: Store, experiment: Experiment, metrics: Sequence[str]) -> Section:
    from results.observations import ValueSelection
    from results.report import Section, Table
    from results.statistics.drift import PARTS
    from results.summary import summarise

    document = summarise(store, experiment, ValueSelection(metrics, parts=PARTS))
    last = store.load(experiment.newest.id)
    tables = [Table(*each) for each in _summary.tables(document)]
    pictures = [*_network(last.head.resolved, last.row)]
    pictures += _figures(store, experiment, last.head.scenario_text, metrics)
    return Section(
        title=experiment.label,
        question=last.head.description or f"The experiment {experiment.name}.",
        command=_command(experiment, last.head.scenario_text),
        tables=tables,
        pictures=pictures,
        notes=list(_summary.notes(document)),
        scenario=last.head.scenario_text,
        extra=[_fidelity(store, experiment), _provenance(experiment)],
    )


def _command(experiment: Experiment, scenario: str) -> str:
    """Return the commands that make the runs again, as far as what is stored says so."""
    last = experiment.newest
    commit = (last.git_commit or "").removesuffix("+")
    file = f"{last.scenario}.yaml"
    repetitions = max(row.repetition for row in experiment.rows) + 1
    lines = [f"git checkout {commit}"] if commit else []
    lines.append(f"# {file} is the scenario below")
    if not _is_whole(scenario, last):
        lines.append("# with --set and --reduced as the runs had them, or with its module's folder")
    lines.append(f"orchestrator run {file} --repetitions {repetitions}")
    lines.append(f"orchestrator run --verify {last.id}  # one stored run, compared to the bit")
    return "\n".join(lines)


def _is_whole(scenario: str, row: RunRow) -> bool:
    """Tell whether the scenario's text alone is the experiment of the run."""
    from orchestrator.files.temporary import temporary_folder
    from orchestrator.planning.identity import experiment_sha256
    from orchestrator.scenario import load

    with temporary_folder("report") as folder:
        file = folder / "stored.yaml"
        file.write_text(scenario, encoding="utf-8")
        try:
            return experiment_sha256(load(file)) == row.experiment_sha256
        except OrchestratorError:
            return False


def _network(resolved: Any, row: RunRow) -> Iterator[Picture]:
    """Yield the drawing of a run's network; none if this version refuses its scenario."""
    from results.drawing import draw
    from results.report import Picture

    try:
        network = _stored_runs.plan_resolved(resolved).runs[0].network
    except OrchestratorError:
        return
    values = _report.variant(row.variant)
    title = f"{row.scenario}: {values}" if values else row.scenario
    yield Picture("The network of the last run", draw(network, title).encode())


def _figures(
    store: Store, experiment: Experiment, scenario: str, metrics: Sequence[str]
) -> Iterator[Picture]:
    from orchestrator.scenario.figures import figures_of
    from results.figures import _style
    from results.figures._canvas import Canvas
    from results.figures._study import Study
    from results.report import Picture

    for spec in figures_of(scenario) or list(_default(experiment, metrics)):
        study = Study(store, experiment)

        def drawn(spec: FigureSpec = spec, study: Study = study) -> Canvas:
            canvas = Canvas(spec.width)
            spec.draw(canvas, study)
            return canvas

        with _style.applied():
            svg = drawn().content("svg")
        notes = f" ({'; '.join(study.notes)})" if study.notes else ""
        yield Picture(f"{spec.file}{notes}", svg, lambda drawn=drawn: drawn().figure)  # type: ignore[misc]


def _default(experiment: Experiment, metrics: Sequence[str]) -> Iterator[FigureSpec]:
    """Yield each metric against each axis of numbers."""
    from results.figures.metric import MetricFigure

    for axis in experiment.axes():
        if axis.numbers is not None and len(axis.values) > 1:
            for name in metrics:
                yield MetricFigure.model_validate(
                    {"kind": "metric", "metric": name, "by": axis.path,
                     "file": f"{name}-{axis.label}.svg"}
                )  # fmt: skip


def _fidelity(store: Store, experiment: Experiment) -> Table:
    """Return verdicts, and the checks that failed or were not measured."""
    from results.report import Table

    rows: dict[tuple[str, str], int] = {}
    for row in experiment.rows:
        verdict = row.verdict or row.status
        wrong = [each.name for each in store.load(row.id).checks if each.ok is not True]
        for name in wrong or ["all checks passed" if row.verdict else "no checks"]:
            rows[verdict, name] = rows.get((verdict, name), 0) + 1
    lines = [[verdict, name, str(count)] for (verdict, name), count in sorted(rows.items())]
    return Table("Fidelity", ("verdict", "check that did not pass", "runs"), lines)


def _provenance(experiment: Experiment) -> Table:
    from results.report import Table

    last = experiment.newest
    lines = [
        ("identity", experiment.identity),
        ("back end", last.backend),
        ("kernel", last.kernel or "-"),
        ("link model", str(last.link_model)),
        ("digest version", str(last.digest_version)),
        ("git commit", last.git_commit or "-"),
        ("runs", f"{len(experiment.rows)}, from {experiment.rows[0].started_utc}"),
        *((f"module {name}", sha256) for name, sha256 in sorted(experiment.modules.items())),
    ]
    return Table("Provenance", ("what", "value"), lines)
