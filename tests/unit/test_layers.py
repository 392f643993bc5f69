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
    "orchestrator.kinds": {"orchestrator.files", "kmods"},
    "topologies": {"orchestrator.kinds"},
    "results": {"orchestrator.files", "orchestrator.recording", "orchestrator.kinds"},
    "orchestrator.scenario": {
        "orchestrator.files",
        "orchestrator.kinds",
        "kmods",
        "topologies",
        "results",
    },
    "orchestrator.planning": {"orchestrator.kinds", "orchestrator.scenario", "kmods", "topologies"},
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
    "orchestrator.analysis": {"orchestrator.recording", "results"},
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
    "orchestrator.cli": {
        "orchestrator.files",
        "orchestrator.scenario",
        "orchestrator.planning",
        "orchestrator.backends",
        "orchestrator.execution",
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
    "errors", "units", "plaintext", "intervals", "network", "suggestions", "windows"
}  # fmt: skip
"""Modules of ``orchestrator`` itself; they import each other and the protocol."""

ROOT_PACKAGES = {"network"}
"""Those of ROOT_MODULES that are folders."""

MOST_ROOT_MODULES = 8


def _modules() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _layer(module: str) -> str:
    """Return the package of MAY_IMPORT that a module belongs to."""
    parts = module.split(".")
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
    found = {path.stem for path in (ROOT / "orchestrator").glob("*.py")} - {"__init__"}
    assert found | ROOT_PACKAGES == ROOT_MODULES
    assert len(found) < MOST_ROOT_MODULES


@pytest.mark.parametrize("path", _modules(), ids=_name)
def test_imports_point_downwards(path: Path) -> None:
    own = _layer(_name(path))
    assert own in MAY_IMPORT, f"{path} has no place among the layers"
    allowed = {own, "orchestrator", "orchestrator.protocol", *MAY_IMPORT[own]}
    if own in ("orchestrator.protocol", "orchestrator.testbed"):
        allowed.discard("orchestrator")  # what travels with the test bed takes nothing else along
    wrong = [
        f"{path.name}:{line}: {own} imports {target}"
        for line, module in _imports(path)
        if module.split(".")[0] in PACKAGES and (target := _layer(module)) not in allowed
    ]
    assert not wrong, "\n".join(wrong)


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
