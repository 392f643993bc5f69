"""Reads congestion-control modules and their parameters from the sources.

A module of this project is a file ``tcp_<name>.c``. Its parameters are the CC_PARAM lines (see
cc_param.h), and its settings of a network namespace the CC_SETTING lines (see cc_netns.h). The
CC_SHOWS line says what it shows of a connection (see cc_info.h), and a CC_SINCE line on which
kernels it works (see cc.h). So a new module is one new file. A user's folder is read in the same
way, including plain ``module_param`` lines.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

from orchestrator.files.scenario_files import NamedFolder, ScenarioFiles, hash_of
from orchestrator.files.user_files import FileError, named

FOLDER = Path(__file__).resolve().parent

MOST_ENTRIES = 1000
MOST_BYTES = 4_000_000
"""Limits on a user's folder; a larger one is refused, because no module's source is that large."""

NAME_MAX = 15
"""TCP_CA_NAME_MAX of include/net/tcp.h, without the terminating zero."""

UNITS = {"_kbps": "kbit/s", "_bps": "bit/s", "_us": "us", "_ms": "ms", "_bytes": "bytes"}
"""Units of parameters, by the ends of their names."""

# A source is untrusted text of up to MOST_BYTES. So no pattern here may backtrack for hours. No
# text matches two repetitions, and each search for an end stops at the text's end or after a fixed
# number of characters.
_TEXT = r"(?P<text>(?:\"(?:[^\"\\]|\\.)*+\"|\w|\s)++)\);"
_RANGE = r"(?P<low>\d{1,20}),\s*(?P<high>\d{1,20}),\s*"
_PARAMETER = re.compile(
    r"^CC_PARAM(?P<checked>_CHECKED)?\(\s*(?P<name>\w+),\s*(?P<default>\d{1,20}),\s*"
    + _RANGE
    + r"(?:(?P<power>true|false),\s*)?"
    + _TEXT,
    re.MULTILINE,
)
_SETTING = re.compile(
    r"^CC_SETTING\(\s*(?P<module>\w+),\s*(?P<field>\w+),\s*" + _RANGE + _TEXT, re.MULTILINE
)
_PLAIN = re.compile(
    r"^[ \t]*module_param(?:_named\(\s*(?P<named>\w+)\s*,[^,;]*|\(\s*(?P<name>\w+)\s*)"
    r",\s*(?P<type>\w+)\s*,[^,;]*\);",
    re.MULTILINE,
)
_DESCRIBED = re.compile(r"^[ \t]*MODULE_PARM_DESC\(\s*(?P<name>\w+)\s*,\s*" + _TEXT, re.MULTILINE)
_RANGES = {
    "bool": (0, 1),
    "byte": (0, 2**8 - 1),
    "short": (-(2**15), 2**15 - 1),
    "ushort": (0, 2**16 - 1),
    "int": (-(2**31), 2**31 - 1),
    "uint": (0, 2**32 - 1),
    "hexint": (0, 2**32 - 1),
    "long": (-(2**63), 2**63 - 1),
    "ulong": (0, 2**64 - 1),
    "ullong": (0, 2**64 - 1),
}
"""Range of a plain parameter, by its type (kernel/params.c)."""

_SHOWS = re.compile(
    r"^CC_SHOWS\(\s*+\w++" + r",\s*+\"([^\"\\\n]{1,99})\"" * 4 + r"\s*+\);", re.MULTILINE
)
_SINCE = re.compile(r"^CC_SINCE\((\d{1,4}), (\d{1,4}), \"([^\"\\\n]{1,99})\"\);", re.MULTILINE)
_WITH_UNIT = re.compile(r"(.+) \[(.+)\]")
_OPERATIONS = re.compile(
    r"\bstruct\s+tcp_congestion_ops\b[^;{=]{0,200}=\s*\{(.{0,5000}?)\}\s*;", re.DOTALL
)
MOST_NAME_CHARS = 55
"""MODULE_NAME_LEN of Linux's include/linux/moduleparam.h on 64 bits, without the final zero."""

_SOURCE_NAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_-]{{0,{MOST_NAME_CHARS - 1}}}\.c", re.ASCII)
_NAME = re.compile(r'\.name\s*=\s*"([^"\\\s]+)"')
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*+)(?:"|\Z)')
_MACRO = re.compile(r"#define\s+(\w+_TEXT)((?:[^\n]*\\\n)*[^\n]*)")
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)
_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
_IS_MODULE = re.compile(r"\bMODULE_LICENSE\s*\(|\bmodule_init\s*\(")


class FolderError(ValueError):
    """A folder holds no module that can be built; the message says why."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a module; ``low`` and ``high`` are included, ``default`` None is unknown.

    ``scope`` is where a value holds: in the whole kernel, or in a network namespace (one host).
    """

    name: str
    text: str
    default: int | None
    low: int
    high: int
    power_of_two: bool = False
    scope: Literal["kernel", "namespace"] = "kernel"

    @property
    def unit(self) -> str:
        """The unit of its values, empty when the name does not end in one."""
        return next((unit for end, unit in UNITS.items() if self.name.endswith(end)), "")

    def fault(self, value: int) -> str | None:
        """Return what is wrong with a value, None when it is valid."""
        fits = self.low <= value <= self.high
        if fits and not (self.power_of_two and value & (value - 1)):
            return None
        kind = "a power of two " if self.power_of_two else ""
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.name} must be {kind}from {self.low} to {self.high}{unit}, not {value}"


@dataclass(frozen=True)
class Since:
    """The first series of kernels on which a module works, and ``what`` earlier ones lack."""

    series: tuple[int, int]
    what: str

    def is_in(self, release: str) -> bool:
        """Whether the module works on a kernel; a release such as ``6.12.1-x``."""
        match = re.match(r"(\d+)\.(\d+)", release)
        return match is None or (int(match[1]), int(match[2])) >= self.series


@dataclass(frozen=True)
class Module:
    """A congestion control and its parameters; those of one ``source`` share them."""

    name: str
    source: Path
    parameters: Mapping[str, Parameter]
    shown: tuple[tuple[str, str], ...]
    """(meaning, unit) of the four integers that it shows of a connection: its CC_SHOWS line."""
    since: Since | None = None
    """None for a module that works on every kernel."""


@dataclass(frozen=True)
class Folder:
    """A user's folder of modules, as it was read once.

    ``path`` is on this machine, and ``place`` is what a stored run has for it; see
    ``orchestrator.files.scenario_files``. ``files`` holds the files of a build, by their paths
    below the folder. ``kbuild`` is the text of a generated Kbuild, None when the folder has its
    own. ``uses_ours`` tells whether a file includes a header of this project.
    """

    path: Path
    place: str
    files: Mapping[str, bytes] = field(repr=False)
    modules: Mapping[str, Module]
    kbuild: str | None
    uses_ours: bool

    @functools.cached_property
    def sha256(self) -> str:
        """The hash of paths and contents of all files, in hexadecimal."""
        return hash_of(self.files)


def headers(folder: Path = FOLDER) -> dict[str, Path]:
    """Return this project's headers, by the path in an include."""
    paths = sorted((*folder.glob("*.h"), *folder.glob("core/*.h")))
    return {path.relative_to(folder).as_posix(): path for path in paths}


@functools.cache
def modules(folder: Path = FOLDER) -> Mapping[str, Module]:
    """Return the modules of a folder laid out as this one, by their congestion controls' names."""
    texts = _texts(header.read_text(encoding="utf-8") for header in headers(folder).values())
    by_name: dict[str, Module] = {}
    for source in sorted(folder.glob("tcp_*.c")):
        if not source.name.endswith(".mod.c"):
            code = source.read_text(encoding="utf-8")
            by_name |= _defined(source, code, _parameters(code, texts))
    return by_name


def modules_of(release: str, folder: Path = FOLDER) -> Mapping[str, Module]:
    """Return the modules that work on a kernel of that release."""
    return {
        name: module
        for name, module in modules(folder).items()
        if module.since is None or module.since.is_in(release)
    }


def read(path: Path) -> Folder:
    """Read a user's folder; see :func:`read_named`."""
    return read_named(ScenarioFiles(path.parent), path.name)


def read_named(files: ScenarioFiles, given: str) -> Folder:
    """Read a user's folder, as a scenario names it; generate a Kbuild when it has none.

    Raises:
        FolderError: it is missing, cannot be read, or holds no congestion control.
    """
    folder = _read(files, given)
    return _folder(folder.path, folder.place, folder.files)


def _folder(path: Path, written: str, files: Mapping[str, bytes]) -> Folder:
    code = {
        name: content.decode("utf-8", errors="replace")
        for name, content in files.items()
        if name.endswith((".c", ".h"))
    }
    if not any(name.endswith(".c") for name in code):
        raise FolderError(f"`{path}` holds no source: it has no *.c file")
    own_build = "Kbuild" in files or b"obj-m" in files.get("Makefile", b"")
    sources = [name for name in code if name.endswith(".c")]
    if not own_build:
        sources = [name for name in sources if "/" not in name and _IS_MODULE.search(code[name])]
        if not sources:
            raise FolderError(
                f"`{path}` holds no module: no *.c file in it has MODULE_LICENSE (a module of "
                "several files needs a Kbuild)"
            )
        _require_names(path, sources)
    ours = headers()
    uses_ours = any(name in ours for name in _includes(code))
    texts = _texts(code.values())
    if uses_ours:
        texts = _texts(header.read_text(encoding="utf-8") for header in ours.values()) | texts
    by_name: dict[str, Module] = {}
    for name in sources:
        # Only the build knows which files the folder's Kbuild links into one module.
        seen = code if own_build else [name, *(header for header in code if header.endswith(".h"))]
        whole = "\n".join(_without_comments(code[file]) for file in seen)
        by_name |= _defined(path / name, code[name], _parameters(whole, texts))
    if not by_name:
        raise FolderError(
            f"`{path}` defines no congestion control: its sources have no struct "
            'tcp_congestion_ops with `.name = "..."`'
        )
    kbuild = None if own_build else _kbuild(sources)
    return Folder(path, written, files, by_name, kbuild, uses_ours)


def _read(files: ScenarioFiles, given: str) -> NamedFolder:
    """Return the files of a build in a folder and the folders below it."""
    try:
        return files.folder(given, _goes_in, MOST_ENTRIES, MOST_BYTES)
    except FileError as error:
        _explain(files, given)
        raise FolderError(str(error)) from None
    except ValueError as error:
        raise FolderError(str(error)) from None


def _explain(files: ScenarioFiles, given: str) -> None:
    """Raise FolderError when what is named is missing, or is no folder."""
    try:
        path = files.path(given)
    except ValueError:
        return  # of a stored scenario
    try:
        if not path.exists():
            raise FolderError(f"there is no folder {named(path)}")
        if not path.is_dir():
            raise FolderError(f"{named(path)} is not a folder: give the folder of the sources")
    except OSError as error:
        raise FolderError(f"{named(path)} cannot be read: {error.strerror}") from None


def _require_names(path: Path, sources: Iterable[str]) -> None:
    """Raise FolderError for a source whose name make and the kernel cannot take as a module's."""
    for name in sources:
        if not _SOURCE_NAME.fullmatch(name):
            raise FolderError(
                f"{named(path / name)}: a module is named after its file, by letters, digits, `_` "
                f"and `-`, {MOST_NAME_CHARS} at most before `.c`: rename the file"
            )


def _goes_in(name: str) -> bool:
    """Tell whether a file is a source, and not the output of an earlier build."""
    return name in ("Kbuild", "Makefile") or (
        name.endswith((".c", ".h", ".S")) and not name.endswith(".mod.c")
    )


def _includes(code: Mapping[str, str]) -> Iterator[str]:
    """Yield the included headers that are not among the sources."""
    own = {PurePosixPath(name).name for name in code}
    for text in code.values():
        yield from (name for name in _INCLUDED.findall(text) if PurePosixPath(name).name not in own)


def _kbuild(sources: Iterable[str]) -> str:
    objects = " ".join(f"{name.removesuffix('.c')}.o" for name in sources)
    return f"obj-m := {objects}\nccflags-y := -I$(src)\n"


def _without_comments(code: str) -> str:
    return _COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else " ", code)


def _texts(headers: Iterable[str]) -> dict[str, str]:
    return {
        name: "".join(_LITERAL.findall(body))
        for header in headers
        for name, body in _MACRO.findall(header)
    }


def _defined(source: Path, code: str, parameters: Mapping[str, Parameter]) -> dict[str, Module]:
    """Return the congestion controls that a source defines."""
    names = (
        name
        for body in _OPERATIONS.findall(_without_comments(code))
        for name in _NAME.findall(body)
        if len(name) <= NAME_MAX
    )
    shown = _shown(_without_comments(code))
    since = _since(_without_comments(code))
    return {name: Module(name, source, parameters, shown, since) for name in names}


def _since(code: str) -> Since | None:
    match = _SINCE.search(code)
    return None if match is None else Since((int(match[1]), int(match[2])), match[3])


def _shown(code: str) -> tuple[tuple[str, str], ...]:
    """Return what the values mean that the module shows of a connection."""
    match = _SHOWS.search(code)
    return () if match is None else shown_values(match.groups())


def shown_values(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return (meaning, unit) of each text of a CC_SHOWS line, such as ``RTTmin [us]``."""
    matches = ((text, _WITH_UNIT.fullmatch(text)) for text in texts)
    return tuple((match[1], match[2]) if match else (text, "") for text, match in matches)


def _parameters(code: str, texts: Mapping[str, str]) -> Mapping[str, Parameter]:
    """Return the parameters, then the settings of namespaces, each in the order of the source."""

    def said(match: re.Match[str] | None) -> str:
        text = match["text"].strip() if match else ""
        return texts.get(text) or "".join(_LITERAL.findall(text))

    by_name: dict[str, Parameter] = {}
    for match in _PARAMETER.finditer(code):
        numbers = (int(match["default"]), int(match["low"]), int(match["high"]))
        power = match["power"] == "true"
        by_name[match["name"]] = Parameter(match["name"], said(match), *numbers, power)
    descriptions = {match["name"]: match for match in _DESCRIBED.finditer(code)}
    for match in _PLAIN.finditer(code):
        name = match["named"] or match["name"]
        if match["type"] in _RANGES:
            text = said(descriptions.get(name))
            by_name[name] = Parameter(name, text, None, *_RANGES[match["type"]])
    for match in _SETTING.finditer(code):
        name = f"{match['module']}_{match['field']}"
        low, high = int(match["low"]), int(match["high"])
        by_name[name] = Parameter(name, said(match), 0, low, high, scope="namespace")
    return by_name
