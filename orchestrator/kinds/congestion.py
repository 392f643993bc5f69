"""Which congestion controls a flow may ask for, and what each can be told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from kmods import catalogue
from kmods.catalogue import Folder, Module, Parameter
from orchestrator import units
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

BUILT_IN = frozenset({"reno", "cubic"})
"""Those inside the guest kernel itself; every other one is a module."""

_QUANTITIES: dict[str, tuple[Callable[[object], int], int, str]] = {
    "bit/s": (units.parse_rate, 1, "5mbit"),
    "kbit/s": (units.parse_rate, 1000, "5mbit"),
    "us": (units.parse_time_ns, 1000, "100ms"),
    "ms": (units.parse_time_ns, 1_000_000, "100ms"),
    "bytes": (units.parse_size, 1, "150kB"),
}
"""By a parameter's unit: what reads a text, how many of what it gives make one, an example."""


class Modules:
    """The modules that one scenario may use: ours, and those of the folders that it names.

    A folder's path starts from ``base``, the scenario's own folder. Each is read once, so all
    that is said of it, and what is built of it, is of one time.
    """

    def __init__(self, base: Path) -> None:
        self.base = base
        self._read: dict[Path, Folder | catalogue.FolderError] = {}

    def folder(self, given: str) -> Folder:
        """Return the folder at that path; FolderError when no module can be built of it."""
        try:
            path = (self.base / given).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a circle of links, a NUL
            raise catalogue.FolderError(f"{shown(given)} is no path: {error}") from None
        if path not in self._read:
            try:
                self._read[path] = catalogue.read(path)
            except catalogue.FolderError as error:
                self._read[path] = error
        found = self._read[path]
        if isinstance(found, catalogue.FolderError):
            raise found
        return found

    def find(self, name: object, given: object) -> Module | None:
        """Return what is known of the congestion control ``name``, of the folder if one is given.

        None when there is no such one, or it is one of Linux, which take no parameters.
        """
        if not isinstance(name, str):
            return None
        if given is None:
            return catalogue.modules().get(name)
        try:
            return self.folder(given).modules.get(name) if isinstance(given, str) else None
        except catalogue.FolderError:
            return None


def known() -> tuple[str, ...]:
    """Return every name that needs no folder: Linux's and those of our own modules."""
    return tuple(sorted({*MAINLINE, *catalogue.modules()}))


def check_name(name: str, folder: Folder | None) -> str:
    """Return the name; ValueError when no congestion control, or none of the folder, is called so.

    What is built into the kernel cannot be replaced by a module.
    """
    if folder is None:
        if name not in known():
            raise ValueError(
                f"unknown congestion control {shown(name)}{suggest(name, known())}; "
                f"valid: {', '.join(known())}; or one of your own with `module: FOLDER`"
            )
    elif name not in folder.modules:
        defined = folder.modules
        raise ValueError(
            f"`{folder.path}` defines no congestion control {shown(name)}"
            f"{suggest(name, defined)}; it defines: {', '.join(defined)}"
        )
    elif name in BUILT_IN:
        raise ValueError(f"`{name}` is built into the guest kernel: give yours another name")
    return name


def check_parameter(name: str, module: Module | None, key: str, value: object) -> int:
    """Return a parameter's value as the module takes it, read from a quantity where it is one.

    Raises:
        ValueError: the congestion control ``name`` has no such parameter, or no such value of it.
    """
    valid: Mapping[str, Parameter] = {} if module is None else module.parameters
    if not valid:
        raise ValueError(f"`{name}` takes no parameters, but is given {shown(key)}")
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
    """Return a whole number as it is, or that of a quantity such as ``5mbit`` in the right unit.

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
        raise ValueError(f"{parameter.name}: {shown(value)} is no whole number of {parameter.unit}")
    return amount
