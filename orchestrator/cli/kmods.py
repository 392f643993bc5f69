"""``orchestrator kmods``: build our congestion-control modules, and see that they work."""

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
    """Build our congestion-control modules, or see that each of them works."""


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
    """Build the modules and see that each of them (or those named) keeps its promises.

    In the guest's kernel each is loaded: every parameter and setting must have the default of its
    source, take both ends of its range and refuse what lies outside. It must not be unloaded while
    a socket uses it, and must be after that. Then a flow of it must fill a link, faithfully.
    Exit status 1 if one does not.
    """
    from orchestrator.cli import _text
    from orchestrator.cli._live import Live
    from orchestrator.execution import module_check

    names = _known(modules)
    with StatusLine() as line:
        kernel = ensure_kernel(line)
        line.show("asking the guest's kernel about the modules")
        checked = module_check.check(kernel, names, lambda planned: Live(planned, line))
    if as_json:
        _text.print_json({"modules": [_document(each) for each in checked]})
    else:
        _print(checked)
    return 0 if all(each.ok for each in checked) else RunError.exit_status


def _known(modules: Sequence[str]) -> list[str]:
    """Return the names of the modules to check, each once: all when none are given."""
    from kmods import catalogue
    from orchestrator.units import suggest

    valid = sorted(catalogue.modules())
    unknown = [name for name in modules if name not in valid]
    if unknown:
        hint = suggest(unknown[0], valid)
        raise UsageError(f"there is no module `{unknown[0]}`{hint}; valid: {', '.join(valid)}")
    return list(dict.fromkeys(modules)) or valid


def _document(checked: Checked) -> dict[str, object]:
    """Return everything about a module, for JSON."""
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
    from orchestrator.cli import _text

    headings = (
        "module",
        "loads",
        "parameters",
        "refuses bad values",
        "unloads",
        "utilisation",
        "verdict",
    )
    table = _text.table(headings, [_cells(row) for row in rows], right=(5,))
    _text.console().print(table)
    for row in rows:
        for fault in row.faults:
            click.echo(f"{row.module}: {fault}", err=True)


def _cells(checked: Checked) -> list[str]:
    from orchestrator.cli import _text

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
        _text.number(driven.utilisation, 3),
        driven.verdict or driven.status,
    ]


def _how_many(ok: bool, right: int, total: int) -> str:
    from orchestrator.cli import _text

    if ok:
        return f"{total} verified" if total else _text.NO_VALUE
    return f"NO: {right} of {total}"
