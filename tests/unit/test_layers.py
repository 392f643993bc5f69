"""Imports point one way: a lower layer knows nothing of an upper one."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("orchestrator", "topologies", "results", "web", "guest", "kmods")

BASE = {
    "orchestrator",
    "orchestrator.errors",
    "orchestrator.files",
    "orchestrator.plaintext",
    "orchestrator.removal",
    "orchestrator.temporary",
    "orchestrator.units",
}
MODEL = {
    *BASE,
    "orchestrator.capacity",
    "orchestrator.intervals",
    "orchestrator.inventory",
    "orchestrator.recording",
    "orchestrator.qdisc",
    "topologies.model",
}
SCENARIO = {*MODEL, "kmods.catalogue", "orchestrator.scenario"}
PLANNED = {
    *SCENARIO,
    "topologies",
    "orchestrator.runspec",
    "orchestrator.estimate",
    "orchestrator.description",
    "orchestrator.advice",
    "orchestrator.expansion",
    "orchestrator.labplan",
    "orchestrator.sizing",
    "orchestrator.timetable",
    "orchestrator.plan",
}
RUN = {
    *PLANNED,
    "guest",
    "kmods.build",
    "orchestrator.fidelity",
    "orchestrator.testbed",
    "orchestrator.backends",
    "orchestrator.sandbox",
}

MAY_IMPORT: dict[str, set[str]] = {
    "orchestrator": set(),
    "orchestrator.errors": set(),
    "orchestrator.files": {"orchestrator.errors", "orchestrator.units"},
    "orchestrator.plaintext": set(),
    "orchestrator.removal": set(),
    "orchestrator.temporary": {"orchestrator.errors", "orchestrator.removal"},
    "orchestrator.units": {"orchestrator", "orchestrator.errors"},
    "orchestrator.recording": BASE,
    "orchestrator.capacity": {*BASE, "orchestrator.recording"},
    "orchestrator.intervals": set(),
    "orchestrator.commit": set(),
    "orchestrator.inventory": BASE,
    "orchestrator.qdisc": set(),
    "topologies.model": {*BASE, "orchestrator.qdisc"},
    "kmods": set(),
    "kmods.catalogue": BASE,
    "kmods.build": {*BASE, "guest", "kmods.catalogue"},
    "kmods.tests": set(),
    "orchestrator.scenario": {*MODEL, "kmods.catalogue"},
    "topologies": SCENARIO,
    "orchestrator.runspec": SCENARIO | {"topologies"},
    "orchestrator.estimate": SCENARIO | {"orchestrator.runspec"},
    "orchestrator.description": SCENARIO | {"orchestrator.runspec", "orchestrator.estimate"},
    "orchestrator.sizing": SCENARIO | {"topologies", "orchestrator.runspec"},
    "orchestrator.advice": SCENARIO | {"topologies", "orchestrator.runspec"},
    "orchestrator.expansion": SCENARIO | {"orchestrator.runspec"},
    "orchestrator.labplan": SCENARIO | {"topologies", "orchestrator.runspec"},
    "orchestrator.timetable": SCENARIO | {"orchestrator.runspec"},
    "orchestrator.plan": PLANNED,
    "orchestrator.drawing": MODEL,
    "orchestrator.testbed": set(),
    "orchestrator.fidelity": {*MODEL, "orchestrator.runspec"},
    "guest": BASE,
    "orchestrator.sandbox": {*BASE, "guest", "kmods.build"},
    "orchestrator.backends": RUN,
    "results": SCENARIO,
    "web": {*BASE, "results"},
    "orchestrator.runner": {*RUN, "results", "orchestrator.commit"},
    "orchestrator.doctor": {*RUN, "results"},
    "orchestrator.modulecheck": {*RUN, "results", "orchestrator.runner"},
    "orchestrator.cli": {
        *RUN,
        "results",
        "web",
        "orchestrator.drawing",
        "orchestrator.runner",
        "orchestrator.doctor",
        "orchestrator.modulecheck",
    },
}
"""A layer is a module or a package; the longest name that fits a module is its layer."""


def _modules() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _layer(module: str) -> str | None:
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in names if name in MAY_IMPORT), None)


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


@pytest.mark.parametrize("path", _modules(), ids=_name)
def test_imports_point_downwards(path: Path) -> None:
    own = _layer(_name(path))
    assert own is not None, f"{path} has no place among the layers"
    wrong = [
        f"{path.name}:{line}: {own} imports {target}"
        for line, module in _imports(path)
        if module.split(".")[0] in PACKAGES
        and (target := _layer(module)) != own
        and target not in MAY_IMPORT[own]
    ]
    assert not wrong, "\n".join(wrong)


def test_bare_orchestrator_is_no_way_around() -> None:
    # Every layer may name the package, so the package itself must import nothing.
    assert not list(_imports(ROOT / "orchestrator/__init__.py")) or all(
        module.startswith("__future__") for _, module in _imports(ROOT / "orchestrator/__init__.py")
    )


@pytest.mark.parametrize(
    "path", sorted((ROOT / "orchestrator/testbed").rglob("*.py")), ids=lambda path: path.name
)
def test_the_test_bed_needs_the_standard_library_and_mininet_only(path: Path) -> None:
    # It runs inside the guest, under the system's Python, without this environment.
    allowed = {*sys.stdlib_module_names, "mininet", "orchestrator"}
    roots = {module.split(".")[0] for _, module in _imports(path)}
    assert roots <= allowed


def test_no_layer_reaches_one_that_reaches_it() -> None:
    def reach(layer: str, seen: frozenset[str] = frozenset()) -> frozenset[str]:
        for target in MAY_IMPORT[layer] - seen - {layer}:
            seen = reach(target, seen | {target})
        return seen

    circles = [
        (lower, upper)
        for lower in MAY_IMPORT
        for upper in MAY_IMPORT
        if lower < upper and upper in reach(lower) and lower in reach(upper)
    ]
    assert circles == [("orchestrator.errors", "orchestrator.units")] or circles == []
