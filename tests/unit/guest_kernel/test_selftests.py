"""The selftests of a small tree: what is compiled, what is kept, and what is said of the rest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from guest import selftests
from guest.choice import KernelChoice, PatchFile
from guest.confinement import Confine, unconfined
from guest.selftests import PRELOADED, SELFTESTS, FolderLists, Selftests
from orchestrator.errors import KernelBuildError
from orchestrator.sandbox.kernel_builds import confined
from tests.support.kernel_source import pack
from tests.support.run import KERNEL

NET = """\
OUTPUT := $(shell pwd)
TEST_PROGS := good.sh ../elsewhere.sh
TEST_GEN_PROGS := $(OUTPUT)/good $(OUTPUT)/lacking $(OUTPUT)/wrong
TEST_GEN_FILES := $(OUTPUT)/helper $(OUTPUT)/filter.bpf.o
all: ; @echo all is made
$(OUTPUT)/%: %.c ; $(CC) -o $@ $<
"""
DRILL = "TEST_PROGS := $(wildcard *.pkt)\n"
MAIN = "int main(void) { return 0; }\n"
PATCH = f"""\
--- a/{SELFTESTS}/net/good.c
+++ b/{SELFTESTS}/net/good.c
@@ -1 +1 @@
-int main(void) {{ return 0; }}
+int main(void) {{ return 7; }} /* patched */
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with selftests, of which two programs do not compile, and a cache."""
    tree = tmp_path / "linux"
    net = tree / SELFTESTS / "net"
    (net / "packetdrill").mkdir(parents=True)
    (tree / "Kbuild").touch()
    (tree / "Makefile").write_text("mrproper: ; @:\nheaders: ; @echo HEADERS of $(ARCH)\n")
    (net / "Makefile").write_text(NET)
    (net / "packetdrill/Makefile").write_text(DRILL)
    (net / "packetdrill/one.pkt").write_text("0 socket(...) = 3\n")
    (net / "good.sh").write_text("#!/bin/sh\n./helper\n")
    (net / "good.sh").chmod(0o755)
    for name, text in {
        "good": MAIN,
        "helper": MAIN,
        "lacking": "#include <no/such.h>\n" + MAIN,
        "wrong": "int main(void) { return nothing; }\n",
    }.items():
        (net / f"{name}.c").write_text(text)
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(selftests, "FREE_BYTES_NEEDED", 0)
    monkeypatch.setattr(selftests, "require_machine", lambda choice: None)
    monkeypatch.setattr(selftests, "_COMPILER_OF_BPF", "no-such-clang")
    return tree


def ensure(tree: Path, confine: Confine = unconfined, key: str = "key") -> Selftests:
    choice = KernelChoice("linux", pack(tree))
    return selftests.ensure(replace(KERNEL, key=key), choice, confine)


LISTED = (
    FolderLists(
        "net",
        ("good.sh", "good", "lacking", "wrong"),
        ("good", "lacking", "wrong", "helper", "filter.bpf.o"),
        {"lacking": "no/such.h", "wrong": "", "filter.bpf.o": "no-such-clang"},
    ),
    FolderLists("net/packetdrill", ("one.pkt",)),
)


@pytest.mark.slow
@pytest.mark.parametrize("confine", [unconfined, confined], ids=["unconfined", "confined"])
def test_the_lists_of_makefiles_are_read_and_what_can_be_compiled_is(
    tree: Path, confine: Confine
) -> None:
    found = ensure(tree, confine)
    assert found.folders == LISTED
    net = found.root / SELFTESTS / "net"
    assert (net / "good").stat().st_mode & 0o777 == 0o755
    assert (net / "good.c").stat().st_mode & 0o777 == 0o644
    assert (net / "good.sh").stat().st_mode & 0o777 == 0o755
    assert (found.root / PRELOADED).read_bytes().startswith(b"\x7fELF")
    assert not (found.root / "Makefile").exists()
    log = found.root.parents[1] / "logs/key.selftests.log"
    assert "HEADERS of x86" in log.read_text()


@pytest.mark.slow
def test_what_is_compiled_is_kept_until_what_was_missing_is_there(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ensure(tree)
    (tree / SELFTESTS / "net/good.c").unlink()
    assert ensure(tree) == first
    includes = tree.parent / "include"
    (includes / "no").mkdir(parents=True)
    (includes / "no/such.h").touch()
    monkeypatch.setattr(selftests, "_INCLUDES", (str(includes),))
    again = ensure(tree)
    assert "good" in again.folders[0].lacking, "it was not compiled anew"


@pytest.mark.slow
def test_the_users_patches_are_in_the_selftests(tree: Path) -> None:
    patches = (PatchFile("why.patch", PATCH.encode()),)
    choice = KernelChoice("linux", pack(tree), patches=patches)
    found = selftests.ensure(KERNEL, choice, unconfined)
    assert "patched" in (found.root / SELFTESTS / "net/good.c").read_text()


@pytest.mark.slow
def test_links_that_a_build_leaves_are_not_followed(tree: Path) -> None:
    secret = tree.parent / "secret"
    secret.write_text("secret")
    net = tree / SELFTESTS / "net"
    (net / "link.sh").symlink_to(secret)
    (tree / "tools/net").mkdir()
    (tree / "tools/net/ynl").symlink_to(tree.parent)
    found = ensure(tree)
    assert not [path for path in found.root.rglob("*") if path.name in ("link.sh", "secret")]


@pytest.mark.slow
def test_a_makefile_that_fails_is_an_error_with_its_last_lines(tree: Path) -> None:
    (tree / SELFTESTS / "net/Makefile").write_text("$(error no lists today)\n")
    with pytest.raises(KernelBuildError, match="no lists today"):
        ensure(tree)


def test_only_plain_names_are_taken_from_lists() -> None:
    lines = [
        "selftests-of TEST_PROGS a.sh -x ../b $(shell) b_1.py\n",
        "selftests-of OTHER x\n",
        "\n",
    ]
    assert selftests.lists_of(lines)["TEST_PROGS"] == ["a.sh", "b_1.py"]


def test_what_make_could_not_make_has_its_reason() -> None:
    # Captured from make 4.3 and gcc 12 on Linux 6.12, shortened.
    lines = [
        "reuseport_bpf_numa.c:24:10: fatal error: numa.h: No such file or directory\n",
        "make: *** [../lib.mk:221: /bed/tree/tools/net/reuseport_bpf_numa] Error 1\n",
        "tls.c:1679:9: error: too many arguments to function 'tls_crypto_info_init'\n",
        "make: *** [../lib.mk:221: /bed/tree/tools/net/tls] Error 1\n",
        "/usr/bin/ld: cannot find -lcap: No such file or directory\n",
        "make: *** [../lib.mk:222: /bed/tree/tools/net/epoll_busy_poll] Error 1\n",
    ]
    assert selftests.unmade(lines) == {
        "reuseport_bpf_numa": "numa.h", "tls": "", "epoll_busy_poll": "-lcap",
    }  # fmt: skip


def test_a_module_of_python_is_told_by_what_depends_on_the_code_that_it_writes() -> None:
    lines = [
        "tls.c:1:10: fatal error: tls.h: No such file or directory",
        "make: *** [../lib.mk:224: /bed/tree/tools/testing/selftests/net/tls] Error 1",
        "ModuleNotFoundError: No module named 'jsonschema'",
        "make[2]: *** [Makefile:43: netdev-user.h] Error 1",
        "make[1]: Target 'libynl.a' not remade because of errors.",
        "make: *** [ynl.mk:31: /bed/tree/tools/testing/selftests/net/libynl.a] Error 2",
        "make: Target '/bed/tree/tools/testing/selftests/net/tun' not remade because of errors.",
    ]
    assert selftests.unmade(lines) == {
        "tls": "tls.h", "libynl.a": "", "tun": "python3-jsonschema",
    }  # fmt: skip
    assert selftests.unmade(lines[-1:]) == {}
