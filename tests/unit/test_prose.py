"""The documents are readable, their links resolve, and the tool that checks this works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import prose


def found(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "page.md"
    file.write_text(text, encoding="utf-8")
    return [finding.text for finding in prose.check(file, tmp_path)]


@pytest.mark.slow
def test_the_documents_have_no_findings() -> None:
    assert len(prose.documents()) > 10
    findings = [str(finding) for file in prose.documents() for finding in prose.check(file)]
    assert not findings, "\n".join(findings)


@pytest.mark.slow
def test_the_python_files_have_no_findings() -> None:
    assert len(prose.sources()) > 100
    findings = [str(finding) for file in prose.sources() for finding in prose.check(file)]
    assert not findings, "\n".join(findings)


def test_the_readme_is_short() -> None:
    text = (prose.ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    words = len(text.split())
    assert words <= 1100, f"README.md has {words} words, at most 1100: put more into docs/"


LONG = "Word " + "word " * 44 + "end."
SHORT = "Word " + "word " * 28 + "end."


@pytest.mark.parametrize(
    "text",
    [
        LONG.replace("word word word ", "word word word\n", 1),
        f"- item\n- {LONG}",
        f"| short | {LONG} |",
        f"# {LONG}",
    ],
)
def test_a_long_sentence_is_found_wherever_it_is(tmp_path: Path, text: str) -> None:
    assert [each for each in found(tmp_path, text) if each.startswith("sentence of 46 words")]


@pytest.mark.parametrize(
    "text",
    [
        f"| {SHORT} {SHORT} | {SHORT} |",
        "\n".join([*["short words"] * 10, "", *["short words"] * 10]),
        f"```\n{LONG} {'x' * 121}\n```",
        " ".join(["`code`"] * 40),
        "https://example.org/" + "/a" * 40,
    ],
)
def test_separate_sentences_and_code_are_not_counted_together(tmp_path: Path, text: str) -> None:
    assert not [each for each in found(tmp_path, text) if each.startswith("sentence")]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f'"""Short.\n\n{LONG}\n"""\n', 3),
        (f'def f():\n    r"""{LONG}"""\n', 2),
        (f'"""Short.\n\n- item\n- {LONG}\n"""\n', 4),
        (
            f'def f():\n    """Short.\n\n    Args:\n        a: short\n        b: {LONG}\n    """\n',
            6,
        ),
        (f'"""Short.\n\n== ==\na  b\n== ==\n\n{LONG}\n"""\n', 7),
        (f"x = 1\n# {LONG.replace('word word word ', 'word word word' + chr(10) + '# ', 1)}\n", 2),
    ],
)
def test_a_long_sentence_of_a_python_file_is_found_at_its_line(
    tmp_path: Path, text: str, line: int
) -> None:
    file = tmp_path / "module.py"
    file.write_text(text, encoding="utf-8")
    (finding,) = prose.check(file, tmp_path)
    assert finding.line == line
    assert finding.text.startswith("sentence of 46 words")


@pytest.mark.parametrize(
    "text",
    [
        f'x = """{LONG}"""\n# Short.\n',
        f'x = """\n# {LONG}\n"""\n',
        f'"""Short::\n\n    {LONG}\n\nShort.\n"""\n',
        f'"""Short.\n\n\\b\n{LONG}\n"""\n',
        f'"""Short.\n\n== ==\n{LONG}\n== ==\n"""\n',
        f'"""Short.\n\nArgs:\n    a: {SHORT[:-1]}\n    b: {SHORT}\n"""\n',
        f"# {SHORT}\n#   {SHORT}\n",
        f"# {SHORT[:-1]}\n\n# {SHORT}\n",
    ],
)
def test_literals_tables_and_entries_of_a_python_file_are_not_added_up(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "module.py"
    file.write_text(text, encoding="utf-8")
    assert not list(prose.check(file, tmp_path))


WHOLE = "Word " + "word " * 30 + "end."


def test_a_document_may_have_one_longer_sentence_in_ten(tmp_path: Path) -> None:
    assert not found(tmp_path, "\n\n".join([*[WHOLE] * 3, SHORT]))
    assert not found(tmp_path, "\n\n".join([*[WHOLE] * 4, *[SHORT] * 36]))
    assert found(tmp_path, "\n\n".join([*[WHOLE] * 4, *[SHORT] * 35])) == [
        "4 of 39 sentences have more than 30 words: lines 1, 3, 5, 7"
    ]


def test_a_long_line_is_found_where_a_paragraph_has_several(tmp_path: Path) -> None:
    long = "a" * 121
    wrong = ["line of 121 columns, at most 120"]
    assert found(tmp_path, f"{long}\nmore") == wrong
    assert found(tmp_path, f"less\n{long}") == wrong
    assert found(tmp_path, f"- less\n  {long[2:]}\n- item") == wrong
    assert not found(tmp_path, f"{'a' * 120}\nmore")
    assert not found(tmp_path, f"less\n\n{long}\n\n- {long}\n- {long}\n\n| {long} |\n| {long} |")


def test_a_document_that_a_file_mentions_must_exist(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "there.md").write_text("# A heading\n", encoding="utf-8")
    file = tmp_path / "code.c"
    file.write_text("/* docs/there.md, docs/there.md#a-heading */\n", encoding="utf-8")
    assert not list(prose.mentions(file, tmp_path))
    file.write_text("/*\n * see docs/gone.md\n * and docs/there.md#none */\n", encoding="utf-8")
    assert [str(each) for each in prose.mentions(file, tmp_path)] == [
        "code.c:2: mention of docs/gone.md, which does not exist",
        "code.c:3: mention of docs/there.md#none, which does not exist",
    ]


@pytest.mark.slow
def test_all_documents_that_files_mention_exist() -> None:
    assert len(prose.mentioning()) > 500
    findings = [str(each) for file in prose.mentioning() for each in prose.mentions(file)]
    assert not findings, "\n".join(findings)


def test_links_and_paths_must_exist(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "there.md").write_text("# A `good` heading\n", encoding="utf-8")
    good = "[a](docs/there.md#a-good-heading) `docs/there.md` `docs/*.md` `results/runs.db`"
    assert not found(tmp_path, good)
    bad = "[a](docs/there.md#none) [b](gone.md) `docs/gone.md`"
    assert found(tmp_path, bad) == [
        "link to docs/there.md#none, which has no such heading",
        "link to gone.md, which does not exist",
        "path docs/gone.md, which does not exist",
    ]


def test_a_link_over_two_lines_must_exist(tmp_path: Path) -> None:
    assert found(tmp_path, "[two\nlines](gone.md)") == ["link to gone.md, which does not exist"]


def test_status_tells_whether_there_are_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "page.md"
    file.write_text("Good.\n", encoding="utf-8")
    assert prose.main([str(file)]) == 0
    file.write_text("less\n" + "a" * 121, encoding="utf-8")
    assert prose.main([str(file)]) == 1
    assert ":2: line of 121 columns" in capsys.readouterr().out
