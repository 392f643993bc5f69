"""Which congestion controls a flow may ask for, under the names that the kernel reports."""

from __future__ import annotations

from collections.abc import Mapping

from kmods.catalogue import modules
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


def known() -> tuple[str, ...]:
    """Return every name that a scenario may use: Linux's and those of our own modules."""
    return tuple(sorted({*MAINLINE, *modules()}))


def check_name(name: str) -> str:
    """Return the name; ValueError when no congestion control is called so."""
    if name not in known():
        raise ValueError(
            f"unknown congestion control {shown(name)}{suggest(name, known())}; "
            f"valid: {', '.join(known())}"
        )
    return name


def check_parameters(name: str, parameters: Mapping[str, int]) -> None:
    """Raise ValueError when that congestion control has no such parameters or not such values."""
    valid = modules()[name].parameters if name in modules() else {}
    for key, value in parameters.items():
        if not valid:
            raise ValueError(f"`{name}` takes no parameters, but is given {shown(key)}")
        if key not in valid:
            raise ValueError(
                f"`{name}` has no parameter {shown(key)}{suggest(key, valid)}; "
                f"valid: {', '.join(valid)}"
            )
        fault = valid[key].fault(value)
        if fault is not None:
            raise ValueError(fault)
