"""Fetching Debian's source of a kernel, with programs that pretend to be apt."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from guest import build, debian_source, source
from guest.choice import of_text
from orchestrator.errors import MachineError
from tests.support.kernel_source import ensure

APT_GET = r"""#!/bin/bash
echo "apt-get $*" >>"$0.calls"
for word; do case "$word" in Dir::Etc::SourceList=*) list=${word#*=} ;; esac; done
case " $* " in
  *" indextargets "*) cat "$0.targets" ;;
  *" update "*) grep -q -e ' trixie' -e ' sid' "$list" || { echo "E: no release" >&2; exit 100; } ;;
  *" download "*)
    [ ! -e "$0.broken" ] || { echo "E: wrong hash" >&2; exit 100; }
    name=${!#}; mkdir -p usr/src; echo kernel >"usr/src/$name.tar.xz"
    tar -cf "${name}_1_all.deb" "./usr/src/$name.tar.xz" ;;
esac
"""
APT_CACHE = r"""#!/bin/bash
for word; do case "$word" in Dir::Etc::SourceList=*) list=${word#*=} ;; esac; done
case "${!#}" in
  linux-source-7.3) if grep -q -s -e -backports "$list"; then echo "one | 7.3.4"; fi ;;
  linux-source-6.1) if [ -z "$list" ]; then echo "own | 6.1.192"; fi ;;
esac
"""
DPKG_DEB = '#!/bin/bash\nexec cat "$2"\n'


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the pretended programs; the cache is beside it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    programs = {"apt-get": APT_GET, "apt-cache": APT_CACHE, "dpkg-deb": DPKG_DEB}
    for name, text in programs.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "apt-get.targets").write_text(
        "Other|http://other.example|\nDebian|http://mirror.example/debian-security/|/key\n"
        "Debian|http://mirror.example/debian/|/a.gpg\n"
    )
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(source, "DEBIAN_FOLDER", tmp_path / "none")
    return folder


def quiet(step: str, fraction: float | None) -> None:
    pass


def calls(tools: Path) -> list[str]:
    return (tools / "apt-get.calls").read_text().splitlines()


def test_a_source_is_fetched_once_and_then_found_by_its_series(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MachineError, match=r"no source of Linux 7\.3 is here") as caught:
        source.locate(of_text("7.3"))
    assert "orchestrator guest fetch 7.3" in caught.value.fix
    steps: list[str] = []
    path = debian_source.fetch("7.3", lambda step, fraction: steps.append(step))
    assert path.read_text() == "kernel\n"
    assert source.locate(of_text("7.3")).path == path
    monkeypatch.setenv("ORCHESTRATOR_KERNEL_SOURCE", "7.3")
    assert source.locate().path == path
    assert [step.split()[-1] for step in steps] == ["sources", "trixie", *["trixie-backports"] * 2]
    count = len(calls(tools))
    assert debian_source.fetch("7.3", quiet) == path
    assert len(calls(tools)) == count
    assert [one.name for one in path.parent.iterdir()] == [path.name], "nothing else is left"


def test_a_series_in_the_environment_that_is_not_here_is_no_other_kernel(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_KERNEL_SOURCE", "5.4")
    for ask in (build.find, ensure, source.available):
        with pytest.raises(MachineError, match=r"no source of Linux 5\.4 is here"):
            ask()


def test_what_this_machine_knows_comes_first(tools: Path) -> None:
    assert debian_source.fetch("6.1", quiet).read_text() == "kernel\n"
    (call,) = calls(tools)
    assert call == "apt-get download --quiet linux-source-6.1"


def test_this_machines_apt_is_left_alone(tools: Path) -> None:
    debian_source.fetch("7.3", quiet)
    for call in calls(tools):
        if "indextargets" not in call:
            for option in (
                "Dir::Etc::SourceParts=/nonexistent",
                "Dir::State::Lists=",
                "Dir::Cache=",
            ):
                assert option in call


def test_a_series_that_no_release_has_is_said(tools: Path) -> None:
    with pytest.raises(MachineError, match=r"no release of Debian has linux-source-5\.4"):
        debian_source.fetch("5.4", quiet)


def test_what_cannot_be_downloaded_is_not_kept(tools: Path) -> None:
    (tools / "apt-get.broken").touch()
    with pytest.raises(MachineError, match="cannot be downloaded: E: wrong hash"):
        debian_source.fetch("7.3", quiet)
    (tools / "apt-get.broken").unlink()
    (tools / "dpkg-deb").write_text("#!/bin/bash\nhead -c 100 /dev/zero\n")
    with pytest.raises(MachineError, match="does not unpack"):
        debian_source.fetch("7.3", quiet)
    assert not list(tools.parent.glob("cache/sources/*"))


@pytest.mark.parametrize("targets", ["", "Ubuntu|http://other.example|\n"])
def test_a_machine_without_a_mirror_of_debian_is_refused(tools: Path, targets: str) -> None:
    (tools / "apt-get.targets").write_text(targets)
    with pytest.raises(MachineError, match="knows no mirror of Debian") as caught:
        debian_source.fetch("7.3", quiet)
    assert "name a kernel tree or a tarball" in caught.value.fix


def test_a_machine_without_apt_is_refused(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tools.parent))
    with pytest.raises(MachineError, match="no apt"):
        debian_source.fetch("7.3", quiet)


def test_a_kernel_is_named_by_a_path_too(tools: Path, tmp_path: Path) -> None:
    tree = tmp_path / "linux"
    tree.mkdir()
    with pytest.raises(MachineError, match="neither a kernel tree nor a tarball"):
        source.locate(of_text(str(tree)))
    (tree / "Kbuild").touch()
    assert source.locate(of_text(str(tree))).is_tree
    tarball = tmp_path / "linux.tar"
    with tarfile.open(tarball, "w") as archive:
        archive.add(tree, "linux")
    assert source.locate(of_text(str(tarball))).path == tarball
    with pytest.raises(MachineError, match=r"no source of Linux 6\.66"):
        build.find(of_text("6.66"))
