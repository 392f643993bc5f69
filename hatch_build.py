"""Records the commit in each wheel and sdist; hatchling calls this hook when it builds one."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds ``orchestrator/commit.txt`` to what is built, except to an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the commit into the build; nothing where it is not known."""
        if version == "editable":
            return  # the checkout itself tells, also after the next commit
        root = Path(self.root)
        found = importlib.util.spec_from_file_location(
            "commit", root / "orchestrator/execution/commit.py"
        )
        assert found is not None
        assert found.loader is not None
        commit = importlib.util.module_from_spec(found)
        found.loader.exec_module(commit)
        known = commit.git_commit(root)
        if known is None:
            return
        self._written = Path(self.directory) / "commit.txt"
        self._written.parent.mkdir(parents=True, exist_ok=True)
        self._written.write_text(f"{known}\n", encoding="ascii")
        build_data["force_include"][str(self._written)] = commit.RECORD

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file beside the finished wheel or sdist."""
        del version, build_data, artifact_path
        written = getattr(self, "_written", None)
        if written is not None:
            written.unlink(missing_ok=True)
