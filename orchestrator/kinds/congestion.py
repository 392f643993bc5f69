"""Names and parameters of the congestion controls that a flow may use."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from kmods import catalogue
from kmods.catalogue import Folder, Module, Parameter
from orchestrator import units
from orchestrator.files.scenario_files import ScenarioFiles
from orchestrator.kinds.linux_parameters import (
    LINUX_MODULES,
    NOT_SETTABLE,
    WITHOUT_PARAMETERS,
)
from orchestrator.suggestions import CONTROLS, suggest
from orchestrator.units import shown

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
"""Congestion controls of Linux (net/ipv4/tcp_*.c); tcp_lp.c and tcp_nv.c are named lp and nv."""

BUILT_IN = frozenset({"reno", "cubic"})
"""Congestion controls that are built into the guest kernel; all others are modules."""

_ABSENT = dict.fromkeys(
    ("bbr2", "bbrv2", "bbr3", "bbrv3"), ": Linux has only version 1 of BBR, which is `bbr`"
)
"""What to say of names for which none of the valid ones stands."""

_QUANTITIES: dict[str, tuple[Callable[[object], int], int, str]] = {
    "bit/s": (units.parse_rate, 1, "5mbit"),
    "kbit/s": (units.parse_rate, 1000, "5mbit"),
    "us": (units.parse_time_ns, 1000, "100ms"),
    "ms": (units.parse_time_ns, 1_000_000, "100ms"),
    "bytes": (units.parse_size, 1, "150kB"),
}
"""By a parameter's unit: (parser of texts, the parser's units in one such unit, example)."""


class Modules:
    """The modules that one scenario may use: this project's, and those of folders that it names.

    ``files`` reads the folders. Each folder is read once, so that its checks and its build see the
    same files.
    """

    def __init__(self, files: ScenarioFiles) -> None:
        self.files = files
        self._read: dict[str, Folder | catalogue.FolderError] = {}

    def folder(self, given: str) -> Folder:
        """Return the folder at a path or place; FolderError when it holds no module."""
        if given not in self._read:
            try:
                module = catalogue.read_named(self.files, given)
                # One object for all paths of a folder, and for its place.
                self._read[given] = self._read.setdefault(module.place, module)
            except catalogue.FolderError as error:
                self._read[given] = error
        read = self._read[given]
        if isinstance(read, catalogue.FolderError):
            raise read
        return read

    def find(self, name: object, given: object) -> Module | None:
        """Return the module of the congestion control ``name``, from the folder if one is given.

        Return None when there is none, or when it is Linux's own and takes no parameters.
        """
        if not isinstance(name, str):
            return None
        if given is None:
            return catalogue.modules().get(name) or LINUX_MODULES.get(name)
        try:
            return self.folder(given).modules.get(name) if isinstance(given, str) else None
        except catalogue.FolderError:
            return None


@functools.cache
def known() -> tuple[str, ...]:
    """Return the names of the congestion controls of Linux and of this project's modules."""
    return tuple(sorted({*MAINLINE, *catalogue.modules()}))


def check_name(name: str, folder: Folder | None) -> str:
    """Return the name; ValueError when no congestion control (of the folder, if given) has it.

    A module cannot replace a congestion control that is built into the kernel.
    """
    if folder is None:
        if name not in known():
            close = suggest(name, known(), CONTROLS)
            hint = _ABSENT.get(name.casefold(), close)
            raise ValueError(
                f"unknown congestion control {shown(name)}{hint}; "
                f"valid: {', '.join(known())}; or your own as `{{name: NAME, module: FOLDER}}`"
            )
    elif name not in folder.modules:
        defined = folder.modules
        raise ValueError(
            f"`{folder.path}` defines no congestion control {shown(name)}"
            f"{suggest(name, defined)}; it defines: {', '.join(defined)}"
        )
    elif name in BUILT_IN:
        raise ValueError(f"`{name}` is built into the guest kernel: rename your module's")
    return name


def check_parameter(name: str, module: Module | None, key: str, value: object) -> int:
    """Return a parameter's value in the module's unit; a text is parsed as a quantity.

    Raises:
        ValueError: the congestion control ``name`` has no such parameter, or the value is invalid.
    """
    valid: Mapping[str, Parameter] = {} if module is None else module.parameters
    takers = f"; of Linux's, these take some: {', '.join(LINUX_MODULES)}"
    if (name, key) in NOT_SETTABLE and (module is None or module is LINUX_MODULES.get(name)):
        settable = f"; valid: {', '.join(valid)}" if valid else takers
        raise ValueError(f"{shown(key)} of `{name}` {NOT_SETTABLE[name, key]}{settable}")
    if not valid:
        more = takers if name in MAINLINE else ""
        if name in WITHOUT_PARAMETERS and module is None:
            why = "its numbers are constants in Linux's source"
            more = f"; {why}, which a module of your own can change{takers}"
        raise ValueError(f"`{name}` takes no parameters: remove {shown(key)}{more}")
    if key not in valid:
        raise ValueError(
            f"`{name}` has no parameter {shown(key)}{suggest(key, valid)}; "
            f"valid: {', '.join(valid)}"
        )
    number = whole(valid[key], value)
    fault = valid[key].fault(number)
    if fault is not None:
        raise ValueError(fault)
    return number


def whole(parameter: Parameter, value: object) -> int:
    """Return a whole number, or a quantity such as ``5mbit`` in the parameter's unit.

    Raises:
        ValueError: it is neither.
    """
    if type(value) is int:
        return value
    if parameter.unit not in _QUANTITIES:
        raise ValueError(f"{parameter.name} must be a whole number, not {shown(value)}")
    parse, factor, example = _QUANTITIES[parameter.unit]
    if not isinstance(value, str):
        raise ValueError(
            f"{parameter.name} must be a whole number of {parameter.unit}, or a text such as "
            f"`{example}`, not {shown(value)}"
        )
    amount, rest = divmod(parse(value), factor)
    if rest:
        raise ValueError(
            f"{parameter.name}: {shown(value)} is not a whole number of {parameter.unit}"
        )
    return amount
