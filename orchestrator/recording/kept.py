"""Files that a run keeps of what its programs leave, and those that it leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.protocol.kept_files import MOST_BYTES, MOST_NAME_BYTES, REASONS, is_name
from orchestrator.protocol.programs import ROLES


@dataclass(frozen=True)
class KeptFile:
    """A file of a program, kept or left out.

    ``flow`` is the number of the flow. ``name`` is the path in the program's folder. That of a file
    that is left out has escapes and may be cut off, and may be a pattern that nothing matches.
    ``size_bytes`` is None where nothing is known of it. A file that is kept has ``sha256``, and one
    that is left out has ``left_out``, one of ``orchestrator.protocol.kept_files.REASONS``.
    """

    flow: int
    role: Literal["server", "client"]
    name: str
    size_bytes: int | None
    sha256: str | None
    left_out: str | None

    def __post_init__(self) -> None:
        """Raise ValueError unless the values can be those of a file."""
        if self.flow < 0 or self.role not in ROLES:
            raise ValueError("a kept file is of no program")
        size_bytes = self.size_bytes
        if self.sha256 is not None:
            fine = self.left_out is None and is_name(self.name)
            fine = fine and size_bytes is not None and 0 <= size_bytes <= MOST_BYTES
        else:
            fine = self.left_out in REASONS and len(self.name) <= _MOST_SHOWN
            fine = fine and (size_bytes is None or size_bytes >= 0)
        if not fine:
            raise ValueError(f"a kept file is malformed: {self.name!r:.60}")

    @property
    def reason(self) -> str:
        """Why it is left out, in words; empty of a file that is kept."""
        return "" if self.left_out is None else REASONS[self.left_out]


_MOST_SHOWN = 10 * MOST_NAME_BYTES
"""Characters of a name with escapes."""


@dataclass(frozen=True)
class KeptFiles:
    """All files of a run in the order of flows and roles, and contents by their SHA-256."""

    files: Sequence[KeptFile] = ()
    contents: Mapping[str, bytes] = field(default_factory=dict)
