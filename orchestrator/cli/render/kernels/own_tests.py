"""Shows the progress of a kernel's own tests, writes their files, and says what is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli.render import terminal
from orchestrator.cli.render.status_line import StatusLine
from orchestrator.errors import MachineError
from orchestrator.execution.kernel_tests import needs
from orchestrator.execution.kernel_tests.model import Outcome
from orchestrator.files.system_errors import unwritable

if TYPE_CHECKING:
    from orchestrator.execution.kernel_tests.model import OwnResults, Result

_MOST_NAMED = 12
"""Missing things that the last lines name."""


def shown_on(line: StatusLine) -> Callable[[int, int, Result | None, str], None]:
    """Return a function that shows on the line which test runs."""

    def watch(number: int, tests: int, result: Result | None, name: str) -> None:
        if result is None:
            line.show("testing", f"{number} of {tests}: {name}")

    return watch


def write(option: str, file: Path, text: str) -> None:
    """Write the file of an option.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(f"{option} {file}", error) from error


def tell(tested: OwnResults) -> None:
    """Print how many tests ended in which way, and what is missing, on standard error.

    Raises:
        MachineError: no test could be tried.
    """
    counts = [f"{len(tested.of(outcome))} {outcome.value}" for outcome in Outcome]
    terminal.line(f"Linux {tested.release}: {', '.join(counts)}", err=True)
    for folder in tested.not_there:
        terminal.line(f"not there: the kernel's source has no tests in {folder}", err=True)
    lacking = tested.lacking
    named = [f"{name} ({tests})" for name, tests in lacking[:_MOST_NAMED]]
    more = f" and {len(lacking) - _MOST_NAMED} more" if len(lacking) > _MOST_NAMED else ""
    text = f"{', '.join(named)}{more}"
    install = " ".join(needs.packages(dict(lacking)))
    fix = (
        f"apt-get install {install}"
        if install
        else "install what is missing, or name a kernel that has it"
    )
    if tested.ran_nothing:
        missing = text or "what the tests name"
        raise MachineError(f"no test could be tried: missing is {missing}", fix)
    if named:
        terminal.line(f"lacking, and for how many tests: {text}", err=True)
    if install:
        terminal.line(f"programs: {fix}", err=True)
