"""Folders are rooms: few modules in each, and imports between them that form no circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("results", "web", "orchestrator")

MOST_MODULES = 14
ONE_FILE_A_KIND = {
    "orchestrator/cli",
    "orchestrator/fidelity",
    "orchestrator/kinds/events",
    "orchestrator/kinds/losses",
    "orchestrator/kinds/profiles",
    "orchestrator/kinds/queues",
    "orchestrator/kinds/traffic",
    "results/export",
    "results/figures",
    "results/metrics",
    "web/pages",
}
"""Folders whose modules are commands, checks, kinds, metrics or pages: a new one is a new file."""


def _folders() -> list[Path]:
    return sorted({path.parent for name in PACKAGES for path in (ROOT / name).rglob("*.py")})


@pytest.mark.parametrize("folder", _folders(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_folder_has_few_modules(folder: Path) -> None:
    name = str(folder.relative_to(ROOT))
    found = len([path for path in folder.glob("*.py") if path.name != "__init__.py"])
    if name not in ONE_FILE_A_KIND:
        assert found <= MOST_MODULES, (
            f"{name} has {found} modules, at most {MOST_MODULES}: move those that belong together "
            "into a folder of their own"
        )


def _modules(package: str) -> dict[str, Path]:
    found = {}
    for path in (ROOT / package).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _imported(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    """Yield the modules of ``modules`` that a module imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                found = name if name in modules else node.module
                if found in modules:
                    yield found


@pytest.mark.slow
@pytest.mark.parametrize("package", ["results", "web"])
def test_imports_between_folders_form_no_circle(package: str) -> None:
    modules = _modules(package)
    arrows: dict[str, set[str]] = {}
    for path in modules.values():
        if path.parent == ROOT / package:
            continue  # what composes the package imports all of it
        room = str(path.parent.relative_to(ROOT))
        others = {str(modules[name].parent.relative_to(ROOT)) for name in _imported(path, modules)}
        arrows.setdefault(room, set()).update(others - {room, package})
    while arrows:
        lowest = [room for room, others in arrows.items() if not others & arrows.keys()]
        assert lowest, f"imports of these folders go round: {arrows}"
        for room in lowest:
            del arrows[room]
