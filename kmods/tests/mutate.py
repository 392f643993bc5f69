# SPDX-License-Identifier: GPL-2.0-only
"""Changes each numeric constant of the core headers, one at a time: some test must fail.

A constant becomes one more and, in a second mutant, one less. Prints every mutant that no test
noticed and exits 1 when there is one. Comments and the lines of the include guards are left alone.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORE = HERE.parent / "core"
NOT_MUTATED = {"userspace.h"}  # stands in for the kernel's own headers
TIME_LIMIT_S = 60
NUMBER = re.compile(r"(?<![\w.])(\d+)(U|ULL)?\b")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Mutant:
    """One changed constant: ``text`` is the whole header with the change."""

    header: str
    line: int
    old: str
    new: str
    text: str


def mutants() -> Iterator[Mutant]:
    """Yield every mutant of every header."""
    for path in sorted(CORE.glob("*.h")):
        if path.name in NOT_MUTATED:
            continue
        text = path.read_text(encoding="utf-8")
        code = COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
        for found in NUMBER.finditer(code):
            value, suffix = int(found[1]), found[2] or ""
            line = text.count("\n", 0, found.start()) + 1
            for changed in {value + 1, max(value - 1, 0)} - {value}:
                new = f"{changed}{suffix}"
                mutated = text[: found.start()] + new + text[found.end() :]
                yield Mutant(path.name, line, found[0], new, mutated)


def noticed(mutant: Mutant, folder: Path) -> bool:
    """Whether the tests fail, or do not even build, with that mutant."""
    shutil.copytree(CORE, folder / "core")
    shutil.copytree(HERE, folder / "tests", ignore=shutil.ignore_patterns("build", "*.py"))
    (folder / "core" / mutant.header).write_text(mutant.text, encoding="utf-8")
    program = folder / "test_core"
    build = ["gcc", "-std=gnu11", "-w", "-O1", "-o", str(program)]
    built = subprocess.run(
        [*build, str(folder / "tests" / "test_core.c"), "-lm"], capture_output=True, check=False
    )
    if built.returncode != 0:
        return True
    try:
        ran = subprocess.run([str(program)], capture_output=True, timeout=TIME_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return True
    return ran.returncode != 0


def main(root: Path) -> int:
    shutil.rmtree(root, ignore_errors=True)

    def judge(numbered: tuple[int, Mutant]) -> tuple[Mutant, bool]:
        folder = root / str(numbered[0])
        folder.mkdir(parents=True)
        try:
            return numbered[1], noticed(numbered[1], folder)
        finally:
            shutil.rmtree(folder)

    survivors = total = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, killed in pool.map(judge, enumerate(mutants())):
            total += 1
            if not killed:
                survivors += 1
                print(f"core/{mutant.header}:{mutant.line}: {mutant.old} -> {mutant.new} unnoticed")
    print(f"{total} mutants, {survivors} unnoticed")
    return 1 if survivors or not total else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
