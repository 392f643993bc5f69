"""``orchestrator init``: write a scenario to start from."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click

from orchestrator.cli.options import shared
from orchestrator.cli.render import terminal
from orchestrator.errors import UsageError
from orchestrator.files.system_errors import unwritable

_STARTERS = Path(__file__).parent / "starters"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}", re.ASCII)


@click.command()
@click.argument("file", metavar="[FILE]", default="scenario.yaml", type=click.Path(path_type=Path))
@click.option(
    "--sweep", is_flag=True, help="Write a sweep: two congestion controls over several buffers."
)
def command(file: Path, sweep: bool) -> None:
    """Write a scenario with comments, to start from. FILE is scenario.yaml when not given.

    The scenario has the name of the file. A file that exists is never overwritten. `-` prints it.

    \b
    orchestrator init
    orchestrator init buffers.yaml --sweep
    """
    shown = Path("scenario.yaml") if str(file) == "-" else file
    starter = _STARTERS / ("sweep.yaml" if sweep else "run.yaml")
    text = starter.read_text(encoding="utf-8")
    text = text.replace("{file}", _argument(shown)).replace("{name}", _name(shown))
    if shown is not file:
        terminal.say(text, nl=False)
        return
    try:
        with file.open("x", encoding="utf-8") as target:
            target.write(text)
    except FileExistsError:
        raise UsageError(
            f"{file}: exists already and is not overwritten; name another file"
        ) from None
    except OSError as error:
        raise unwritable(file, error) from None
    terminal.say(file)
    program = shared.program()
    terminal.say(f"\n{program} plan {_argument(file)}    what it would run", err=True)
    terminal.say(f"{program} run {_argument(file)}     run it", err=True)


def _argument(file: Path) -> str:
    """Return the file as an argument of a command, fit for a line of a comment."""
    text = shlex.quote(str(file))
    return text if text.isprintable() else "FILE"


def _name(file: Path) -> str:
    """Return the file's name as that of a scenario, or another one where it is none."""
    return file.stem if _NAME.fullmatch(file.stem) else "scenario"
