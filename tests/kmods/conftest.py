"""The kernels that the modules are built for."""

from __future__ import annotations

import platform
import re
from pathlib import Path

KMODS = Path(__file__).resolve().parents[2] / "kmods"
_HEADERS = Path("/usr/src")
_PREFIX = "linux-headers-"
_SERIES = {
    ("debian", "12"): ("6.1", "6.12"),
    ("debian", "13"): ("6.12",),
    ("ubuntu", "22.04"): ("5.15",),
    ("ubuntu", "24.04"): ("6.8",),
}
"""The kernels whose headers tools/setup installs, by system."""


def series() -> tuple[str, ...]:
    """Return the series of kernels whose headers this system has."""
    about = platform.freedesktop_os_release()
    return _SERIES[about["ID"], about["VERSION_ID"]]


def trees() -> dict[str, Path]:
    """Return the prepared trees by series: the system's headers, newest of each."""
    found = {}
    for name in series():
        folders = [
            path
            for path in _HEADERS.glob(f"{_PREFIX}{name}.*")
            if path.name.endswith(("-amd64", "-generic"))
        ]
        newest = sorted(folders, key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)])
        assert newest, f"no headers of Linux {name}: tools/setup test installs them"
        found[name] = newest[-1]
    return found


def releases() -> list[str]:
    """Return what those kernels call themselves, such as 6.1.0-56-amd64."""
    return [path.name.removeprefix(_PREFIX) for path in trees().values()]
