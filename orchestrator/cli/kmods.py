"""``orchestrator kmods``: build and check the congestion-control modules of this project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestrator.cli import _options
from orchestrator.cli._guest_build import ensure_kernel
from orchestrator.cli._status import StatusLine
from orchestrator.errors import RunError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.execution.module_check import Checked


@click.group()
def command() -> None:
    """Build or check the congestion-control modules of this project."""


@command.command()
def build() -> None:
    """Build the modules for the guest kernel, unless they are cached."""
    import kmods.build

    with StatusLine() as line:
        built = kmods.build.ensure(ensure_kernel(line))
    for name, digest in built.sha256().items():
        click.echo(f"{name:20} {digest}")


@command.command()
@click.argument("modules", metavar="[MODULE]...", nargs=-1)
@_options.as_json
def check(modules: tuple[str, ...], as_json: bool) -> int:
    """Build all modules, or those named, and check that each works in the guest's kernel.

    Each module is loaded. Every parameter and setting must have the default of its source, accept
    both ends of its range and reject values outside. Unloading must fail while a socket uses the
    module, and succeed after that. Then one flow must fill a link in a faithful run. The exit
    status is 1 if a check fails.
    """
    from orchestrator.cli import _output
    from orchestrator.cli._progress import LiveProgress
    from orchestrator.execution import module_check

    names = _known(modules)
    with StatusLine() as line:
        kernel = ensure_kernel(line)
        line.show("checking the modules in the guest's kernel")
        checked = module_check.check(kernel, names, lambda planned: LiveProgress(planned, line))
    if as_json:
        _output.print_json({"modules": [_document(each) for each in checked]})
    else:
        _print(checked)
    return 0 if all(each.ok for each in checked) else RunError.exit_status


def _known(modules: Sequence[str]) -> list[str]:
    """Return the names of the modules to check, each once; all when none is given."""
    from kmods import catalogue
    from orchestrator.suggestions import suggest

    valid = sorted(catalogue.modules())
    unknown = [name for name in modules if name not in valid]
    if unknown:
        hint = suggest(unknown[0], valid)
        raise UsageError(f"there is no module `{unknown[0]}`{hint}; available: {', '.join(valid)}")
    return list(dict.fromkeys(modules)) or valid


def _document(checked: Checked) -> dict[str, object]:
    """Return all results of a module, JSON-ready."""
    from dataclasses import asdict

    from orchestrator.execution.module_check import ABOUT

    return {
        "module": checked.module,
        "ok": checked.ok,
        **{about: checked.holds(about) for about in ABOUT},
        **asdict(checked.driven),
        "answers": [{**asdict(answer), "ok": answer.ok} for answer in checked.answers],
    }


def _print(rows: Sequence[Checked]) -> None:
    from orchestrator.cli import _output

    headings = (
        "module",
        "loads",
        "parameters",
        "refuses bad values",
        "unloads",
        "utilisation",
        "verdict",
    )
    table = _output.table(headings, [_cells(row) for row in rows], right=(5,))
    _output.console().print(table)
    for row in rows:
        for fault in row.faults:
            click.echo(f"{row.module}: {fault}", err=True)


def _cells(checked: Checked) -> list[str]:
    from orchestrator.cli import _output

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
        _output.number(driven.utilisation, 3),
        driven.verdict or driven.status,
    ]


def _how_many(ok: bool, right: int, total: int) -> str:
    from orchestrator.cli import _output

    if ok:
        return f"{total} verified" if total else _output.NO_VALUE
    return f"NO: {right} of {total}"
