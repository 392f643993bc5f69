"""A small git repository, for tests of what reads the history of Linux."""

from __future__ import annotations

import subprocess
from pathlib import Path


class History:
    """A repository, and its commits, the oldest first."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self.commits: list[str] = []
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        command = ["git", "-C", str(self.path), *who, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, path: str, text: str) -> str:
        file = self.path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", text)
        self.commits.append(self.git("rev-parse", "HEAD"))
        return self.commits[-1]
