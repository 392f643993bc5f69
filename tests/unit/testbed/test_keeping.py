"""What a bed takes of the files that a program has left."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator import plaintext
from orchestrator.protocol import kept_files
from orchestrator.testbed.programs.keeping import Kept

MOST = kept_files.MOST_RUN_BYTES


def taken(folder: Path, *patterns: str, most_bytes: int = MOST) -> tuple[dict[str, bytes], Any]:
    """Return the contents that are kept by name, and (name, reason) of what is left out."""
    kept = Kept(str(folder), patterns, most_bytes)
    names = [file["name"] for file in kept.files]
    assert [file["bytes"] for file in kept.files] == [len(content) for content in kept.contents]
    contents = dict(zip(names, kept.contents, strict=True))
    return contents, [(file["name"], file["reason"]) for file in kept.left_out]


def test_patterns_match_names_of_one_folder_in_order(tmp_path: Path) -> None:
    (tmp_path / "log" / "deep").mkdir(parents=True)
    for name in ("b", "a", ".c", "log/2.json", "log/1.json", "log/x.txt", "log/deep/3.json"):
        (tmp_path / name).write_text(name)
    assert list(taken(tmp_path, "[ab]")[0]) == ["a", "b"]
    assert taken(tmp_path, "l?g/*.json", "a", "*/1.json") == (
        {"log/1.json": b"log/1.json", "log/2.json": b"log/2.json", "a": b"a"}, [],
    )  # fmt: skip
    assert taken(tmp_path, "*") == ({"a": b"a", "b": b"b"}, [("log", "kind")])
    assert list(taken(tmp_path, ".*")[0]) == [".c"]
    assert taken(tmp_path, "z", "*.json", "a/b", "log/*/*/*") == ({}, [
        ("z", "missing"), ("*.json", "missing"), ("a/b", "missing"), ("log/*/*/*", "missing"),
    ])  # fmt: skip


def test_no_link_is_followed_and_only_regular_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "folder"
    (folder / "real").mkdir(parents=True)
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "up").symlink_to(tmp_path)
    os.mkfifo(folder / "fifo")
    assert taken(folder, "link", "up/secret", "up/*", "fifo", "real") == ({}, [
        ("link", "kind"), ("up/secret", "missing"), ("up/*", "missing"), ("fifo", "kind"),
        ("real", "kind"),
    ])  # fmt: skip


def test_names_that_cannot_be_shown_are_left_out_with_escapes(tmp_path: Path) -> None:
    long = "l" * (kept_files.MOST_NAME_BYTES + 1)
    for name in (b"a\nb", b"\x1b[2J", b"\xff", "‮gpj".encode(), long.encode()):
        (tmp_path / os.fsdecode(name)).touch()
    contents, left_out = taken(tmp_path, "*")
    assert contents == {}
    assert {name for name, reason in left_out} == {
        "a\\nb", "\\x1b[2J", "\\xff", "\\u202egpj", f"{'l' * 100}...",
    }  # fmt: skip
    assert {reason for name, reason in left_out} == {"name"}


def test_what_is_kept_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    for number in range(6):
        (tmp_path / f"f{number}").write_bytes(b"x" * 10)
    assert taken(tmp_path, "sparse", "f0") == ({"f0": b"x" * 10}, [("sparse", "size")])
    assert taken(tmp_path, "f[01]", most_bytes=19)[1] == [("f1", "run")]
    monkeypatch.setattr(kept_files, "MOST_BYTES", 25)
    assert taken(tmp_path, "f[0-3]")[1] == [("f2", "size"), ("f3", "size")]
    monkeypatch.setattr(kept_files, "MOST_FILES", 1)
    monkeypatch.setattr(kept_files, "MOST_LEFT_OUT", 2)
    assert taken(tmp_path, "f*") == (
        {"f0": b"x" * 10}, [("f1", "number"), ("f2", "number"), ("3 more", "more")],
    )  # fmt: skip
    monkeypatch.setattr(kept_files, "MOST_LOOKED_AT", 3)
    assert ("f*", "entries") in taken(tmp_path, "f*")[1]


def test_a_file_without_rights_is_read_and_a_hard_link_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\0\xff")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    assert taken(tmp_path, "a", "a", "[ab]") == ({"a": b"\0\xff", "b": b"\0\xff"}, [])


def test_names_of_kept_files_have_no_character_that_outputs_escape() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if character not in "/." and not 0xD800 <= code <= 0xDFFF:
            shown = plaintext.one_line(character) == character
            assert kept_files.is_name(f"a{character}") == shown, hex(code)
    assert not kept_files.is_name("a\ud800")


@pytest.mark.parametrize("name", ["", ".", "..", "a/..", "/a", "a/", "a//b", "./a", "a" * 201])
def test_paths_that_lead_elsewhere_are_no_names(name: str) -> None:
    assert not kept_files.is_name(name)
