"""``orchestrator init``: write a scenario to start from."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click

from orchestrator.cli import _options
from orchestrator.errors import UsageError

_STARTERS = Path(__file__).parent / "starters"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}", re.ASCII)


@click.command()
@click.argument("file", metavar="[FILE]", default="scenario.yaml", type=click.Path(path_type=Path))
@click.option(
    "--sweep", is_flag=True, help="Write a sweep: two congestion controls over several buffers."
)
def command(file: Path, sweep: bool) -> None:
    """Write a scenario with comments, to start from. FILE is scenario.yaml when not given.

    The scenario has the name of the file. A file that exists is never overwritten.

    \b
    orchestrator init
    orchestrator init buffers.yaml --sweep
    """
    starter = _STARTERS / ("sweep.yaml" if sweep else "run.yaml")
    text = starter.read_text(encoding="utf-8")
    try:
        with file.open("x", encoding="utf-8") as target:
            target.write(text.replace("{file}", _argument(file)).replace("{name}", _name(file)))
    except FileExistsError:
        raise UsageError(
            f"{file}: exists already and is not overwritten; name another file"
        ) from None
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}") from None
    click.echo(file)
    program = _options.program()
    click.echo(f"\n{program} plan {_argument(file)}    what it would run", err=True)
    click.echo(f"{program} run {_argument(file)}     run it", err=True)


def _argument(file: Path) -> str:
    """Return the file as an argument of a command, fit for a line of a comment."""
    text = shlex.quote(str(file))
    return text if text.isprintable() else "FILE"


def _name(file: Path) -> str:
    """Return the file's name as that of a scenario, or another one where it is none."""
    return file.stem if _NAME.fullmatch(file.stem) else "scenario"
