#!/usr/bin/env python3
"""Check the documents: short sentences, short lines, and links and paths that exist.

usage: prose.py [FILE...]

Without FILE, check README.md, ARCHITECTURE.md, CONTRIBUTING.md, SECURITY.md, CHANGELOG.md, the
pages in docs/ and scenarios/README.md. Print each finding as ``file:line: what is wrong``.
Status 0: no findings. Status 1: some.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = (
    "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
    "docs/*.md", "scenarios/README.md",
)  # fmt: skip
MOST_WORDS = 30
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


def check(file: Path, root: Path = ROOT) -> Iterator[Finding]:
    """Yield what is wrong in a document."""
    lines = list(_prose_lines(file.read_text(encoding="utf-8")))
    shown = file.relative_to(root) if file.is_relative_to(root) else file
    for number, line in lines:
        if len(line) > MOST_COLUMNS and not _is_table(line):
            yield Finding(shown, number, f"line of {len(line)} columns, at most {MOST_COLUMNS}")
    for block in blocks(lines):
        for sentence in sentences(block.text):
            words = count_words(sentence)
            if words > MOST_WORDS:
                text = f"sentence of {words} words, at most {MOST_WORDS}: {sentence[:80]}..."
                yield Finding(shown, block.line, text)
    for number, line in lines:
        yield from (Finding(shown, number, text) for text in _missing(line, file, root))


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
    return [each.strip() for each in _SENTENCE_END.split(text) if each.strip()]


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


def _missing(line: str, file: Path, root: Path) -> Iterator[str]:
    for _text, target in _LINK.findall(line):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = file.parent / name if name else file
        if not path.exists():
            yield f"link to {target}, which does not exist"
        elif anchor and path.suffix == ".md" and anchor not in _anchors(path):
            yield f"link to {target}, which has no such heading"
    for span in _CODE.findall(line):
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
    """Check the given documents, or all of them."""
    files = [Path(name).resolve() for name in arguments] or documents()
    findings = [finding for file in files for finding in check(file)]
    for finding in findings:
        sys.stdout.write(f"{finding}\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
