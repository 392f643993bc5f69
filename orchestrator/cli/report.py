"""``orchestrator report``: a report of experiments as one HTML file and one PDF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli import _completion, _experiments, _options, _summary
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
    from results.observations import Wanted
    from results.report import Section, Table
    from results.statistics.drift import PARTS
    from results.summary import summarise

    document = summarise(store, experiment, Wanted(metrics, parts=PARTS))
    last = store.load(experiment.rows[-1].id)
    tables = [Table(*each) for each in _summary.tables(document)]
    pictures = [*_network(last.head.resolved, _variant(last.row))]
    pictures += _figures(store, experiment, last.head.scenario_text, metrics)
    return Section(
        title=experiment.label,
        question=last.head.description or f"The experiment {experiment.name}.",
        command=_command(experiment),
        tables=tables,
        pictures=pictures,
        notes=list(_summary.notes(document)),
        scenario=last.head.scenario_text,
        extra=[_fidelity(store, experiment), _provenance(experiment)],
    )


def _command(experiment: Experiment) -> str:
    runs = max(row.repetition for row in experiment.rows) + 1
    commit = (experiment.rows[-1].git_commit or "").removesuffix("+")
    where = f"git checkout {commit}\n" if commit else ""
    return f"{where}orchestrator run {experiment.name}.yaml --repetitions {runs}"


def _network(resolved: Any, title: str) -> Iterator[Picture]:
    """Yield the drawing of a run's network."""
    import json

    from orchestrator.files.temporary import temporary_folder
    from orchestrator.planning.drawing import draw
    from orchestrator.planning.plan import plan
    from orchestrator.scenario import load
    from results.report import Picture

    with temporary_folder("report") as folder:
        file = folder / "stored.yaml"  # JSON is YAML
        file.write_text(json.dumps(dict(resolved)), encoding="utf-8")
        try:
            network = plan(load(file)).runs[0].network
        except OrchestratorError:  # this version does not know the scenario of an earlier one
            return
    yield Picture("The network of the last run", draw(network, title).encode())


def _variant(row: RunRow) -> str:
    from results.axes import shown

    values = " ".join(f"{path}={shown(value)}" for path, value in row.variant.items())
    return f"{row.scenario}: {values}" if values else row.scenario


def _figures(
    store: Store, experiment: Experiment, scenario: str, metrics: Sequence[str]
) -> Iterator[Picture]:
    from results.figures import _style
    from results.figures._canvas import Canvas
    from results.figures._study import Study
    from results.report import Picture

    for spec in _named(scenario) or list(_default(experiment, metrics)):
        study = Study(store, experiment)

        def drawn(spec: FigureSpec = spec, study: Study = study) -> Canvas:
            canvas = Canvas(spec.width)
            spec.draw(canvas, study)
            return canvas

        with _style.applied():
            svg = drawn().content("svg")
        notes = f" ({'; '.join(study.notes)})" if study.notes else ""
        yield Picture(f"{spec.file}{notes}", svg, lambda drawn=drawn: drawn().figure)  # type: ignore[misc]


def _named(scenario: str) -> list[FigureSpec]:
    """Return the figures that the scenario names; none if this version does not know it."""
    from orchestrator.files.temporary import temporary_folder
    from orchestrator.scenario import load

    with temporary_folder("report") as folder:
        file = folder / "stored.yaml"
        file.write_text(scenario, encoding="utf-8")
        try:
            return list(load(file).scenario.figures)
        except OrchestratorError:
            return []


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

    last = experiment.rows[-1]
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
