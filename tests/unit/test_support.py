"""What several test modules need is in tests/support: none imports another one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTINUED = {"tests.guest.test_tcp_states", "tests.guest.test_tcp_samples"}
"""Modules of which others continue what they have begun."""


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_no_test_module_is_imported(path: Path) -> None:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    tests = {name for name in found if name.startswith("tests.") and ".test_" in name}
    files = {name: (ROOT / name.replace(".", "/")).with_suffix(".py") for name in tests}
    assert {name for name, file in files.items() if file.is_file()} <= CONTINUED
