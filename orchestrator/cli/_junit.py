"""Writes runs as a JUnit XML report, for continuous integration servers."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator import plaintext
from orchestrator.cli import _expectations, _report
from orchestrator.errors import UsageError
from orchestrator.files.user_files import FileError, require_regular


def require_writable(path: Path) -> None:
    """Raise UsageError unless a report can be written there; called before anything runs."""
    try:
        require_regular(path)
    except FileError as error:
        raise UsageError(f"--junit: {error}") from None
    folder = path.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"--junit {path}: there is no folder {folder}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise UsageError(f"--junit {path}: cannot be written")


def write(document: Mapping[str, Any], path: Path) -> None:
    """Write a test case for each run and each expectation of a variant.

    That of a run fails when the run failed or was unfaithful.

    Raises:
        UsageError: the file cannot be written.
    """
    runs, expectations = document["runs"], document.get("expectations", [])
    unmet = sum(not each["met"] for each in expectations)
    suite = ET.Element(
        "testsuite",
        name=_clean(document["scenario"] or "orchestrator"),
        tests=str(len(runs) + len(expectations)),
        errors="0",
        failures=str(sum(_failure(run) is not None for run in runs) + unmet),
        skipped="0",
        time=_seconds(sum(run["wall_s"] or 0.0 for run in runs)),
    )
    for run in runs:
        name = f"{_report.variant(run['variant'])} repetition {run['repetition']}".strip()
        case = ET.SubElement(
            suite,
            "testcase",
            classname=suite.get("name", ""),
            name=_clean(name),
            time=_seconds(run["wall_s"] or 0.0),
        )
        failure = _failure(run)
        if failure is not None:
            kind, detail = failure
            ET.SubElement(case, "failure", type=kind, message=_clean(detail.partition("\n")[0]))
            case[0].text = _clean(f"run {run['id']}\n{detail}")
    for each in expectations:
        _add_expectation(suite, each)
    tree = ET.ElementTree(suite)
    ET.indent(tree)
    try:
        tree.write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise UsageError(f"--junit {path}: cannot be written: {error.strerror}") from error


def _failure(run: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the kind and the text of a run's failure, or None."""
    if run["status"] != "ok":
        return str(run["status"]), str(run["error"] or run["status"])
    if run["fidelity"]["verdict"] != "unfaithful":
        return None
    failed = [
        f"{check['name']}: expected {check['expected']}, measured {check['measured']} "
        f"{check['unit']} (tolerance {check['tolerance']})"
        for check in run["fidelity"]["checks"]
        if check["ok"] is False
    ]
    return "unfaithful", "\n".join([_report.outcome(run), *failed])


def _clean(text: str) -> str:
    """Return the text without characters that XML 1.0 cannot hold even escaped (section 2.2)."""
    return plaintext.visible(text)


def _seconds(time_s: float) -> str:
    return f"{time_s:.3f}"


def _add_expectation(suite: ET.Element, each: Mapping[str, Any]) -> None:
    name = f"{_report.variant(each['variant'])} expect {each['expectation']}".strip()
    case = ET.SubElement(
        suite, "testcase", classname=suite.get("name", ""), name=_clean(name), time="0"
    )
    if not each["met"]:
        failure = ET.SubElement(case, "failure", type="expectation", message=_clean(each["reason"]))
        failure.text = _clean(f"measured {_expectations.measured(each)}")
