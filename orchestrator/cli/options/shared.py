"""Options and arguments that several commands share."""

from __future__ import annotations

import functools
import json
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from guest.choice import absolute
from orchestrator.errors import UsageError
from orchestrator.units import UnitError, parse_time
from results import DEFAULT_DB

Command = TypeVar("Command", bound=Callable[..., Any])


def program() -> str:
    """Return the word by which this program can be called."""
    called = Path(sys.argv[0])
    if called.name != "orchestrator" or shutil.which("orchestrator"):
        return "orchestrator"
    return str(called)


def same_command(context: click.Context, flag: str) -> str:
    """Return the command line of a context again, for a shell, with a flag that it must have."""
    words: list[str] = []
    for parameter in context.command.params:
        name = str(parameter.name)
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        if isinstance(parameter, click.Argument):
            words += map(str, value if isinstance(value, tuple) else (value,))
        elif flag not in parameter.opts:
            option = max(parameter.opts, key=len)
            for each in value if isinstance(value, tuple) else (value,):
                words += [option] if each is True else [option, str(each)]
    return shlex.join([program(), str(context.info_name), *words, flag])


def wall_time(text: str | None) -> float | None:
    """Return the seconds of ``--timeout``, None when it is not given.

    Raises:
        UsageError: it is not a time above zero.
    """
    if text is None:
        return None

    try:
        time_s = parse_time(text)
    except UnitError as error:
        raise UsageError(f"--timeout {error}") from None
    if time_s <= 0:
        raise UsageError(f"--timeout {text}: give a time above zero, such as 30min")
    return time_s


def one_of(name: str, flags: Mapping[str, tuple[str, str]]) -> Callable[[Command], Command]:
    """Add flags of which one may be given, passed as ``name: str | None``.

    Args:
        flags: by flag, the value that it stands for and its help.
    """
    dests = {flag: f"{name}_{value.replace('-', '_')}" for flag, (value, _) in flags.items()}

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def collapsed(*args: Any, **options: Any) -> Any:
            given = [flag for flag, dest in dests.items() if options.pop(dest)]
            if len(given) > 1:
                raise UsageError(f"{' and '.join(given)}: give one of them")
            return command(*args, **options, **{name: flags[given[0]][0] if given else None})

        decorated = collapsed
        for flag, (_, help_text) in reversed(list(flags.items())):
            decorated = click.option(flag, dests[flag], is_flag=True, help=help_text)(decorated)
        return cast(Command, decorated)

    return decorate


def database(command: Command) -> Command:
    """Add ``--db``, passed as ``db: Path``."""
    return click.option(
        "--db",
        type=click.Path(dir_okay=False, path_type=Path),
        default=DEFAULT_DB,
        envvar="ORCHESTRATOR_DB",
        show_default=True,
        show_envvar=True,
        help="The results database.",
    )(command)


def as_json(command: Command) -> Command:
    """Add ``--json``, passed as ``as_json: bool``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(
        command
    )


def overrides(command: Command) -> Command:
    """Add ``--set PATH=VALUE``, passed as ``overrides: tuple[str, ...]``."""
    return click.option(
        "--set",
        "overrides",
        metavar="PATH=VALUE",
        multiple=True,
        help="Replace a value of the scenario; a list item is named by its `name`. Repeatable.",
    )(command)


def kernel_text(given: str | None) -> str | None:
    """Return what ``--kernel`` names, as a scenario names it; paths are made absolute.

    Raises:
        UsageError: it is empty, or has spaces around it.
    """
    if given is None:
        return None
    if not given or given != given.strip():
        raise UsageError(f"--kernel {given!r}: write a series such as 6.12, or a path")
    return absolute(given)


def kernels(command: Command) -> Command:
    """Add ``--kernel KERNEL``, which becomes one of the command's ``overrides``.

    Paths of kernels are relative to the current folder.
    """

    @functools.wraps(command)
    def with_kernels(*args: Any, **options: Any) -> Any:
        named = [kernel_text(text) for text in options.pop("kernels")]
        if len(named) == 1:
            options["overrides"] += (f"kernel={json.dumps(named[0])}",)
        elif named:
            options["overrides"] += (f"matrix.kernel={json.dumps(named)}",)
        return command(*args, **options)

    option = click.option(
        "--kernel",
        "kernels",
        metavar="KERNEL",
        multiple=True,
        help="The guest's kernel: a series such as 6.12, or the path of a tree or tarball; the "
        "same as --set kernel=KERNEL. With several, each variant runs on each.",
    )
    return cast(Command, option(with_kernels))


def reduced(command: Command) -> Command:
    """Add ``--reduced``, passed as ``reduced: bool``."""
    return click.option("--reduced", is_flag=True, help="Use the scenario's reduced form.")(command)


def repetitions(command: Command) -> Command:
    """Add ``--repetitions N``, passed as ``repetitions: int | None``."""
    return click.option(
        "--repetitions",
        type=click.IntRange(1),
        metavar="N",
        help="Run each variant N times, each with its own seed; the same as --set repetitions=N.",
    )(command)


def scenario_file(name: str = "file", **more: Any) -> Callable[[Command], Command]:
    """Add a scenario file as argument ``name``; loading it reports a missing file."""
    return click.argument(
        name, metavar=more.pop("metavar", "FILE"), type=click.Path(path_type=Path), **more
    )
