"""Prints the verdicts on papers' statements, and writes summaries and figures of them.

The JSON contract of a plan (``--plan``)::

    {"schema": 1, "experiments": [
       {"paper", "experiment", "ablation": null or NAME, "scenario", "variants", "least", "most",
        "minutes_least", "minutes_most", "missing", "minutes_missing",
        "estimated_from": null or {"source", "runs"}}]}

``least`` and ``most`` are repetitions of each variant: those made at first, and those that
undecided rows may ask for. Of the first, ``missing`` counts the runs that are not stored.
``estimated_from`` is as in ``plan --json``: that of the least certain estimate of the variants, and
null if no variant is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli import _claim_runs, _estimates, _options, _output
from orchestrator.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.planning.learning import Estimator
    from results.claims.model import Length, Paper, Statement
    from results.claims.record import Part


def show_plan(
    experiments: _claim_runs.ClaimExperiments,
    ablations: Iterable[tuple[str, _claim_runs.ClaimExperiments]],
    db: Path,
    as_json: bool,
) -> None:
    """Print the runs of each experiment at first, and the most that undecided rows can ask for.

    ``ablations`` has the name and the experiments of each. The store says which runs it has, and
    how long earlier ones took.
    """
    every: list[tuple[str | None, _claim_runs.ClaimExperiment]] = [
        (None, one) for one in experiments.values()
    ]
    every += [(name, experiment) for name, ablated in ablations for experiment in ablated.values()]
    missing = _claim_runs.missing([experiment for _name, experiment in every], db)
    estimator = _estimates.estimator(db)
    found = [
        _planned(experiment, name, lacking, estimator)
        for (name, experiment), lacking in zip(every, missing, strict=True)
    ]
    if as_json:
        _output.print_json({"schema": 1, "experiments": found})
    else:
        _print_planned(found)


def _print_planned(found: Sequence[Mapping[str, Any]]) -> None:
    headings = ["paper", "scenario", "variants", "repetitions", "minutes", "at most", "missing",
                "earlier runs"]  # fmt: skip
    rows = [
        [
            each["paper"],
            f"{each['scenario']} ({each['ablation']})" if each["ablation"] else each["scenario"],
            str(each["variants"]),
            str(each["least"]), f"{each['minutes_least']:.1f}", f"{each['minutes_most']:.1f}",
            str(each["missing"]), _estimates.brief(each["estimated_from"]),
        ]
        for each in found
    ]  # fmt: skip
    out = _output.console()
    out.print(_output.table(headings, rows, right=range(2, len(headings) - 1)))
    keys = ("minutes_least", "minutes_most", "missing", "minutes_missing")
    total, most, runs, rest = (sum(each[key] for each in found) for key in keys)
    out.print(f"about {total:.0f} min with one job, {most:.0f} min at most", markup=False)
    if runs:
        are = "is" if runs == 1 else "are"
        missing = f"{_output.plural(runs, 'run')} {are} not stored yet: about {rest:.0f} min"
    else:
        missing = "all runs that are made at first are stored"
    out.print(missing, markup=False)


def _planned(
    experiment: _claim_runs.ClaimExperiment,
    ablation: str | None,
    missing: Mapping[int, int],
    estimator: Estimator,
) -> dict[str, Any]:
    """Return an experiment with its runs; ``missing`` has those of each variant."""
    from orchestrator.planning.learning import least_certain

    design = experiment.design.at(experiment.length)
    once = experiment.estimates(experiment.needed, estimator)
    once_s = sum(each.wall_s for each in once.values())
    missing_s = sum(number * once[index].wall_s for index, number in missing.items())
    return {
        "paper": experiment.paper,
        "experiment": experiment.name,
        "ablation": ablation,
        "scenario": experiment.design.scenario,
        "variants": len(experiment.needed),
        "least": design.least,
        "most": experiment.limit,
        "minutes_least": round(once_s * design.least / 60, 1),
        "minutes_most": round(once_s * experiment.limit / 60, 1),
        "missing": sum(missing.values()),
        "minutes_missing": round(missing_s / 60, 1),
        "estimated_from": least_certain(once.values()).origin if once else None,
    }


def show(found: Mapping[str, Any]) -> None:
    """Print a table of each claim, its statements' verdicts, and what deciding would cost."""
    out = _output.console()
    claims: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for each in found["statements"]:
        claims.setdefault((each["paper"], each["claim"]), []).append(each)
    for of in found["verdicts"]:
        statements = claims[of["paper"], of["id"]]
        out.print(f"{of['paper']} {of['id']}: {of['verdict']}. {of['says']}", markup=False)
        rows = [line for each in statements for line in _lines(each)]
        headings = ["id", "", "paper", "here", "runs", "verdict"]
        out.print(_output.table(headings, rows, right=(4,)))
        for each in statements:
            for note in _notes(each, found["length"]):
                out.print(f"{each['id']}: {note}", markup=False)
        out.print()
    counts = [each["verdict"] for each in found["statements"]]
    words = ", ".join(f"{counts.count(one)} {one}" for one in dict.fromkeys(sorted(counts)))
    out.print(f"{_output.plural(len(counts), 'statement')}: {words}", markup=False)
    if found["length"] == "reduced":
        out.print("the reduced length only tries the runs: its verdicts mean nothing", markup=False)


def _lines(statement: Mapping[str, Any]) -> Iterable[list[str]]:
    """Yield the cells of a statement's own line and of its rows; of one row only one line."""
    from results.claims.judge import mean_with_interval

    rows = statement["rows"]
    says = f"{statement['says']} ({statement['place']})"
    if len(rows) != 1:
        yield [statement["id"], says, "", "", "", statement["verdict"]]
    for row in rows:
        label = row["label"] or says
        if len(rows) == 1 and row["label"]:
            label = f"{says} {row['label']}"
        yield [
            statement["id"] if len(rows) == 1 else "",
            label if len(rows) == 1 else f"  {label}",
            f"{row['paper']} {statement['unit']}".strip(),
            mean_with_interval(row["mean"], row["low"], row["high"], row["n"], row["accepted"]),
            str(row["n"]),
            row["verdict"],
        ]


def _notes(statement: Mapping[str, Any], length: Length) -> Iterable[str]:
    if statement["cannot"]:
        yield f"cannot be tested here: {statement['cannot']}"
        return
    if statement["in_part"]:
        yield f"testable in part: {statement['in_part']}"
    if statement["cause"]:
        yield f"cause: {statement['cause']}"
    if statement["absent"]:
        places = _output.plural(statement["absent"], "place")
        yield f"{places} not tested at this length"
    unfaithful, failed = (
        sum(row["left_out"][kind] for row in statement["rows"]) for kind in ("unfaithful", "failed")
    )
    if unfaithful or failed:
        yield f"left out: {unfaithful} unfaithful and {failed} failed values"
    cost = statement["cost"]
    if cost is not None and (length != "reduced" or "length" in cost):
        yield _cost(statement, cost)
    yield f"{_options.program()}{statement['command'].removeprefix('orchestrator')}"


def _cost(statement: Mapping[str, Any], cost: Mapping[str, Any]) -> str:
    if "length" in cost:
        command = statement["command"].rpartition(" --")[0]
        return (
            f"not part of this length; {command} --full makes {cost['runs']} runs in about "
            f"{cost['minutes']:.0f} min"
        )
    if cost["runs"] is None:
        return "undecided: a mean is at the edge of what is accepted, and no number of runs decides"
    runs = _output.plural(cost["runs"], "more run")
    most = max(row["needed"] or 0 for row in statement["rows"])
    return (
        f"undecided: about {runs} would decide, {cost['minutes']:.1f} min with one job "
        f"(--most {most})"
    )


def draw(found: Mapping[str, Any], folder: Path) -> None:
    """Draw each statement that has values as SVG, the paper's numbers beside ours.

    Raises:
        UsageError: a file cannot be written.
    """
    from results.claims.figure import figure

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for each in found["statements"]:
            if any(row["mean"] is not None for row in each["rows"]):
                file = folder / f"{each['paper']}-{each['id']}-{found['length']}.svg"
                file.write_bytes(figure(each))
                click.echo(f"{file}", err=True)
    except OSError as error:
        raise UsageError(f"--figures {folder}: cannot be written: {error.strerror}") from None


def _whole(paper: Paper, claim: str, chosen: Iterable[Statement]) -> bool:
    there = {each.id for each in chosen}
    return all(each.id in there for each in paper.claims[claim].statements)


def write(
    found: Mapping[str, Any],
    outcomes: Sequence[_claim_runs.Outcome],
    papers: Mapping[str, Paper],
    folder: Path,
) -> None:
    """Write a summary of each claim that has values, as PAPER-CLAIM-LENGTH.json.

    Of a claim that was chosen in part, each statement has one, as PAPER-STATEMENT-LENGTH.json.

    Raises:
        UsageError: a file cannot be written.
    """
    from results.claims import record

    length = found["length"]
    for (name, claim), every in _claim_runs.by_claim(outcomes).items():
        whole = _whole(papers[name], claim, [each.statement for each in every])
        for group in [every] if whole else [[each] for each in every]:
            one = None if whole else group[0].statement.id
            made, designs = parts(group), papers[name].experiments
            text = record.text(name, claim, length, made, designs, statement=one)
            write_file(folder / f"{name}-{one or claim}-{length}.json", text, made)


def parts(outcomes: Iterable[_claim_runs.Outcome]) -> list[Part]:
    """Return statements with their rows, as a summary has them."""
    return [
        (each.statement, [(row.row, row.series, row.least) for row in each.rows])
        for each in outcomes
    ]


def write_file(file: Path, text: str, made: Iterable[Part]) -> None:
    """Write a summary if it has values.

    Raises:
        UsageError: the file cannot be written.
    """
    if not any(series.values for _statement, rows in made for _row, series, _least in rows):
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--write: {file} cannot be written: {error.strerror}") from None
    click.echo(f"{file}", err=True)
