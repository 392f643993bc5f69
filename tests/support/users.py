"""Accounts that tests run the program as: whoever runs the tests, and for root an ordinary one."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ORDINARY = "nobody"


@dataclass(frozen=True)
class User:
    """Root, or an account without any right."""

    name: str
    uid: int
    gid: int

    def options(self) -> dict[str, Any]:
        """Return the arguments of Popen that start a process of this user."""
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def command(self, words: Sequence[str], place: Path) -> tuple[list[str], Path, dict[str, Any]]:
        """Return a command as this user, where it finds the checkout, and arguments of Popen.

        A user that cannot reach the checkout sees it at ``place``, which is made.
        """
        options = self.options()
        if not options or all(part.stat().st_mode & 0o001 for part in (ROOT, *ROOT.parents)):
            return list(words), ROOT, options
        place.mkdir(exist_ok=True)
        there = [word.replace(str(ROOT), str(place), 1) for word in words]
        identity = [f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups"]
        bind = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
        mounted = ["unshare", "--mount", "sh", "-c", bind, "sh", str(ROOT), str(place)]
        return [*mounted, "setpriv", *identity, *there], place, {}


def users() -> list[User]:
    """Return root and an ordinary user where the tests run as root, else whoever runs them."""
    me = User(pwd.getpwuid(os.geteuid()).pw_name, os.geteuid(), os.getegid())
    if me.uid:
        return [me]
    ordinary = pwd.getpwnam(ORDINARY)
    return [me, User(ORDINARY, ordinary.pw_uid, ordinary.pw_gid)]
