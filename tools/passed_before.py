"""Run a check unless it has passed before, on this machine, with all that it depends on the same.

    python tools/passed_before.py NAME INPUT... -- COMMAND...

The inputs are files and folders whose content the result depends on, the tools' versions included.
What passed is remembered by a hash of them, beside the guest kernels, for all clones. AGAIN=1 runs
it in any case. A check that fails is not remembered.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from guest import cache

_KEPT = 50
"""How many results are remembered; the oldest are forgotten."""


class Check:
    """A check of a name, with a hash of what it depends on.

    Args:
        name: a file name.
        inputs: paths of files and folders; of folders all files count but hidden ones.
        texts: what else it depends on, such as versions of tools.
    """

    def __init__(self, name: str, inputs: Iterable[Path], texts: Iterable[str]) -> None:
        summed = hashlib.sha256()
        for part in (*texts, *_contents(inputs)):
            data = part.encode()
            summed.update(len(data).to_bytes(8, "big") + data)
        self._place = cache.own_root() / "passed" / f"{name}-{summed.hexdigest()}"

    def has_passed(self) -> bool:
        """Tell whether it passed before, and is not wanted again."""
        return not os.environ.get("AGAIN") and self._place.exists()

    def remember(self) -> None:
        """Note that it passed."""
        self._place.parent.mkdir(parents=True, exist_ok=True)
        self._place.touch()
        by_age = sorted(self._place.parent.iterdir(), key=_changed_ns)
        for path in by_age[:-_KEPT]:
            path.unlink(missing_ok=True)


def _changed_ns(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_mtime_ns
    return 0


def _contents(inputs: Iterable[Path]) -> Iterator[str]:
    """Yield the name and the hash of each file."""
    for given in inputs:
        for path in sorted(given.rglob("*")) if given.is_dir() else [given]:
            inside = path.relative_to(given).parts
            if path.is_dir() or any(part.startswith((".", "__pycache__")) for part in inside):
                continue
            yield f"{given.name}/{'/'.join(inside)}"
            yield hashlib.sha256(path.read_bytes()).hexdigest()


def main(words: list[str]) -> int:
    """Read the command line, run the command if it is necessary, and return its status."""
    if "--" not in words[2:]:
        print(__doc__, file=sys.stderr)
        return 2
    split = words.index("--")
    name, inputs, command = words[0], words[1:split], words[split + 1 :]
    check = Check(name, map(Path, inputs), [*command, sys.version])
    if check.has_passed():
        print(f"{name}: passed before with the same inputs")
        return 0
    status = subprocess.run(command, check=False).returncode
    if status == 0:
        check.remember()
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
