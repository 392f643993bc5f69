"""The bundle of byte code that a guest imports from: what is in it, and how it is imported."""

from __future__ import annotations

import importlib.util
import json.decoder
import marshal
import py_compile
import subprocess
import sys
from pathlib import Path

from orchestrator.backends import bed_bundle
from orchestrator.protocol import BUNDLE

IMPORTER = """
import sys
from orchestrator.testbed import bundle
bundle.install(sys.argv[1], "/code")
import part.inner
print(part.__file__, part.__path__, part.inner.__file__, part.inner.where.__code__.co_filename)
"""


def imported(path: Path) -> subprocess.CompletedProcess[str]:
    """Import a module of a bundle in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", IMPORTER, str(path)], capture_output=True, text=True, check=False
    )


UNLOCKED = """
import _frozen_importlib, sys
from orchestrator.testbed import bundle
bundle.install(sys.argv[1], "/code")
names = ("_ModuleLockManager", "_ImportLockContext")
before = [getattr(_frozen_importlib, name) for name in names]
taken = []
for manager in before:
    manager.__enter__ = lambda self, enter=manager.__enter__: (taken.append(1), enter(self))[1]
with bundle.without_locks():
    import part.inner
    try:
        import part.none
    except ModuleNotFoundError as error:
        print(error.name, part.inner.where(), len(taken))
print(before == [getattr(_frozen_importlib, name) for name in names])
import colorsys
print(bool(taken))
"""


def made(folder: Path, magic: bytes = importlib.util.MAGIC_NUMBER) -> Path:
    """Make a bundle of the package ``part`` with the module ``inner``."""
    modules = {}
    for name, text in (("part", ""), ("part.inner", "def where(): return 1\n")):
        code = compile(text, "/elsewhere.py", "exec")
        file = "part/__init__.py" if name == "part" else "part/inner.py"
        modules[name] = (name == "part", file, marshal.dumps(code))
    path = folder / "made.bundle"
    path.write_bytes(marshal.dumps((magic, modules)))
    return path


def test_modules_are_imported_from_a_bundle_as_from_their_files(tmp_path: Path) -> None:
    done = imported(made(tmp_path))
    assert done.stdout.split() == [
        "/code/part/__init__.py", "['/code/part']", "/code/part/inner.py", "/code/part/inner.py"
    ]  # fmt: skip


def test_imports_without_locks_are_like_others_and_end_with_the_context(tmp_path: Path) -> None:
    words = [sys.executable, "-c", UNLOCKED, str(made(tmp_path))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["part.none 1 0", "True", "True"]


def test_a_bundle_of_another_python_or_none_changes_nothing(tmp_path: Path) -> None:
    for path in (made(tmp_path, b"\0\0\r\n"), tmp_path / "none"):
        done = imported(path)
        assert "No module named 'part'" in done.stderr


def test_it_has_the_bed_and_what_the_bed_imports(tmp_path: Path) -> None:
    bed_bundle.write(tmp_path)
    magic, modules = marshal.loads((tmp_path / BUNDLE).read_bytes())
    assert magic == importlib.util.MAGIC_NUMBER
    expected = {*bed_bundle.LIBRARY, *(f"mininet.{name}" for name in bed_bundle.MININET)}
    expected |= {"orchestrator", "orchestrator.testbed", "orchestrator.testbed.network.build"}
    assert expected <= set(modules)
    assert modules["orchestrator.testbed"][:2] == (True, "orchestrator/testbed/__init__.py")
    assert modules["json.decoder"][:2] == (False, json.decoder.__file__)


def test_a_module_that_changed_since_it_was_compiled_is_left_out(tmp_path: Path) -> None:
    source = tmp_path / "one.py"
    source.write_text("value = 1\n", encoding="utf-8")
    assert list(bed_bundle._module(source, "one.py", "one")) == []
    py_compile.compile(str(source))
    ((name, (is_package, place, content)),) = bed_bundle._module(source, "one.py", "one")
    assert (name, is_package, place) == ("one", False, "one.py")
    assert marshal.loads(content).co_names == ("value",)
    source.write_text("value = 22\n", encoding="utf-8")
    assert list(bed_bundle._module(source, "one.py", "one")) == []
