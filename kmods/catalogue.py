"""What modules there are and what parameters they take, read from their sources.

A module is a file ``tcp_<name>.c``; its congestion control is called <name>, and its parameters are
the CC_PARAM lines (see cc.h). So a new module is one new file.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent

_PARAMETER = re.compile(
    r"^CC_PARAM(?P<checked>_CHECKED)?\(\s*(?P<name>\w+),\s*(?P<default>\d+),\s*(?P<low>\d+),"
    r"\s*(?P<high>\d+),\s*(?:(?P<power>true|false),\s*)?(?P<text>(?:\"(?:[^\"\\]|\\.)*\"|\w+|\s)+)\);",
    re.MULTILINE,
)
_SHOWN = re.compile(
    r"Shown by get_info and the trace: bw (.+?), min_rtt (.+?), pacing_gain (.+?),"
    r" cwnd_gain (.+?)\.(?: |$)"
)
_OPERATIONS = re.compile(r'\.name\s*=\s*"(\w+)"')
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
_MACRO = re.compile(r"#define\s+(\w+_TEXT)((?:[^\n]*\\\n)*[^\n]*)")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a module; it holds for the whole kernel. ``low`` and ``high`` are included."""

    name: str
    default: int
    low: int
    high: int
    power_of_two: bool
    text: str

    def fault(self, value: int) -> str | None:
        """Return what is wrong with a value, None when it is valid."""
        fits = self.low <= value <= self.high
        if fits and not (self.power_of_two and value & (value - 1)):
            return None
        kind = "powers of two " if self.power_of_two else ""
        return f"{self.name} takes {kind}from {self.low} to {self.high}, not {value}"


@dataclass(frozen=True)
class Module:
    """A module of our own: the congestion control's name and what it takes."""

    name: str
    source: Path
    parameters: Mapping[str, Parameter]
    shown: tuple[tuple[str, str], ...]
    """(meaning, unit) of the four integers it shows: see "Shown by" in its source."""


@functools.cache
def modules(folder: Path = FOLDER) -> Mapping[str, Module]:
    """Return the modules of a folder by the names of their congestion controls."""
    texts = {
        name: "".join(_LITERAL.findall(body))
        for header in sorted(folder.glob("*.h"))
        for name, body in _MACRO.findall(header.read_text(encoding="utf-8"))
    }
    found: dict[str, Module] = {}
    for source in sorted(folder.glob("tcp_*.c")):
        code = source.read_text(encoding="utf-8")
        for name in _OPERATIONS.findall(code):
            found[name] = Module(name, source, _parameters(code, texts), _shown(code))
    return found


def _shown(code: str) -> tuple[tuple[str, str], ...]:
    """Return what the fields of the info attribute (in BBR's layout) mean for this module."""
    comment = code.partition("/*")[2].partition("*/")[0]
    match = _SHOWN.search(" ".join(comment.replace("\n *", " ").split()))
    if match is None:
        return ()
    bandwidth, rtt, third, fourth = match.groups()
    rest = [
        text.rpartition(" in ") if " in " in text else (text, "", "") for text in (third, fourth)
    ]
    return (
        (bandwidth, "bytes/s"),
        (rtt, "us"),
        *((meaning, unit) for meaning, _in, unit in rest),
    )


def _parameters(code: str, texts: Mapping[str, str]) -> Mapping[str, Parameter]:
    found: dict[str, Parameter] = {}
    for match in _PARAMETER.finditer(code):
        text = match["text"].strip()
        said = texts.get(text) or "".join(_LITERAL.findall(text))
        numbers = (int(match["default"]), int(match["low"]), int(match["high"]))
        power = match["power"] == "true"
        found[match["name"]] = Parameter(match["name"], *numbers, power, said)
    return found
