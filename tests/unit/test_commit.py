"""Which commit a run records: that of this project's code, never that of a repository around it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from orchestrator.execution.commit import NAME, RECORD, git_commit


def git(folder: Path, *words: str) -> str:
    told = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *words],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return told.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of a small project that has this one's name, with a tag."""
    folder = tmp_path / "checkout"
    (folder / "orchestrator").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(f'[project]\nname = "{NAME}"\n')
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "x")
    git(folder, "tag", "-a", "v1", "-m", "x")
    return folder


def test_a_checkout_has_its_commit_and_whether_files_differ(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    assert git_commit(checkout) == head
    (checkout / "pyproject.toml").write_text(f'[project]\nname = "{NAME}"\n# changed\n')
    assert git_commit(checkout) == f"{head}+"
    (checkout / RECORD).write_text("of an sdist that was unpacked here once\n")
    assert git_commit(checkout) == f"{head}+"


def test_a_repository_around_the_code_is_ignored(checkout: Path) -> None:
    installed = checkout / "venv/lib/site-packages"
    (installed / "orchestrator").mkdir(parents=True)
    assert git_commit(installed) is None
    (installed / RECORD).write_text("0123abcd\n")
    assert git_commit(installed) == "0123abcd"


def test_the_repository_of_another_project_is_ignored(checkout: Path) -> None:
    (checkout / "pyproject.toml").write_text('[project]\nname = "other"\n')
    assert git_commit(checkout) is None
    for text in ("", "not TOML [", "[project]\nname = 1\n", "project = 1\n"):
        (checkout / "pyproject.toml").write_text(text)
        assert git_commit(checkout) is None, text


def test_files_without_git_have_no_commit(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert git_commit(checkout) is None
    monkeypatch.undo()
    shutil.rmtree(checkout / ".git")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(checkout.parent))
    assert git_commit(checkout) is None
