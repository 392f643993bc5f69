"""Writes the results of a kernel's own tests as TAP and as JUnit's XML.

TAP is version 13, as kselftest prints it: what a test prints comes before its line, which has the
directives of TAP. SKIP is a test that lacks something, TODO a failure that is known. The XML has
what readers of JUnit's share: https://github.com/testmoapp/junitxml.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from orchestrator import plaintext
from orchestrator.execution.kernel_tests.model import Outcome, OwnResults, Result

_LINES = 20
"""Lines of a test's output that are shown, from its end."""


def tap_head(number: int) -> list[str]:
    """Return the first lines of TAP for so many tests."""
    return ["TAP version 13", f"1..{number}"]


def tap_lines(number: int, result: Result) -> Iterator[str]:
    """Yield the lines of a test; of one that did not end well also the end of what it printed."""
    if result.outcome in (Outcome.FAILED, Outcome.TIMEOUT):
        yield from (f"# {plaintext.one_line(line)}" for line in _end_of(result.output))
    name = plaintext.one_line(result.name).replace("#", r"\#")
    why = plaintext.one_line(result.why)
    match result.outcome:
        case Outcome.OK:
            yield f"ok {number} {name}"
        case Outcome.LACKING:
            yield f"ok {number} {name} # SKIP {why}"
        case Outcome.KNOWN:
            yield f"not ok {number} {name} # TODO {why}"
        case Outcome.TIMEOUT:
            yield f"not ok {number} {name} # TIMEOUT {why}"
        case Outcome.FAILED:
            yield f"not ok {number} {name} # {why}"


def tap(tested: OwnResults) -> str:
    """Return all results as TAP."""
    lines = tap_head(len(tested.results))
    for number, result in enumerate(tested.results, start=1):
        lines += tap_lines(number, result)
    return "".join(f"{line}\n" for line in lines)


def junit(tested: OwnResults) -> str:
    """Return all results as XML: a suite with a case for each test."""
    counts = {
        "tests": len(tested.results),
        "failures": len(tested.unexpected),
        "skipped": len(tested.of(Outcome.LACKING, Outcome.KNOWN)),
    }
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": f"Linux {plaintext.one_line(tested.release)}",
            **{name: str(count) for name, count in counts.items()},
            "time": f"{sum(one.wall_s for one in tested.results):.3f}",
        },
    )
    for result in tested.results:
        _case(suite, result)
    ElementTree.indent(suite)
    text = ElementTree.tostring(suite, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _case(suite: ElementTree.Element, result: Result) -> None:
    folder, _, name = plaintext.one_line(result.name).rpartition("/")
    attributes = {"classname": folder, "name": name, "time": f"{result.wall_s:.3f}"}
    case = ElementTree.SubElement(suite, "testcase", attributes)
    why = plaintext.one_line(result.why)
    if result.outcome in (Outcome.FAILED, Outcome.TIMEOUT):
        kind = {"message": why, "type": result.outcome.value}
        ElementTree.SubElement(case, "failure", kind)
    elif result.outcome is not Outcome.OK:
        known = "known: " if result.outcome is Outcome.KNOWN else ""
        ElementTree.SubElement(case, "skipped", {"message": f"{known}{why}"})
    if result.output:
        ElementTree.SubElement(case, "system-out").text = plaintext.visible(result.output)


def _end_of(output: str) -> Sequence[str]:
    lines = output.splitlines()
    left_out = len(lines) - _LINES
    first = [f"[... {left_out} lines before ...]"] if left_out > 0 else []
    return [*first, *lines[-_LINES:]]
