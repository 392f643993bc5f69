"""Which congestion controls a flow may ask for, under the names that the kernel reports."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.units import shown, suggest

MAINLINE = (
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
)
"""Those of Linux (net/ipv4/tcp_*.c); tcp_lp.c and tcp_nv.c call themselves lp and nv."""


def check_name(name: str) -> str:
    """Return the name; ValueError when no congestion control is called so."""
    if name not in MAINLINE:
        raise ValueError(
            f"unknown congestion control {shown(name)}{suggest(name, MAINLINE)}; "
            f"valid: {', '.join(MAINLINE)}"
        )
    return name


def check_parameters(name: str, parameters: Mapping[str, int]) -> None:
    """Raise ValueError when that congestion control has no such parameters."""
    if parameters:
        given = ", ".join(shown(key) for key in parameters)
        raise ValueError(f"`{name}` takes no parameters, but is given {given}")
