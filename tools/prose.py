#!/usr/bin/env python3
"""Check the documents, and the docstrings and comments of Python files.

usage: prose.py [FILE...]

No sentence may be longer than 45 words, and of a document's sentences at most one in ten longer
than 30. A limit for each of them would be met by cutting a sentence at its "because" or "so that".
That is choppy, and takes the reason from its fact. In documents, links and paths must exist, and a
paragraph is one line or has lines of at most 120 columns. In all other files, the documents that
they mention must exist, with the heading.

Without FILE, check README.md, ARCHITECTURE.md, CONTRIBUTING.md, SECURITY.md, CHANGELOG.md, the
pages in docs/ and docs/claims/, scenarios/README.md, all Python files of the repository's folders,
and what all files mention. Print each finding as ``file:line: what is wrong``. Status 0: no
findings. Status 1: some.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = (
    "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
    "docs/*.md", "docs/claims/*.md", "scenarios/README.md",
)  # fmt: skip
MOST_WORDS = 45
LONG_WORDS = 30
LONG_SHARE = 10
"""At most one in so many sentences of a document has more than LONG_WORDS; three always may."""

MOST_COLUMNS = 120

FOLDERS = (
    "bench", "docs", "guest", "kmods", "orchestrator", "playbooks", "results", "scenarios",
    "tests", "tools", "topologies", "web",
)  # fmt: skip
"""Folders of the repository. A path in backticks that begins with one must exist."""

MADE = ("results/runs.db",)
"""Paths below these folders that exist only after a run."""

_CODE = re.compile(r"`[^`]+`")
_CODES = re.compile(r"`[^`]+`(?:(?:,? (?:and |or )?|, | / |/)`[^`]+`)+")
_LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]+)\)")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[)\"*`]*\s+(?=[\"(*`]*[A-Z0-9`\[])")
_STRING = re.compile(r'[rRbBfF]{0,2}"""(.*?)"""', re.DOTALL)
_SECTION = re.compile(r"^(?:Args|Attributes|Raises|Returns|Yields):$")
_ENTRY = re.compile(r"^    [\w*]+: ")
_COMMENT = re.compile(r"^# ?(?! )")
_TABLE_RULE = re.compile(r"^=+( +=+)+$")
_MENTION = re.compile(r"\bdocs/[\w./-]+\.(?:md|ipynb|png|svg)(?:#[\w-]+)?")
_NO_MENTIONS = {"tests/unit/test_prose.py"}  # its documents are made up
_PATH = re.compile(rf"^(?:{'|'.join(FOLDERS)})/[\w./*-]*$")


class Block(NamedTuple):
    """A paragraph, a list item, a heading or a table's cell, with the line where it begins."""

    line: int
    text: str


class Finding(NamedTuple):
    """What is wrong, and where."""

    file: Path
    line: int
    text: str

    def __str__(self) -> str:
        """Return the finding as an editor can jump to it."""
        return f"{self.file}:{self.line}: {self.text}"


def documents(root: Path = ROOT) -> list[Path]:
    """Return the documents that are checked, sorted."""
    return sorted(path for pattern in DOCUMENTS for path in root.glob(pattern))


def sources(root: Path = ROOT) -> list[Path]:
    """Return the Python files that are checked, sorted."""
    return sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.py"))


def check(file: Path, root: Path = ROOT) -> Iterator[Finding]:
    """Yield what is wrong in a document or a Python file."""
    shown = file.relative_to(root) if file.is_relative_to(root) else file
    if file.suffix == ".py":
        yield from _long_sentences(python_blocks(file.read_text(encoding="utf-8")), shown)
        return
    lines = list(_prose_lines(file.read_text(encoding="utf-8")))
    for number, line in _part_lines(lines):
        if len(line) > MOST_COLUMNS:
            yield Finding(shown, number, f"line of {len(line)} columns, at most {MOST_COLUMNS}")
    all_blocks = list(blocks(lines))
    yield from _long_sentences(all_blocks, shown)
    yield from _too_many_long_ones(all_blocks, shown)
    for block in all_blocks:
        yield from (Finding(shown, block.line, text) for text in _missing(block.text, file, root))


def _long_sentences(all_blocks: Iterable[Block], shown: Path) -> Iterator[Finding]:
    for block in all_blocks:
        for sentence in sentences(block.text):
            count = count_words(sentence)
            if count > MOST_WORDS:
                text = f"sentence of {count} words, at most {MOST_WORDS}: {sentence[:80]}..."
                yield Finding(shown, block.line, text)


def _too_many_long_ones(all_blocks: Iterable[Block], shown: Path) -> Iterator[Finding]:
    counts = [
        (block.line, count_words(sentence))
        for block in all_blocks
        for sentence in sentences(block.text)
        if sentence.endswith((".", "!", "?"))
    ]
    long = [line for line, number in counts if number > LONG_WORDS]
    if len(long) > max(3, len(counts) // LONG_SHARE):
        text = f"{len(long)} of {len(counts)} sentences have more than {LONG_WORDS} words: lines "
        yield Finding(shown, long[0], text + ", ".join(map(str, long)))


def _part_lines(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the lines of paragraphs and items that have more than one; tables are left out."""
    texts = ["", *(line for _number, line in lines), ""]
    for (number, line), before, after in zip(lines, texts[:-2], texts[2:], strict=True):
        continues = bool(before.strip()) and not _is_table(before) and not _ITEM.match(line)
        continued = bool(after.strip()) and not _is_table(after) and not _ITEM.match(after)
        if (continues or continued) and not _is_table(line):
            yield number, line


def mentioning(root: Path = ROOT) -> list[Path]:
    """Return the files in which mentions of documents are looked for, sorted."""
    names = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z"], check=True, capture_output=True, text=True
    ).stdout.split("\0")
    files = [root / name for name in names if name and name not in _NO_MENTIONS]
    return sorted(file for file in files if file.is_file())


def mentions(file: Path, root: Path = ROOT) -> Iterator[Finding]:
    """Yield the documents that a file mentions by their path, and that do not exist."""
    for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), 1):
        for match in _MENTION.finditer(line):
            name, _, anchor = match[0].partition("#")
            path = root / name
            wrong = not path.exists() or (anchor and anchor not in _anchors(path))
            if wrong and not line[: match.start()].endswith("../"):
                yield Finding(
                    file.relative_to(root), number, f"mention of {match[0]}, which does not exist"
                )


def python_blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a Python file's docstrings and of its comments on lines of their own.

    A string in three double quotes at the beginning of a line counts as a docstring, unless it
    begins with an empty line: such strings hold code or data.
    """
    for match in _STRING.finditer(text):
        if match[1].startswith("\n"):
            continue
        if not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip():
            number = text.count("\n", 0, match.start()) + 1
            yield from blocks(list(_docstring_lines(match[1], number)))
    code = _STRING.sub(lambda match: "\n" * match[0].count("\n"), text)
    lines = ((number, line.strip()) for number, line in enumerate(code.splitlines(), 1))
    yield from blocks([(n, line[1:].strip() if _COMMENT.match(line) else "") for n, line in lines])


def _docstring_lines(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Yield (number, line) of a docstring's prose; literals and tables are empty lines.

    An entry of a section such as "Args" becomes a list item without its name.
    """
    section = literal = table = False
    before = ""
    for number, line in enumerate(inspect.cleandoc(text).splitlines(), first):
        if not line:
            table = False
        elif _TABLE_RULE.match(line) or line == "\\b":
            table = True
        elif not line.startswith(" "):
            section, literal = bool(_SECTION.match(line)), False
        elif not before and not section:
            literal = True
        prose = not (literal or table or _SECTION.match(line))
        yield number, _ENTRY.sub("- ", line).replace("``", "`") if prose else ""
        before = line


def blocks(lines: Sequence[tuple[int, str]]) -> Iterator[Block]:
    """Yield the blocks of numbered lines of prose; an empty line ends a block."""
    begun: Block | None = None
    for number, line in [*lines, (0, "")]:
        separate = not line.strip() or line.startswith("#") or _is_table(line)
        if begun and (separate or _ITEM.match(line)):
            yield begun
            begun = None
        if _is_table(line):
            cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
            yield from (Block(number, cell.strip()) for cell in cells)
        elif separate:
            if line.strip():
                yield Block(number, line.lstrip("# "))
        else:
            text = _ITEM.sub("", line).strip()
            begun = Block(begun.line, f"{begun.text} {text}") if begun else Block(number, text)


def sentences(text: str) -> list[str]:
    """Return the sentences of a block."""
    return [sentence.strip() for sentence in _SENTENCE_END.split(text) if sentence.strip()]


def count_words(sentence: str) -> int:
    """Return the number of words. A link counts as its text, a list of code spans as one word."""
    plain = _LINK.sub(r"\1", sentence)
    plain = _CODE.sub("code", _CODES.sub("code", plain))
    return sum(1 for word in plain.split() if re.search(r"\w", word))


def _prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number, line) of all lines outside of code blocks; a code block is an empty line."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip() == fence:
            fence = ""
        elif not fence:
            yield number, line
            continue
        yield number, ""


def _is_table(line: str) -> bool:
    return line.lstrip().startswith("|")


def _missing(text: str, file: Path, root: Path) -> Iterator[str]:
    for _text, target in _LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = file.parent / name if name else file
        if not path.exists():
            yield f"link to {target}, which does not exist"
        elif anchor and path.suffix == ".md" and anchor not in _anchors(path):
            yield f"link to {target}, which has no such heading"
    for span in _CODE.findall(text):
        path_text = span.strip("`").partition(":")[0]
        if path_text in MADE or not _PATH.match(path_text):
            continue
        if not any(root.glob(path_text.rstrip("/"))):
            yield f"path {path_text}, which does not exist"


def _anchors(file: Path) -> set[str]:
    headings = (
        line.lstrip("# ")
        for _number, line in _prose_lines(file.read_text(encoding="utf-8"))
        if line.startswith("#")
    )
    return {
        re.sub(r"[^\w\- ]", "", _LINK.sub(r"\1", heading)).strip().lower().replace(" ", "-")
        for heading in headings
    }


def main(arguments: Sequence[str]) -> int:
    """Check the given files, or all of them."""
    files = [Path(name).resolve() for name in arguments] or [*documents(), *sources()]
    findings = [finding for file in files for finding in check(file)]
    if not arguments:
        findings += [finding for file in mentioning() for finding in mentions(file)]
    for finding in findings:
        sys.stdout.write(f"{finding}\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
