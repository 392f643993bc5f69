"""Change each numeric constant of the core headers, one at a time: some test must fail.

One mutant has the constant plus one, a second one the constant minus one. 0 has only the first.
Comments are not changed. A mutant runs only the tests that include its header, the nearest first.
Each test is built without optimisation, as building takes most of the time. It ends at its first
failure. A mutant that does not compile or does not end is noticed, too, and counted separately.

Before that, the unchanged headers must pass the same tests. The program prints every mutant that no
test notices, and exits with 1 if there is one.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORE = HERE.parent / "core"
PROGRAM = "test_core"  # all tests in one
NOT_MUTATED = {"userspace.h"}  # stands in for the kernel's own headers
CPU_LIMIT_S = 2  # ten times the CPU time of the slowest test
ENDED_BY_LIMIT = {-signal.SIGXCPU, -signal.SIGKILL}
NUMBER = re.compile(r"(?<![\w.])(0[xX][\da-fA-F]+|\d+)([uUlL]*)\b")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
INCLUDE = re.compile(r'^#include "(?:\.\./core/)?([\w.]+)"', re.MULTILINE)

FAILS, DOES_NOT_COMPILE, DOES_NOT_END = "fail a test", "do not compile", "do not end"


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
        code = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
        for match in NUMBER.finditer(code):
            value, suffix = int(match[1], 0), match[2]
            line = text.count("\n", 0, match.start()) + 1
            for changed in {value + 1, max(value - 1, 0)} - {value}:
                new = f"{changed}{suffix}"
                mutated = text[: match.start()] + new + text[match.end() :]
                yield Mutant(path.name, line, match[0], new, mutated)


def tests_of(header: str) -> list[str]:
    """Return the tests that include a header, nearest first, then with fewest headers first."""
    depths = {path.stem: _included(path) for path in HERE.glob("test_*.c") if path.stem != PROGRAM}
    names = [name for name, depth in depths.items() if header in depth]
    return sorted(names, key=lambda name: (depths[name][header], len(depths[name]), name))


def _included(path: Path) -> dict[str, int]:
    """Return every project header that a file includes, with the number of headers in between."""
    depths: dict[str, int] = {}
    files = [path]
    while files:
        names = {name for file in files for name in INCLUDE.findall(file.read_text("utf-8"))}
        fresh = names - set(depths)
        depths |= dict.fromkeys(fresh, max(depths.values(), default=-1) + 1)
        places = [folder / name for name in fresh for folder in (CORE, HERE)]
        files = [candidate for candidate in places if candidate.is_file()]
    return depths


def noticed(mutant: Mutant, folder: Path) -> str | None:
    """Return how the tests notice the mutant, None if they do not."""
    shutil.copytree(CORE, folder / "core")
    shutil.copytree(HERE, folder / "tests", ignore=shutil.ignore_patterns("build", "*.py"))
    (folder / "core" / mutant.header).write_text(mutant.text, encoding="utf-8")
    source, program = folder / "tests" / "main.c", folder / "program"
    for name in tests_of(mutant.header):
        main = f"int main(void) {{ {name}(); return checks_failed; }}"
        source.write_text(f'#include "{name}.c"\n{main}\n', encoding="utf-8")
        build = ["gcc", "-std=gnu11", "-w", "-O0", "-DCHECKS_TO_FAIL=1", "-o", str(program)]
        built = subprocess.run([*build, str(source), "-lm"], capture_output=True, check=False)
        if built.returncode:
            return DOES_NOT_COMPILE
        ran = subprocess.run(
            ["prlimit", f"--cpu={CPU_LIMIT_S}", str(program)], capture_output=True, check=False
        )
        if ran.returncode:
            return DOES_NOT_END if ran.returncode in ENDED_BY_LIMIT else FAILS
    return None


def unchanged() -> Mutant:
    """Return the header that every test includes, unchanged."""
    return Mutant("arith.h", 0, "", "", (CORE / "arith.h").read_text(encoding="utf-8"))


def main(root: Path) -> int:
    shutil.rmtree(root, ignore_errors=True)
    begun = time.monotonic()

    def judge(numbered: tuple[int, Mutant]) -> tuple[Mutant, str | None]:
        folder = root / str(numbered[0])
        folder.mkdir(parents=True)
        try:
            return numbered[1], noticed(numbered[1], folder)
        finally:
            shutil.rmtree(folder)

    _, wrong = judge((-1, unchanged()))
    if wrong:
        print(f"the unchanged headers {wrong}")
        return 1
    how: Counter[str | None] = Counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, killer in pool.map(judge, enumerate(mutants())):
            how[killer] += 1
            if killer is None:
                print(f"core/{mutant.header}:{mutant.line}: {mutant.old} -> {mutant.new} unnoticed")
    total = sum(how.values())
    counts = ", ".join(f"{how[name]} {name}" for name in (FAILS, DOES_NOT_COMPILE, DOES_NOT_END))
    print(f"{total} mutants in {time.monotonic() - begun:.0f} s: {counts}, {how[None]} unnoticed")
    return 1 if how[None] or not total else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
