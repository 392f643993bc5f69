"""Takes numbers out of what a program has printed, by regular expressions.

The test bed does this, and not the controller: it has the whole output, and a pattern that takes
for ever hurts its run alone.
"""

from __future__ import annotations

import math
import re

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterable, Mapping

    from orchestrator.protocol.engine_parameters import ExtractionSpec
    from orchestrator.protocol.reports.program_facts import ExtractedValue

MOST_LINE = 4096
"""Characters of a line; the rest of a longer one is not looked at."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_LINE_END = re.compile(r"[\r\n]+")


def lines(printed: bytes) -> list[str]:
    """Return the lines of an output, also those that a carriage return ends."""
    text = printed.decode("utf-8", "backslashreplace")
    return [line[:MOST_LINE] for line in _LINE_END.split(text) if line]


def extracted(
    outputs: Mapping[str, bytes], wanted: Mapping[str, ExtractionSpec]
) -> dict[str, ExtractedValue]:
    """Return each wanted number by its name.

    Args:
        outputs: what the program has printed, by the name of the stream.
        wanted: the patterns by the names of the numbers.
    """
    by_stream = {stream: lines(printed) for stream, printed in outputs.items()}
    return {name: _taken(by_stream[one["stream"]], one) for name, one in wanted.items()}


def _taken(printed: Iterable[str], one: ExtractionSpec) -> ExtractedValue:
    """Return what a pattern gives on these lines."""
    pattern = re.compile(one["pattern"])
    matches = numbers = 0
    first = last = total = 0.0
    least, most = math.inf, -math.inf
    for line in printed:
        for match in pattern.finditer(line):
            matches += 1
            value = 1.0 if one["take"] == "count" else _number(match[1])
            if value is None:
                continue
            numbers += 1
            first = value if numbers == 1 else first
            last, total = value, total + value
            least, most = min(least, value), max(most, value)
    taken: dict[str, float] = {"count": matches}
    if numbers:
        taken |= {
            "first": first, "last": last, "sum": total, "mean": total / numbers,
            "min": least, "max": most,
        }  # fmt: skip
    value = taken.get(one["take"])
    finite = value is not None and math.isfinite(value)
    return {"value": value if finite else None, "matches": matches, "numbers": numbers}


def _number(text: str | None) -> float | None:
    """Return the finite decimal number that a text is, else None."""
    if text is None or not _NUMBER.fullmatch(text.strip()):
        return None
    value = float(text)
    return value if math.isfinite(value) else None
