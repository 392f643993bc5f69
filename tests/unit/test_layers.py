"""Imports go one way: a lower package imports nothing of an upper one."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("orchestrator", "topologies", "results", "web", "guest", "kmods")

MAY_IMPORT: dict[str, set[str]] = {
    "orchestrator": set(),  # its own modules: see ROOT_MODULES
    "orchestrator.protocol": set(),
    "orchestrator.testbed": {"orchestrator.protocol"},
    "orchestrator.files": set(),
    "orchestrator.recording": set(),
    "guest": {"orchestrator.files"},
    "kmods": {"orchestrator.files", "guest"},
    "orchestrator.sandbox": {"orchestrator.files", "guest", "kmods"},
    "orchestrator.kinds": {"orchestrator.files", "orchestrator.recording", "guest", "kmods"},
    "topologies": {"orchestrator.kinds"},
    "results": {"orchestrator.files", "orchestrator.recording", "orchestrator.kinds"},
    "orchestrator.scenario": {
        "orchestrator.files",
        "orchestrator.kinds",
        "kmods",
        "topologies",
        "results",
    },
    "orchestrator.planning": {
        "guest",
        "orchestrator.files",
        "orchestrator.kinds",
        "orchestrator.recording",
        "orchestrator.scenario",
        "kmods",
        "topologies",
        "results",
    },
    "orchestrator.compile": {
        "orchestrator.kinds",
        "orchestrator.planning",
        "topologies",
    },
    "orchestrator.fidelity": {"orchestrator.recording"},
    "orchestrator.decode": {
        "orchestrator.kinds",
        "orchestrator.planning",
        "orchestrator.recording",
        "orchestrator.compile",
    },
    "orchestrator.backends": {
        "orchestrator.files",
        "orchestrator.recording",
        "orchestrator.kinds",
        "orchestrator.scenario",
        "orchestrator.planning",
        "orchestrator.compile",
        "orchestrator.decode",
        "orchestrator.sandbox",
        "guest",
        "kmods",
        "topologies",
    },
    "web": {"results"},
    "orchestrator.execution": {
        "orchestrator.files",
        "orchestrator.recording",
        "orchestrator.kinds",
        "orchestrator.scenario",
        "orchestrator.planning",
        "orchestrator.compile",
        "orchestrator.decode",
        "orchestrator.backends",
        "orchestrator.fidelity",
        "orchestrator.sandbox",
        "guest",
        "kmods",
        "results",
    },
    "orchestrator.application": {
        "orchestrator.files",
        "orchestrator.recording",
        "orchestrator.scenario",
        "orchestrator.planning",
        "orchestrator.backends",
        "orchestrator.execution",
        "guest",
        "results",
    },
    "orchestrator.reproduction": {
        "kmods",
        "orchestrator.files",
        "orchestrator.scenario",
        "orchestrator.planning",
        "orchestrator.backends",
        "orchestrator.application",
        "results",
    },
    "orchestrator.evaluation": {
        "kmods",
        "orchestrator.files",
        "orchestrator.kinds",
        "orchestrator.scenario",
        "orchestrator.planning",
        "orchestrator.backends",
        "orchestrator.application",
        "results",
    },
    "orchestrator.analysis": {
        "orchestrator.recording",
        "orchestrator.backends",
        "orchestrator.application",
        "orchestrator.reproduction",
        "orchestrator.evaluation",
        "results",
    },
    "orchestrator.cli": {
        "orchestrator.files",
        "orchestrator.recording",
        "orchestrator.scenario",
        "orchestrator.planning",
        "orchestrator.backends",
        "orchestrator.execution",
        "orchestrator.application",
        "orchestrator.reproduction",
        "orchestrator.evaluation",
        "guest",
        "kmods",
        "results",
        "web",
    },
}
"""Package to the packages that it may import, lower ones first.

All may import ROOT_MODULES and the protocol, but for what travels with the test bed.
"""

ROOT_MODULES = {
    "errors", "units", "plaintext", "intervals", "network", "repetitions", "suggestions",
    "windows",
}  # fmt: skip
"""Modules of ``orchestrator`` itself; they import each other and the protocol."""

ROOT_PACKAGES = {"network"}
"""Those of ROOT_MODULES that are folders."""

MOST_ROOT_MODULES = 8

HEAVY = {"IPython", "matplotlib", "networkx", "pyarrow", "rich", "scipy", "weasyprint"}
"""Libraries that a function may import, because most calls of the program need them not."""

HEAVY_MODULES = {
    "guest.download",  # imports HTTP and TLS
    "orchestrator.application.crate_runs",  # imports what crates are written with
    "orchestrator.backends.cluster.connection",  # imports Dask
    "web.api.document",  # makes the models of all answers
}
"""Own modules of which the same is true."""


def _modules() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _layer(module: str) -> str:
    """Return the package of MAY_IMPORT that a module belongs to."""
    parts = module.split(".")
    if module == "orchestrator.__main__":  # the command, for `python -m`
        return "orchestrator.cli"
    if parts[0] != "orchestrator":
        return parts[0]
    inside = len(parts) > 1 and parts[1] not in ROOT_MODULES
    return ".".join(parts[:2]) if inside and f"orchestrator.{parts[1]}" in MAY_IMPORT else parts[0]


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, module) of every import, also of those inside functions."""
    package = _name(path) if path.name == "__init__.py" else _name(path).rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            start = ".".join(base) if node.level else ""
            module = ".".join(part for part in (start, node.module) if part)
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def test_the_root_of_the_package_holds_few_modules() -> None:
    found = {path.stem for path in (ROOT / "orchestrator").glob("*.py")} - {
        "__init__", "__main__",
    }  # fmt: skip
    assert found | ROOT_PACKAGES == ROOT_MODULES
    assert len(found) < MOST_ROOT_MODULES


@pytest.mark.parametrize("path", _modules(), ids=_name)
def test_imports_point_downwards(path: Path) -> None:
    own = _layer(_name(path))
    assert own in MAY_IMPORT, f"{path} has no place among the layers: add {own} to MAY_IMPORT"
    allowed = {own, "orchestrator", "orchestrator.protocol", *MAY_IMPORT[own]}
    if own in ("orchestrator.protocol", "orchestrator.testbed"):
        allowed.discard("orchestrator")  # what travels with the test bed takes nothing else along
    wrong = [
        f"{path.name}:{line}: {own} imports {target}"
        for line, module in _imports(path)
        if module.split(".")[0] in PACKAGES and (target := _layer(module)) not in allowed
    ]
    assert not wrong, "\n".join([*wrong, f"{own} may import {sorted(allowed)}: see MAY_IMPORT"])


def _of_the_controller() -> list[Path]:
    # A guest's processes import what their part needs, and Mininet is not everywhere.
    return [path for path in _modules() if _layer(_name(path)) != "orchestrator.testbed"]


@pytest.mark.parametrize("path", _of_the_controller(), ids=_name)
def test_only_heavy_libraries_are_imported_by_a_function(path: Path) -> None:
    # What is imported lazily is a command, by the group that finds it (orchestrator/cli).
    tree = ast.parse(path.read_text())
    functions = (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef))
    inside = (each for function in functions for each in ast.walk(function))
    names = {
        name
        for each in inside
        if isinstance(each, ast.Import | ast.ImportFrom)
        for name in (
            [str(each.module)]
            if isinstance(each, ast.ImportFrom)
            else [alias.name for alias in each.names]
        )
    }
    light = {name for name in names if name.partition(".")[0] not in HEAVY} - HEAVY_MODULES
    assert not light, f"{path.relative_to(ROOT)}: import {sorted(light)} at its head"


def test_lower_packages_come_first() -> None:
    # So there is no circle between packages.
    order = list(MAY_IMPORT)
    upward = [
        (package, target)
        for package, targets in MAY_IMPORT.items()
        for target in targets
        if order.index(target) >= order.index(package)
    ]
    assert not upward


@pytest.mark.slow
def test_imports_have_no_cycles() -> None:
    names = {_name(path) for path in _modules()}

    def modules_of(path: Path) -> set[str]:
        # Importing a name of a package counts as importing the package.
        found = set()
        for _line, module in _imports(path):
            known = module if module in names else module.rpartition(".")[0]
            if known in names and known != _name(path):
                found.add(known)
        return found

    graph = {_name(path): modules_of(path) for path in _modules()}
    done: set[str] = set()

    def walk(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join([*way[way.index(module) :], module])
        if module not in done:
            for target in sorted(graph[module]):
                walk(target, (*way, module))
            done.add(module)

    for name in sorted(graph):
        walk(name, ())


NO_TERMINAL = ("orchestrator.application", "orchestrator.reproduction", "orchestrator.analysis")
"""Packages of use cases: they tell and return what they have to say, and raise what is wrong."""


@pytest.mark.parametrize(
    "path", [path for path in _modules() if _layer(_name(path)) in NO_TERMINAL], ids=_name
)
def test_use_cases_neither_print_nor_exit(path: Path) -> None:
    uses = list(_terminal_uses(path.read_text()))
    assert not uses, (
        f"{path.relative_to(ROOT)} has {uses}: return a result, or tell the listener an event, and "
        "let orchestrator/cli print it"
    )


@pytest.mark.parametrize(
    "code",
    [
        "import click", "from rich.console import Console", "def f():\n  import rich.table",
        "print('done')", "import sys\nsys.exit(1)", "from sys import exit", "exit()",
        "import os\nos._exit(1)", "raise SystemExit(1)",
    ],
)  # fmt: skip
def test_each_way_to_print_or_exit_is_found(code: str) -> None:
    assert list(_terminal_uses(code))


def _terminal_uses(source: str) -> Iterator[str]:
    """Yield what a module uses of click, rich, ``print`` and the ways to end the program."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names):
                used = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module), names=names):
                used = [f"{module}.{alias.name}" for alias in names]
            case ast.Attribute() | ast.Name():
                used = [ast.unparse(node)]
            case _:
                continue
        yield from (
            each
            for each in used
            if each.split(".")[0] in ("click", "rich")
            or each in ("print", "exit", "quit", "sys.exit", "os._exit", "SystemExit")
        )


def test_the_bare_package_imports_nothing() -> None:
    # Every layer may name the package, so the package itself must import nothing.
    assert not list(_imports(ROOT / "orchestrator/__init__.py")) or all(
        module.startswith("__future__") for _, module in _imports(ROOT / "orchestrator/__init__.py")
    )


@pytest.mark.parametrize(
    "path",
    [
        path
        for package in ("protocol", "testbed")
        for path in sorted((ROOT / "orchestrator" / package).rglob("*.py"))
    ],
    ids=_name,
)
def test_the_test_bed_needs_the_standard_library_and_mininet_only(path: Path) -> None:
    # It runs inside the guest, under the system's Python, without this environment.
    allowed = {*sys.stdlib_module_names, "mininet", "orchestrator"}
    typing_only = _lines_of_type_checks(path)
    roots = {module.split(".")[0] for line, module in _imports(path) if line not in typing_only}
    assert roots <= allowed


def _lines_of_type_checks(path: Path) -> set[int]:
    """Return the lines below ``if TYPE_CHECKING:``, which no Python runs."""
    return {
        line
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    }
