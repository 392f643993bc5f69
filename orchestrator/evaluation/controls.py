"""The congestion controls of an evaluation: the candidate, and the references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kmods import catalogue
from orchestrator.errors import UsageError
from orchestrator.kinds import congestion
from orchestrator.suggestions import CONTROLS, suggest
from orchestrator.units import shown


@dataclass(frozen=True)
class Control:
    """A congestion control: its name, and the folder of its sources if it is a user's module."""

    name: str
    folder: Path | None = None

    @property
    def value(self) -> str | dict[str, str]:
        """The control as a scenario names it."""
        if self.folder is None:
            return self.name
        return {"name": self.name, "module": str(self.folder)}


def known_controls() -> tuple[str, ...]:
    """Return the names of the congestion controls of Linux and of this project's modules."""
    return congestion.known()


def candidate(given: str) -> Control:
    """Return the congestion control that ``NAME`` or ``FOLDER`` means.

    Raises:
        UsageError: there is none, or the folder holds no module, or several.
    """
    if given in congestion.known():
        return Control(given)
    folder = Path(given)
    if "/" not in given and not folder.is_dir():
        raise UsageError(
            f"there is no congestion control {shown(given)}"
            f"{suggest(given, congestion.known(), CONTROLS)}; there are "
            f"{', '.join(congestion.known())}; or give the folder of a module's sources"
        )
    try:
        modules = catalogue.read(folder.absolute()).modules
    except catalogue.FolderError as error:
        raise UsageError(
            f"{error}\n  fix: give the folder of a module's C sources, as "
            "scenarios/own-module/mycc is one"
        ) from None
    if len(modules) > 1:
        raise UsageError(
            f"{shown(given)} defines several congestion controls: {', '.join(modules)}\n"
            "  fix: give a folder that defines one"
        )
    (name,) = modules
    return Control(name, folder.absolute())


def references(names: Sequence[str], candidate: Control) -> list[Control]:
    """Return the controls of ``--against``.

    Raises:
        UsageError: there is none of such a name, or the candidate's module has its name.
    """
    for name in names:
        if name not in congestion.known():
            raise UsageError(
                f"--against: there is no congestion control {shown(name)}"
                f"{suggest(name, congestion.known(), CONTROLS)}; there are "
                f"{', '.join(congestion.known())}"
            )
    if candidate.folder is not None and candidate.name in congestion.known():
        raise UsageError(
            f"{shown(str(candidate.folder))} defines {shown(candidate.name)}, which is the name "
            "of a control that is there already\n  fix: rename your module's"
        )
    return [Control(name) for name in dict.fromkeys(names)]
