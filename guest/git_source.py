"""Reads revisions of a git repository of Linux, which stays as it is.

Nothing that the repository's configuration names is run, such as filters of files. Objects that a
partial clone lacks are not fetched, because that would run what the configuration names.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from orchestrator.errors import MachineError


def commit_of(repository: Path, revision: str) -> str:
    """Return the full hash of the commit that a revision names.

    Raises:
        MachineError: there is no git, no repository at ``repository``, or no such revision there.
    """
    wanted = f"{revision}^{{commit}}"
    done = _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", wanted)
    if done.returncode == 0:
        return done.stdout.decode().strip()
    if _git(repository, "rev-parse", "--git-dir").returncode:
        raise MachineError(
            f"{repository} is no git repository, so it has no revision {revision}",
            "name a clone of Linux, or leave the revision out",
        )
    raise MachineError(
        f"the git repository {repository} has no revision {revision}",
        f"git -C {repository} fetch, or name one of: git -C {repository} tag",
    )


def tree_of(repository: Path, commit: str) -> str:
    """Return git's hash of a commit's files.

    Raises:
        MachineError: git fails.
    """
    return _text(repository, "rev-parse", "--verify", f"{commit}^{{tree}}").strip()


def text_of(repository: Path, commit: str, path: str) -> str:
    """Return a file of a commit.

    Raises:
        MachineError: git fails.
    """
    return _text(repository, "show", f"{commit}:{path}")


def commits_between(
    repository: Path, good: Sequence[str], bad: str, paths: Sequence[str] = ()
) -> list[str]:
    """Return the commits that may be the first bad one, the one that halves them best first.

    They are those that ``bad`` has and no good one, of those that change one of ``paths``, as
    ``git rev-list --bisect-all`` lists them. ``bad`` itself is among them.

    Raises:
        MachineError: git fails.
    """
    without = [f"^{commit}" for commit in good]
    listed = _text(repository, "rev-list", "--bisect-all", bad, *without, "--", *paths)
    return [line.split()[0] for line in listed.splitlines()]


def last_change(repository: Path, commit: str, paths: Sequence[str]) -> str | None:
    """Return the newest commit up to this one that changes one of the paths, None without any.

    Raises:
        MachineError: git fails.
    """
    return _text(repository, "rev-list", "--max-count=1", commit, "--", *paths).strip() or None


def is_ancestor(repository: Path, older: str, newer: str) -> bool:
    """Tell whether a commit has another one in its history."""
    return not _git(repository, "merge-base", "--is-ancestor", older, newer).returncode


def tags(repository: Path, pattern: str) -> list[str]:
    """Return the tags that fit a pattern such as "v6.*", the lowest version first.

    Release candidates come before their release.

    Raises:
        MachineError: git fails.
    """
    words = ["-c", "versionsort.suffix=-rc", "tag", "--list", "--sort=version:refname", pattern]
    return _text(repository, *words).split()


def described(repository: Path, commit: str) -> tuple[str, str]:
    """Return the author and the subject of a commit.

    Raises:
        MachineError: git fails.
    """
    author, _nul, subject = _text(repository, "show", "-s", "--format=%an%x00%s", commit).partition(
        "\0"
    )
    return author, subject.strip()


def changed_files(repository: Path, older: str, newer: str) -> list[str] | None:
    """Return the files that differ between two commits; None if more than their content does.

    So it is, too, where the older commit is gone.
    """
    words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", older, newer)
    done = _git(repository, *words)
    if done.returncode:
        return None
    fields = done.stdout.decode(errors="replace").split("\0")[:-1]
    names = []
    for change, name in zip(fields[::2], fields[1::2], strict=True):
        mode_before, mode_after, _before, _after, kind = change.removeprefix(":").split()
        if kind != "M" or mode_before != mode_after or not mode_before.startswith("100"):
            return None
        names.append(name)
    return names


def unpack_command(
    repository: Path, commit: str, folder: Path, target: Path, names: Sequence[str] = ()
) -> list[str]:
    """Return the command that writes the files of a commit to the folder ``target``.

    ``folder`` becomes a repository of the same objects and without their repository's
    configuration. ``names`` are some of the files; without any, all are written.

    Raises:
        MachineError: git fails.
    """
    objects = repository / _text(repository, "rev-parse", "--git-path", "objects").strip()
    form = _text(repository, "rev-parse", "--show-object-format").strip()
    (folder / "objects/info").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "objects/info/alternates").write_text("../source\n")
    (folder / "source").symlink_to(objects.resolve())
    (folder / "HEAD").write_text(f"{commit}\n")
    extension = f"[extensions]\nobjectformat = {form}\n" if form != "sha1" else ""
    version = 1 if extension else 0
    (folder / "config").write_text(
        f"[core]\nrepositoryformatversion = {version}\nbare = true\n{extension}"
    )
    script = 'git "${@:2}" | tar --extract --no-same-owner --file=- --directory="$1"'
    words = [f"--git-dir={folder}", "archive", "--format=tar", commit, "--", *names]
    return ["bash", "-o", "pipefail", "-c", script, "unpack", str(target), *words]


def _text(repository: Path, *arguments: str) -> str:
    done = _git(repository, *arguments)
    if done.returncode:
        problem = done.stderr.decode(errors="replace").strip()
        raise MachineError(
            f"git {' '.join(arguments)} failed in {repository}: {problem}",
            "name a whole clone of Linux",
        )
    return done.stdout.decode(errors="replace")


def _git(repository: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            [*_command(repository), *arguments],
            capture_output=True,
            check=False,
            env={**os.environ, "GIT_NO_LAZY_FETCH": "1"},
        )
    except FileNotFoundError:
        raise MachineError("a revision of a tree needs git", "apt-get install git") from None


def _command(repository: Path) -> list[str]:
    # A repository of another user may be read: nothing that its configuration names is run by
    # these commands but a monitor of its files, which is switched off.
    safe = ["-c", f"safe.directory={repository}", "-c", "core.fsmonitor=false"]
    return ["git", *safe, "-C", str(repository)]
