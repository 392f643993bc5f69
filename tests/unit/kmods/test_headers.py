"""The modules' headers may be included by several files of one module."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kmods.catalogue import headers

KMODS = Path(__file__).resolve().parents[3] / "kmods"
DEFINED = re.compile(r"^(?:static (?!inline\b|__always_inline\b)|extern [^;]*[={]).*", re.MULTILINE)
IN_A_MACRO = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


def without_macros(text: str) -> str:
    """Leave out macros, which define things in the file that uses them."""
    return IN_A_MACRO.sub("", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))


@pytest.mark.parametrize("path", headers().values(), ids=lambda path: path.name)
def test_a_header_has_no_data_and_no_function_that_is_not_inline(path: Path) -> None:
    assert not DEFINED.findall(without_macros(path.read_text(encoding="utf-8")))


def test_data_and_functions_are_found() -> None:
    text = "static int f(void)\n{\n}\n\nstatic const u32 x[] = { 1 };\n#define M \\\nstatic int y\n"
    text += "extern int declared;\nextern int defined = 1;\n"
    assert len(DEFINED.findall(without_macros(text))) == 3


def test_all_modules_are_of_one_version() -> None:
    """DKMS installs them together, by the version of cc.h."""
    said = {
        path.name: version
        for path in KMODS.glob("*.[ch]")
        for version in re.findall(r'MODULE_VERSION\("(.+)"\)', path.read_text(encoding="utf-8"))
    }
    assert len(said) >= 4
    assert len(set(said.values())) == 1, said
