"""The kernels that the modules are built for."""

from __future__ import annotations

import re
from pathlib import Path

KMODS = Path(__file__).resolve().parents[2] / "kmods"
_HEADERS = Path("/usr/src")
_PREFIX = "linux-headers-"


def trees() -> dict[str, Path]:
    """Return the prepared trees by what they are: Debian's headers, newest of each series."""
    found = {}
    for series in ("6.1", "6.12"):
        folders = _HEADERS.glob(f"{_PREFIX}{series}.*-amd64")
        newest = sorted(folders, key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)])
        assert newest, f"no headers of Debian's {series}: tools/setup-debian test installs them"
        found[series] = newest[-1]
    return found


def releases() -> list[str]:
    """Return what those kernels call themselves, such as 6.1.0-56-amd64."""
    return [path.name.removeprefix(_PREFIX) for path in trees().values()]
