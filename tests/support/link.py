"""The link module, compiled for user space."""

from __future__ import annotations

import re
from pathlib import Path

KMODS = Path(__file__).parents[2] / "kmods"


SOURCE = (KMODS / "uapi" / "pkt_sch_link.h").read_text(encoding="utf-8")


def defined(name: str) -> int:
    (value,) = re.findall(rf"^#define {name}\s+(\d+)(?:ULL)?\b", SOURCE, re.MULTILINE)
    return int(value)


def attributes(prefix: str = "TCA_LINK_") -> dict[str, int]:
    """The attributes of an enum by their names, such as "RATE_BPS"."""
    start = SOURCE.index(f"\t{prefix}UNSPEC,")
    body = SOURCE[start : SOURCE.index("};", start)]
    names = re.findall(rf"^\t{prefix}(\w+),", body, re.MULTILINE)
    return {name: number for number, name in enumerate(names)}


def fields(structure: str) -> dict[str, str]:
    """The fields of a structure, with their formats as struct has them."""
    start = SOURCE.index(f"struct {structure} {{")
    body = SOURCE[start : SOURCE.index("};", start)]
    matches = re.findall(r"^\t__u(32|64)\t(\w+);", body, re.MULTILINE)
    return {name: {"32": "I", "64": "Q"}[bits] for bits, name in matches}
