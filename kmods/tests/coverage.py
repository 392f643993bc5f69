"""Measure the branch coverage of the core headers: print a table, exit with 1 below 100%.

Every header is compiled into the test program without optimisation. The table sums gcov's branches
by header. Branches include those of ``?:`` and ``&&``.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORE = HERE.parent / "core"
NOT_MEASURED = {"userspace.h"}  # stands in for the kernel's own headers


@dataclass
class Coverage:
    """Numbers of lines and branches of one header, and those that no test reached."""

    lines: int = 0
    branches: int = 0
    missed: list[str] = field(default_factory=list)


def measure(folder: Path) -> dict[str, Coverage]:
    """Build and run the tests with gcov in ``folder``; return the coverage of each header."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    program = folder / "test_core"
    build = ["gcc", "-std=gnu11", "-O0", "--coverage", "-o", str(program)]
    subprocess.run([*build, str(HERE / "test_core.c"), "-lm"], cwd=folder, check=True)
    subprocess.run([str(program)], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    notes = next(folder.glob("*.gcda"))
    answer = subprocess.run(
        ["gcov", "--json-format", "--stdout", "--branch-probabilities", str(notes)],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    headers = {path.name: Coverage() for path in sorted(CORE.glob("*.h"))}
    for source in json.loads(answer.stdout)["files"]:
        path = Path(source["file"])
        if path.parent.name == "core" and path.name not in NOT_MEASURED:
            _count(headers[path.name], source["lines"])
    return {name: value for name, value in headers.items() if name not in NOT_MEASURED}


def _count(header: Coverage, lines: list[dict[str, object]]) -> None:
    for line in lines:
        number = line["line_number"]
        branches = line["branches"]
        assert isinstance(branches, list)
        header.lines += 1
        header.branches += len(branches)
        if not line["count"]:
            header.missed.append(f"line {number}")
        for index, branch in enumerate(branches):
            if not branch["count"]:
                header.missed.append(f"branch {index} of line {number}")


def main(folder: Path) -> int:
    complete = True
    print(f"{'header':18} {'lines':>6} {'branches':>9}  missed")
    for name, header in measure(folder).items():
        complete = complete and header.lines > 0 and not header.missed
        missed = ", ".join(header.missed) or "-"
        print(f"{name:18} {header.lines:6} {header.branches:9}  {missed}")
    print("complete" if complete else "NOT complete")
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
