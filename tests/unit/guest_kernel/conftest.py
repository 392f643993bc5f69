"""A kernel source of a few lines, and a machine whose make and compiler pretend."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from guest import build, patch_series
from tests.support.kernel_source import PATCH, pack

FAKE_MAKE = r"""#!/bin/bash
set -e
echo "make $*" >>"$0.calls"
case "$*" in
  *olddefconfig*) if [ -e lacking ]; then sed -i -f lacking .config; fi ;;
  *defconfig*) [ -e .config ] || printf 'CONFIG_BASE=y\n# CONFIG_OLD is not set\n' >.config ;;
  *mrproper*) rm -f .config ;;
  *linux*)
    seq -f '  CC  file%g.o' 40
    if [ -e broken.c ]; then echo 'broken.c:1: error: no'; exit 2; fi
    mkdir -p include/config net
    echo "6.12.7$(cat localversion-guest 2>/dev/null)" >include/config/kernel.release
    echo 1 | tee linux System.map Module.symvers net/tcp_one.ko arch/um/x.o >/dev/null
    chmod +x linux ;;
esac
"""
FAKE_GCC = "#!/bin/sh\necho 'gcc (Fake) 12.2.0'\necho more\n"
MERGE = '#!/bin/sh\ncat "$3" >>"$2"\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A kernel tree of a few files."""
    tree = tmp_path / "linux-6.12"
    for folder in ("scripts/kconfig", "include", "arch/um", "arch/x86", "drivers"):
        (tree / folder).mkdir(parents=True)
    (tree / "Makefile").write_text("HZ = 100\n")
    (tree / "Kbuild").touch()
    merge = tree / "scripts/kconfig/merge_config.sh"
    merge.write_text(MERGE)
    merge.chmod(0o755)
    return tree


@pytest.fixture
def machine(tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with that source and pretended tools; returns the cache."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in {
        "make": FAKE_MAKE,
        "gcc": FAKE_GCC,
        **dict.fromkeys(("flex", "bison", "bc"), ""),
    }.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    patches = tmp_path / "patches"
    patches.mkdir()
    (patches / "0001-hz.patch").write_text(PATCH)
    (tmp_path / "kernel.config").write_text("# why\nCONFIG_ASKED=y\n# CONFIG_OLD is not set\n")
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ORCHESTRATOR_KERNEL_SOURCE", str(pack(tree)))
    monkeypatch.setattr(patch_series, "PATCHES", patches)
    monkeypatch.setattr(build, "FRAGMENT", tmp_path / "kernel.config")
    monkeypatch.setattr(build, "FREE_BYTES_NEEDED", 0)
    return tmp_path / "cache"
