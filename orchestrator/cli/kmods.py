"""``orchestrator kmods``: build and check the congestion-control modules of this project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kmods import catalogue
from orchestrator.backends.modules import ensure_ours
from orchestrator.cli.options import shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.kernels.building import ensure_kernel
from orchestrator.cli.render.run_progress import LiveProgress
from orchestrator.cli.render.status_line import StatusLine
from orchestrator.errors import RunError, UsageError
from orchestrator.execution import module_check
from orchestrator.suggestions import suggest
from results.wording import quantities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.execution.module_check import ModuleCheckResult


@click.group()
def command() -> None:
    """Build or check the congestion-control modules of this project."""


@command.command()
def build() -> None:
    """Build the modules for the guest kernel, unless they are cached."""
    with StatusLine() as line:
        built = ensure_ours(ensure_kernel(line))
    for name, digest in built.sha256().items():
        terminal.line(f"{name:20} {digest}")


@command.command()
@click.argument("modules", metavar="[MODULE]...", nargs=-1)
@shared.as_json
def check(modules: tuple[str, ...], as_json: bool) -> int:
    """Build all modules, or those named, and check that each works in the guest's kernel.

    Without names, a module that needs a newer kernel is left out, with a line that says so. The
    kernel is the default one, which ORCHESTRATOR_KERNEL_SOURCE names.

    Each module is loaded. Every parameter and setting must have the default of its source, accept
    both ends of its range and reject values outside. Unloading must fail while a socket uses the
    module, and succeed after that. Then one flow must fill a link in a faithful run. The exit
    status is 1 if a check fails.
    """
    names = _known(modules)
    with StatusLine() as line:
        kernel = ensure_kernel(line)
        names = _working(names, kernel.release, bool(modules))
        line.show("checking the modules in the guest's kernel")
        checked = module_check.check(kernel, names, lambda planned: LiveProgress(planned, line))
    if as_json:
        terminal.print_json(module_check.document(checked))
    else:
        _print(checked)
    return 0 if all(module.ok for module in checked) else RunError.exit_status


def _known(modules: Sequence[str]) -> list[str]:
    """Return the names of the modules to check, each once; all when none is given."""
    valid = sorted(catalogue.modules())
    unknown = [name for name in modules if name not in valid]
    if unknown:
        hint = suggest(unknown[0], valid)
        raise UsageError(f"there is no module `{unknown[0]}`{hint}; available: {', '.join(valid)}")
    return list(dict.fromkeys(modules)) or valid


def _working(names: Sequence[str], release: str, are_named: bool) -> list[str]:
    """Return the names of the modules that work on the kernel; UsageError for a named other one."""
    for name in names:
        since = catalogue.modules()[name].since
        if since is None or since.is_in(release):
            continue
        series = ".".join(map(str, since.series))
        problem = f"Linux {release} has no {since.what}, which `{name}` needs"
        if are_named:
            raise UsageError(
                f"{problem}: kernels from {series} on do\n"
                "  fix: name such a kernel by ORCHESTRATOR_KERNEL_SOURCE"
            )
        terminal.line(f"{name}: not checked: {problem}", err=True)
    works = catalogue.modules_of(release)
    return [name for name in names if name in works]


def _print(rows: Sequence[ModuleCheckResult]) -> None:
    headings = (
        "module",
        "loads",
        "parameters",
        "refuses bad values",
        "unloads",
        "utilisation",
        "verdict",
    )
    table = terminal.table(headings, [_cells(row) for row in rows], right=(5,))
    terminal.console().print(table)
    for row in rows:
        for fault in row.faults:
            terminal.line(f"{row.module}: {fault}", err=True)


def _cells(checked: ModuleCheckResult) -> list[str]:

    parameters = checked.about("parameters")
    names = {answer.parameter for answer in parameters if answer.parameter}
    wrong = {answer.parameter for answer in parameters if not answer.ok}
    refused = [answer.ok for answer in checked.about("refuses")]
    driven = checked.driven
    return [
        checked.module,
        "yes" if checked.holds("loads") else "NO",
        _how_many(not wrong, len(names - wrong), len(names)),
        _how_many(all(refused), sum(refused), len(refused)),
        "yes" if checked.holds("unloads") else "NO",
        quantities.number(driven.utilisation, 3),
        driven.verdict or driven.status,
    ]


def _how_many(ok: bool, right: int, total: int) -> str:

    if ok:
        return f"{total} verified" if total else quantities.NO_VALUE
    return f"NO: {right} of {total}"
