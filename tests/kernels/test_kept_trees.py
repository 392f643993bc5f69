"""A real kernel of which one line changed: built in the kept tree, to the bits of a clean build."""

from __future__ import annotations

import difflib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from guest import cache, compiled, kept_trees, source
from guest.build import GuestKernel
from guest.choice import KernelChoice, PatchFile
from guest.source import Source
from orchestrator.backends.kernels import ensure

pytestmark = [pytest.mark.guest, pytest.mark.long]

CUBIC, BETA = "net/ipv4/tcp_cubic.c", "static int beta __read_mostly = 717"
COMPILES = re.compile(r"^  CC ", re.MULTILINE)


def files(kernel: GuestKernel) -> dict[str, str]:
    """Return the hash of all that is kept of a kernel, by paths, but for its manifest."""
    folder = kernel.linux.parent
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    hashes = {str(path.relative_to(folder)): cache.sha256(path) for path in paths}
    del hashes["manifest.json"]
    return hashes


def test_one_changed_line_compiles_few_files_and_to_the_bits_of_a_clean_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = source.locate()
    assert not default.is_tree, "give the default kernel as a tarball: it is unpacked here"
    ensure()
    seed = compiled.folder_of(cache.own_root(), default)
    tree = tmp_path / "linux"
    tree.mkdir()
    unpack = ["tar", "--extract", "--strip-components=1", f"--file={default.path}"]
    subprocess.run([*unpack, f"--directory={tree}"], check=True)
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    own = compiled.folder_of(cache.make_root(), Source(tree))
    shutil.copytree(seed, own, dirs_exist_ok=True)  # as if this tree had been built before
    choice = KernelChoice("linux", tree)
    ensure(choice=choice)
    text = (tree / CUBIC).read_text()
    assert BETA in text
    (tree / CUBIC).write_text(text.replace(BETA, BETA.replace("717", "710")))
    other = text.replace(BETA, BETA.replace("717", "700"))
    before, after = (each.splitlines(keepends=True) for each in (text, other))
    patch = "".join(difflib.unified_diff(before, after, f"a/{CUBIC}", f"b/{CUBIC}"))
    patched = KernelChoice("linux", tree, patches=(PatchFile("beta.patch", patch.encode()),))
    for wanted in (choice, patched):
        if wanted is patched:
            (tree / CUBIC).write_text(text)
        kernel = ensure(choice=wanted)
        log = kernel.linux.parents[1] / f"logs/{kernel.key}.log"
        said = log.read_text()
        assert "defconfig" not in said
        kept = files(kernel)
        shutil.rmtree(kernel.linux.parent)
        shutil.rmtree(kernel.linux.parents[1] / "trees")
        with monkeypatch.context() as patched_module:
            patched_module.setattr(kept_trees, "touched_by_changes", lambda _changes: None)
            again = ensure(choice=wanted)
        said_anew = log.read_text()
        assert "defconfig" in said_anew
        assert len(COMPILES.findall(said)) < len(COMPILES.findall(said_anew)) / 10
        assert files(again) == kept
