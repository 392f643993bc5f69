"""``orchestrator shell``: a command line in the network of a scenario."""

from __future__ import annotations

import contextlib
import readline
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.application.command_line import ShellRequest, opened
from orchestrator.application.events import Event, Preparing
from orchestrator.cli.options import shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.status_line import StatusLine

if TYPE_CHECKING:
    from orchestrator.application.command_line import CommandLine

_BANNER = """\
{hosts}, {links}; `help` lists the commands.
Time is virtual: it passes while a command runs, as fast as this machine computes, and stands still
at the prompt. So delays and rates are exact. The scenario's flows and events are left out.
"""


@click.command()
@shared.scenario_file()
@click.argument("host", required=False)
@shared.overrides
@shared.kernels
@shared.reduced
def command(file: Path, host: str | None, overrides: tuple[str, ...], reduced: bool) -> int:
    """Build the network of a scenario, and run commands in its hosts.

    It is the network of the first variant. With HOST, commands run in that host. Commands on
    standard input are executed one after the other; the exit status is the last one's.

    \b
    orchestrator shell scenarios/quickstart.yaml
    echo 'ping a_src0 a_dst0' | orchestrator shell scenarios/quickstart.yaml
    echo 'ip address; ss -tin' | orchestrator shell scenarios/quickstart.yaml a_src0
    """
    interactive = sys.stdin.isatty()
    status = StatusLine()

    def show(event: Event) -> None:
        if isinstance(event, Preparing):
            status.show(event.step)

    with contextlib.ExitStack() as stack:
        with status:
            request = ShellRequest(file, overrides, reduced, host)
            line = stack.enter_context(opened(request, show, _print))
        if interactive:
            _greet(line)
        return _serve(line, _typed(line) if interactive else sys.stdin)


def _print(text: str) -> None:
    terminal.say(text, nl=False)


def _greet(line: CommandLine) -> None:
    network = line.network
    hosts, links = f"{len(network.hosts)} hosts", f"{len(network.links)} links"
    _print(_BANNER.format(hosts=hosts, links=links))


def _serve(line: CommandLine, lines: Iterator[str]) -> int:
    """Execute lines until there are no more, or one ends the shell; return the last status."""
    status = 0
    for text in lines:
        status = line.execute(text.rstrip("\n"))
        if line.has_ended:
            break
    return status


def _typed(line: CommandLine) -> Iterator[str]:
    """Yield lines as a user types them, with a history and completion of names."""

    def complete(text: str, state: int) -> str | None:
        fitting = [name for name in line.names if name.startswith(text)]
        return fitting[state] if state < len(fitting) else None

    readline.set_completer_delims(" ")
    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
    while True:
        try:
            yield input(f"{line.host or 'network'}> ")
        except EOFError:
            terminal.line("")
            return
        except KeyboardInterrupt:
            terminal.line("")
