"""The order of loading modules, by what their files say they depend on."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.backends.modules import load_order
from orchestrator.errors import MachineError, ModuleError


def built(folder: Path, **depends: str) -> list[Path]:
    """Write module files that say so of their dependencies; return the folders to search."""
    for name, others in depends.items():
        text = f"license=GPL\0depends={others}\0name={name}\0"
        (folder / f"{name}.ko").write_bytes(b"\x7fELF\0" + text.encode())
    return [folder]


def order(folders: list[Path], *names: str) -> list[str]:
    return [path.stem for path in load_order(folders, names)]


def test_a_module_comes_behind_all_it_depends_on_and_once(tmp_path: Path) -> None:
    folders = built(tmp_path, a="b,c", b="d", c="d,b", d="", e="d")
    assert order(folders, "a", "e", "b") == ["d", "b", "c", "a", "e"]


def test_many_ways_to_one_module_are_gone_once(tmp_path: Path) -> None:
    # Gone again for each way, 25 levels of two would be 33 million.
    levels = {f"m{n}": f"m{n + 1},n{n + 1}" for n in range(25)}
    levels |= {f"n{n}": f"m{n + 1},n{n + 1}" for n in range(25)}
    folders = built(tmp_path, **levels, m25="", n25="")
    assert order(folders, "m0")[-1] == "m0"


@pytest.mark.parametrize(
    ("depends", "said"),
    [
        ({"a": "a"}, "module a depends on itself: a -> a\n  fix: "),
        ({"a": "b", "b": "c", "c": "b"}, "module b depends on itself: b -> c -> b"),
        ({"a": "../../etc/passwd"}, "`a.ko` depends on `../../etc/passwd`, which is no module's"),
        ({"a": ".."}, "`a.ko` depends on `..`, which is no module's name"),
        ({"a": "x" * 5000}, "`a.ko` depends on `xxxxxxx"),
        ({"a": "\33[2J"}, "`a.ko` depends on `\ufffd[2J`"),
        ({"a": "none"}, "no module none, which a depends on"),
        ({f"m{n}": f"m{n + 1}" for n in range(40)} | {"a": "m0"}, "too many others in a row: a ->"),
    ],
)
def test_what_cannot_be_loaded_is_refused(
    tmp_path: Path, depends: dict[str, str], said: str
) -> None:
    with pytest.raises((MachineError, ModuleError)) as refused:
        order(built(tmp_path, **depends), "a")
    assert said in str(refused.value)
    assert len(str(refused.value)) < 1000
