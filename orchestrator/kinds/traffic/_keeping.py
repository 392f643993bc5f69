"""Files to keep of what programs leave in their folders, by relative names and globs."""

from __future__ import annotations

from pydantic import Field, field_validator

from orchestrator.kinds.fields import ShortForm, located
from orchestrator.protocol.kept_files import MOST_NAME_BYTES, is_name
from orchestrator.units import shown

MOST_PATTERNS = 20
"""Patterns of a program."""


class Keep(ShortForm):
    """Files to keep of what programs leave in their folders; a list alone is of the client.

    ``*``, ``?`` and ``[abc]`` match characters of a name, and no ``/``. A name that begins with a
    dot is matched by a pattern that does so.
    """

    short = "client"

    client: list[str] = Field(
        default_factory=list,
        description="relative names or globs in the client's folder, such as [page, 'log/*.json']",
    )
    server: list[str] = Field(default_factory=list, description="in the server's folder")

    @field_validator("client", "server")
    @classmethod
    def _patterns(cls, patterns: list[str]) -> list[str]:
        if len(patterns) > MOST_PATTERNS:
            raise ValueError(f"{len(patterns)} patterns; a program has {MOST_PATTERNS} at most")
        problems = [
            ((number,), problem)
            for number, pattern in enumerate(patterns)
            if (problem := _problem(pattern)) is not None
        ]
        if problems:
            raise located(problems)
        return patterns

    def document(self) -> dict[str, list[str]]:
        """Return the patterns by the program's role; one without patterns is left out."""
        both = {"client": self.client, "server": self.server}
        return {role: patterns for role, patterns in both.items() if patterns}


def _problem(pattern: str) -> str | None:
    """Return what is wrong with a pattern, or None."""
    words = f"{shown(pattern)}: a file is named by its path in the program's folder /tmp, such as "
    if pattern.startswith("/"):
        return f"{words}`log/a.json`; no path from the root is valid"
    if ".." in pattern.split("/"):
        return f"{words}`log/a.json`; `..` is not valid"
    if "**" in pattern:
        return f"{shown(pattern)}: `**` is not valid; name each depth, such as `*` and `*/*`"
    if not is_name(pattern):
        return (
            f"{words}`log/a.json`: {MOST_NAME_BYTES} bytes at most, with no empty part, no `.`, "
            "and no control or invisible characters"
        )
    return None
