"""Archives that another machine sends."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.backends.remote.archive import MOST_MEMBERS, unpack
from orchestrator.errors import RemoteError

Member = tarfile.TarInfo


def archive_of(path: Path, *members: tuple[Member, bytes]) -> Path:
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as archive:
        for member, data in members:
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def plain(name: str) -> Member:
    return Member(name)


def kind(name: str, type_: bytes, target: str = "") -> Member:
    member = Member(name)
    member.type, member.linkname = type_, target
    return member


def test_plain_files_and_folders_are_unpacked(tmp_path: Path) -> None:
    folder = kind("./deep", tarfile.DIRTYPE)
    files = (plain("./a"), b"one"), (folder, b""), (plain("./deep/b"), b"two")
    unpack(archive_of(tmp_path / "tar", *files), tmp_path / "here", "them")
    assert (tmp_path / "here" / "a").read_bytes() == b"one"
    assert (tmp_path / "here" / "deep" / "b").read_bytes() == b"two"


@pytest.mark.parametrize(
    "make",
    [
        lambda: plain("../up"),
        lambda: plain("a/../../up"),
        lambda: plain("/etc/up"),
        lambda: kind("link", tarfile.SYMTYPE, "/etc"),
        lambda: kind("hard", tarfile.LNKTYPE, "/etc/passwd"),
        lambda: kind("fifo", tarfile.FIFOTYPE),
        lambda: kind("device", tarfile.CHRTYPE),
        lambda: kind("disk", tarfile.BLKTYPE),
    ],
)
def test_nothing_else_is(tmp_path: Path, make: Callable[[], Member]) -> None:
    tar = archive_of(tmp_path / "tar", (make(), b""))
    with pytest.raises(RemoteError, match=r"them: sent .* which is not a regular file"):
        unpack(tar, tmp_path / "here", "them")
    assert not (tmp_path / "here").exists()


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**34)
    os.system(f"tar --sparse -C {tmp_path} -cf {tmp_path}/tar sparse")  # noqa: S605 - our own
    assert (tmp_path / "tar").stat().st_size < 2**20
    with pytest.raises(RemoteError, match="not a regular file"):
        unpack(tmp_path / "tar", tmp_path / "here", "them")


@pytest.mark.slow
def test_bytes_and_files_are_bounded(tmp_path: Path) -> None:
    tar = archive_of(tmp_path / "tar", (plain("a"), bytes(600)), (plain("b"), bytes(600)))
    with pytest.raises(RemoteError, match="too much, at b"):
        unpack(tar, tmp_path / "here", "them", most_bytes=1000)
    many = [(plain(f"f{number}"), b"") for number in range(MOST_MEMBERS + 1)]
    with pytest.raises(RemoteError, match=f"in {MOST_MEMBERS} files"):
        unpack(archive_of(tmp_path / "tar", *many), tmp_path / "there", "them")


@pytest.mark.parametrize("damage", [lambda data: data[:700], lambda data: b"x" * 600])
def test_what_is_no_archive_is_told(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    tar = archive_of(tmp_path / "tar", (plain("a"), bytes(6000)))
    tar.write_bytes(damage(tar.read_bytes()))
    with pytest.raises(RemoteError, match="them: "):
        unpack(tar, tmp_path / "here", "them")


def test_a_name_that_is_a_folder_and_a_file_is_refused(tmp_path: Path) -> None:
    tar = archive_of(tmp_path / "tar", (plain("a"), b"x"), (plain("a/b"), b"y"))
    with pytest.raises(RemoteError, match="a name twice"):
        unpack(tar, tmp_path / "here", "them")
