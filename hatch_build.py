"""Adds to each wheel and sdist what is not in its packages; hatchling calls this hook."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAPERS = "scenarios/papers"
PAPERS_IN_WHEEL = "results/claims/papers"
"""Read by ``results/claims/claim_folders.py``."""


class Additions(BuildHookInterface):  # type: ignore[type-arg]
    """Adds ``orchestrator/commit.txt``, and to a wheel the papers' scenarios and claims.

    An editable installation needs neither: the checkout itself has both.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the papers and the commit; no commit where it is not known."""
        if version == "editable":
            return
        if self.target_name == "wheel":
            build_data["force_include"][str(Path(self.root, PAPERS))] = PAPERS_IN_WHEEL
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
