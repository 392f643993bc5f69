"""What the guest is to do: each module in each case, and what it must refuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kmods.catalogue import Module, Parameter, modules_of

KERNEL = "6.12"
"""The guest's kernel here. tests/kernels has modules that need a newer one."""

CONTROL = "reno"
"""Mainline's, whose values are known without any paper: it shows that the harness is right."""

CASES = (
    "loss",
    "eifel",
    "timeout",
    "spurious timeout",
    "small window",
    "small window mark",
    "timeout in recovery",
    "ecn",
    "idle",
    "whole windows",
    "large window",
)
"""The scripts of inside/scripts.py that all go through."""

BY_DUPLICATES = {"/proc/sys/net/ipv4/tcp_recovery": "0"}
"""Losses are known by three duplicate ACKs, as in the papers, and not by their times (RACK)."""

FILES = {"small window": BY_DUPLICATES, "timeout in recovery": BY_DUPLICATES}
"""Settings of the kernel in a case."""

SEGMENT_BYTES = 1460
TOLD = {"idealtcp_rate_bps": 30 * SEGMENT_BYTES * 8 * 10, "idealtcp_rtt_us": 100_000}
"""30 segments in 100 ms."""

LARGE_TOLD = {"idealtcp_rate_bps": 2_829_000_000, "idealtcp_rtt_us": 600_000}
"""414 404 segments of 512 bytes."""


def modules() -> Mapping[str, Module]:
    """Return the modules that work on the guest's kernel."""
    return modules_of(KERNEL)


@dataclass(frozen=True)
class Run:
    """A congestion control in a case; ``settings`` are parameters and namespace settings."""

    congestion: str
    case: str
    settings: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return a name that no other run has."""
        said = "".join(f" {name}={value}" for name, value in self.settings.items())
        return f"{self.congestion} {self.case}{said}"


def standard_run(congestion: str, case: str) -> Run:
    """Return how a congestion control goes through a case."""
    settings: dict[str, int] = {}
    if congestion == "libra":
        settings["pacing"] = 0  # sends at random times else
        if case == "large window":
            settings["libra_capacity_kbps"] = 10_000_000
    if congestion == "idealtcp" and case != "loss":
        settings |= LARGE_TOLD if case == "large window" else TOLD
    return Run(congestion, case, settings)


def runs() -> list[Run]:
    """Return every run, each module in each case and what some have beyond that."""
    found = [standard_run(name, case) for name in (CONTROL, *modules()) for case in CASES]
    return [
        *found,
        *opposite_clamp_runs(),
        *counting_runs(),
        *estimate_runs(),
        *halving_runs(),
        *(AGED, COUNTED_TIMEOUT, NO_CLIMB, PACED),
    ]


AGED = Run("tibet", "loss", {"n_cong": 1})
COUNTED_TIMEOUT = Run("logwestwood", "spurious timeout", {"rto_counts": 1})
NO_CLIMB = Run("logwestwood", "small window", {"rto_counts": 1})
PACED = Run("libra", "first window", {"pacing": 1, "libra_capacity_kbps": 10_000})


def pair_runs() -> list[Run]:
    """Return the runs with packet pairs after responses of a few segments."""
    asked = {"westwoodplus": 2, "logwestwood": 3, "tibet": 2, "westwood1": 2, "csfq": 3, "libra": 3}
    return [_with(name, "responses", {"packetpair": points}) for name, points in asked.items()]


def sample_runs(case: str) -> list[Run]:
    """Return the runs of modules that sample the data of ACKs."""
    names = ("westwoodplus", "westwood1", "westwood2", "westwood3", "csfq")
    return [*(Run(name, case) for name in names), Run("tibet", case, {"estimate_on": 0})]


def handshake_runs() -> list[Run]:
    """Return the runs with a handshake that is faster than data; it counts for RTTmin or not."""
    return [
        _with(name, "quick handshake", {"handshake_rtt": value})
        for name in _taking("handshake_rtt")
        for value in (0, 1)
    ]


def opposite_clamp_runs() -> list[Run]:
    """Return the runs that raise cwnd to ssthresh where the paper does not, or the reverse."""
    return [
        _with(name, case, {"clamp_cwnd": 1 - (parameter.default or 0)})
        for name, parameter in _taking("clamp_cwnd").items()
        for case in ("small window", "small window mark")
    ]


def estimate_runs() -> list[Run]:
    """Return the runs in which TIBET filters the other stream than by default."""
    other = 1 - (modules()["tibet"].parameters["estimate_on"].default or 0)
    cases = ("loss", "idle", "whole windows", "timeout")
    return [Run("tibet", case, {"estimate_on": other}) for case in cases]


def halving_runs() -> list[Run]:
    """Return the runs of LogWestwood+ with each meaning of an errorless increase."""
    return [Run("logwestwood", "climbs", {"halving": mode}) for mode in (0, 1, 2)]


def counting_runs() -> list[Run]:
    """Return the runs in which the window grows by ACKs instead of segments, or the reverse."""
    return [
        _with(name, "loss", {"count_acks": 1 - (parameter.default or 0)})
        for name, parameter in _taking("count_acks").items()
    ]


def _taking(parameter: str) -> dict[str, Parameter]:
    return {
        name: module.parameters[parameter]
        for name, module in modules().items()
        if parameter in module.parameters
    }


def _with(name: str, case: str, settings: Mapping[str, int]) -> Run:
    return Run(name, case, {**standard_run(name, case).settings, **settings})


def place(module: Module, parameter: Parameter) -> str:
    """Return the file through which a parameter or setting is read and written."""
    if parameter.scope == "namespace":
        return f"/proc/sys/net/ipv4/{parameter.name}"
    return f"/sys/module/{module.source.stem}/parameters/{parameter.name}"


def refused(parameter: Parameter) -> dict[str, str]:
    """Return texts that are no valid value, with the error that each must meet."""
    below = str(parameter.low - 1) if parameter.low else "-1"
    texts = dict.fromkeys((below, "many", "1.5"), "EINVAL")
    # Numbers beyond the type are ERANGE to the kernel's own parameters, too.
    type_max = 2**64 if parameter.scope == "namespace" else 2**32
    texts[str(parameter.high + 1)] = "EINVAL" if parameter.high + 1 < type_max else "ERANGE"
    if parameter.scope == "kernel":
        texts[str(type_max)] = "ERANGE"
    if parameter.power_of_two:
        texts[str(parameter.low * 3)] = "EINVAL"
    return texts


def taken(parameter: Parameter) -> list[str]:
    """Return values that are valid, and what to leave it at."""
    default = 0 if parameter.default is None else parameter.default
    return [str(value) for value in (parameter.low, parameter.high, default)]


def document() -> dict[str, Any]:
    """Return the plan as the guest reads it."""
    every = [(each, p) for each in modules().values() for p in each.parameters.values()]
    return {
        "loads": [
            [module.source.stem, f"{parameter.name}={text}"]
            for module, parameter in every
            if parameter.scope == "kernel"
            for text in refused(parameter)
        ],
        "modules": sorted({module.source.stem for module in modules().values()}),
        "writes": [
            [place(module, parameter), text]
            for module, parameter in every
            for text in (*refused(parameter), *taken(parameter))
        ],
        "runs": [_run(run) for run in runs()],
        "in_use": [[m.source.stem, _run(standard_run(n, "in use"))] for n, m in modules().items()],
    }


def document_of(some: list[Run]) -> dict[str, Any]:
    """Return a plan of these runs alone."""
    stems = sorted({modules()[run.congestion].source.stem for run in some})
    empty: dict[str, Any] = {key: [] for key in ("loads", "writes", "in_use")}
    return {**empty, "modules": stems, "runs": [_run(run) for run in some]}


def _run(run: Run) -> dict[str, Any]:
    files = dict(FILES.get(run.case, {}))
    for name, value in run.settings.items():
        module = modules()[run.congestion]
        files[place(module, module.parameters[name])] = str(value)
    return {"key": str(run), "congestion": run.congestion, "case": run.case, "files": files}
