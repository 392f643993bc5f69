"""The documentation's site has every page. ``make docs`` builds it, and fails on dead links."""

from __future__ import annotations

from pathlib import Path

from docs import conf
from tools import prose


def test_the_sidebar_has_each_page_once() -> None:
    pages = [name.rpartition("<")[2].rstrip(">") for names in conf.PAGES.values() for name in names]
    there = [str(file.relative_to(prose.ROOT).with_suffix("")) for file in prose.documents()]
    assert sorted([conf.root_doc, *pages]) == there


def test_the_sidebar_is_added_to_the_first_page_only() -> None:
    for name, added in (("README", True), ("docs/README", False)):
        source = ["# Title\n"]
        conf.prepare(None, name, source)
        assert source[0].startswith("# Title\n")
        assert ("\ndocs/trust\n" in source[0]) is added


def test_a_link_to_a_folder_becomes_its_text(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file.md").touch()
    text = "[a](folder) [b](file.md) [c](gone) [d](https://example.org) ![e](folder)"
    assert conf.without_folders(text, tmp_path) == text.replace("[a](folder)", "a")
