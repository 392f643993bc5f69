"""Writes runs as a JUnit XML report, for continuous integration servers."""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator import plaintext
from orchestrator.cli.render import expectation_text, run_text
from orchestrator.errors import UsageError
from orchestrator.files.system_errors import unwritable
from orchestrator.files.user_files import FileError, require_regular
from results.wording import variant_names

if TYPE_CHECKING:
    from orchestrator.application.outcomes import ScenarioOutcome
    from results.experiment.expectations import ExpectationResult
    from results.runs.model import RunResult


def require_writable(path: Path, option: str = "--junit") -> None:
    """Raise UsageError unless a report can be written there; called before anything runs."""
    try:
        require_regular(path)
    except FileError as error:
        raise UsageError(f"{option}: {error}") from None
    folder = path.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {folder}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise UsageError(f"{option} {path}: cannot be written")


def write(outcomes: Sequence[ScenarioOutcome], path: Path) -> None:
    """Write a test case for each run and each expectation of a variant.

    That of a run fails when the run failed or was unfaithful. Several scenarios are several test
    suites. A scenario that an error kept from being run is a test case with that error.

    Raises:
        UsageError: the file cannot be written.
    """
    suites = [_suite(outcome) for outcome in outcomes]
    root = suites[0]
    if len(suites) > 1:
        root = ET.Element("testsuites")
        root.extend(suites)
    tree = ET.ElementTree(root)
    ET.indent(tree)
    try:
        tree.write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise unwritable(f"--junit {path}", error) from error


def _suite(outcome: ScenarioOutcome) -> ET.Element:
    """Return the test suite of a scenario."""
    runs, expectations = outcome.runs, outcome.expectations or ()
    unmet = sum(not expectation.met for expectation in expectations)
    suite = ET.Element(
        "testsuite",
        name=plaintext.one_line(outcome.scenario or "orchestrator"),
        tests=str(len(runs) + len(expectations) + bool(outcome.error)),
        errors=str(int(bool(outcome.error))),
        failures=str(sum(_failure(run) is not None for run in runs) + unmet),
        skipped="0",
        time=_seconds(sum(run.row.wall_s or 0.0 for run in runs)),
    )
    for run in runs:
        name = f"{variant_names.one_line(run.row.variant)} repetition {run.row.repetition}".strip()
        case = ET.SubElement(
            suite,
            "testcase",
            classname=suite.get("name", ""),
            name=plaintext.one_line(name),
            time=_seconds(run.row.wall_s or 0.0),
        )
        failure = _failure(run)
        if failure is not None:
            kind, detail = failure
            ET.SubElement(
                case, "failure", type=kind, message=plaintext.one_line(detail.partition("\n")[0])
            )
            case[0].text = _clean(f"run {run.row.id}\n{detail}")
    for expectation in expectations:
        _add_expectation(suite, expectation)
    if outcome.error:
        case = ET.SubElement(suite, "testcase", classname=suite.get("name", ""), name="run")
        ET.SubElement(case, "error", type="error", message=plaintext.one_line(outcome.error))
    return suite


def _failure(run: RunResult) -> tuple[str, str] | None:
    """Return the kind and the text of a run's failure, or None."""
    if run.row.status != "ok":
        return run.row.status, run.row.error or run.row.status
    if run.row.verdict != "unfaithful":
        return None
    failed = [
        f"{check.name}: expected {_known(check.expected)}, measured {_known(check.measured)} "
        f"{check.unit} (tolerance {_known(check.tolerance)})"
        for check in run.checks
        if check.ok is False
    ]
    return "unfaithful", "\n".join([run_text.outcome(run), *failed])


def _known(value: float | str | None) -> float | str | None:
    """Return a value of a check, None for a number that is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _clean(text: str) -> str:
    """Return the text without characters that XML 1.0 cannot hold even escaped (section 2.2)."""
    return plaintext.visible(text)


def _seconds(time_s: float) -> str:
    return f"{time_s:.3f}"


def _add_expectation(suite: ET.Element, each: ExpectationResult) -> None:
    name = f"{variant_names.one_line(each.variant)} expect {each.expectation}".strip()
    case = ET.SubElement(
        suite, "testcase", classname=suite.get("name", ""), name=plaintext.one_line(name), time="0"
    )
    if each.reason is not None:
        failure = ET.SubElement(
            case, "failure", type="expectation", message=plaintext.one_line(each.reason)
        )
        failure.text = _clean(f"measured {expectation_text.measured(each)}")
