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
