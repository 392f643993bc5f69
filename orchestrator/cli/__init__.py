"""The command line: one file for each command, found in this folder.

A module whose name does not begin with an underscore defines one click command named
``command``; the module's name is the command's. A module is imported only when its command is
called, completed or asked for help. Lists of commands take the first lines of help from the files,
so ``--help`` is instant.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import functools
import gc as collector  # there is a command gc, too
import importlib
import os
import pkgutil
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from orchestrator import __version__
from orchestrator.cli import _streams, _system_errors
from orchestrator.cli.render import terminal
from orchestrator.errors import OrchestratorError, OutputError, ReaderGone, ScenarioError
from orchestrator.execution.commit import git_commit

INTERRUPTED = 130
OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""New objects between two searches for garbage. Imports make many objects and hardly any garbage,
and with Python's 700 a sixth of their time goes into the searches. While a command is imported,
there is none."""
ENDINGS = (signal.SIGTERM, signal.SIGHUP)


class Commands(click.Group):
    """The commands of this folder; errors become text and an exit status only here."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        del ctx
        return sorted(
            module.name
            for module in pkgutil.iter_modules(__path__)
            if not module.ispkg and module.name[0] != "_"
        )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, or None."""
        if cmd_name not in self.list_commands(ctx):
            return None
        collector.disable()
        try:
            command = importlib.import_module(f"{__name__}.{cmd_name}").command
        finally:
            collector.freeze()  # what was imported stays, so no search looks at it
            collector.enable()
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of the commands for ``--help``."""
        self._with_help_alone(ctx).format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin like the word that is typed."""
        listed = self._with_help_alone(ctx)
        items = listed.shell_complete(click.Context(listed), incomplete)
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def _with_help_alone(self, ctx: click.Context) -> click.Group:
        """Return a group of commands that have names and help; no module is imported for it."""
        listed = click.Group(add_help_option=False)
        for name in self.list_commands(ctx):
            listed.add_command(click.Command(name, help=_help(name)))
        return listed

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return name, command and its arguments; the error for a wrong name lists all names."""
        names = self.list_commands(ctx)
        if args and not ctx.resilient_parsing and args[0] not in names and args[0][:1] != "-":
            close = difflib.get_close_matches(args[0], names, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            ctx.fail(f"there is no command {args[0]!r}; {hint}available: {', '.join(names)}")
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run a command line and end with its exit status."""
        kwargs["standalone_mode"] = False
        settings = kwargs.setdefault("obj", {"debug": False})
        with _terminated_like_interrupted():
            status = self._run(settings, *args, **kwargs)
        sys.exit(status)

    def _run(self, settings: dict[str, bool], *args: Any, **kwargs: Any) -> int:
        try:
            status = super().main(*args, **kwargs)
            sys.stdout.flush()
        except click.exceptions.Exit as leaving:
            return leaving.exit_code
        except click.Abort:
            terminal.say("interrupted", err=True)
            return INTERRUPTED
        except click.ClickException as error:
            error.show()
            return error.exit_code
        except ReaderGone as error:
            _streams.discard_output()
            return error.exit_status
        except Exception as error:  # noqa: BLE001 - the outermost handler
            if settings["debug"]:
                traceback.print_exc()
            return _say(error, settings["debug"])
        return status if isinstance(status, int) else 0


@functools.cache
def _help(name: str) -> str | None:
    """Return the docstring of a command, read from its file."""
    source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == "command":
            return ast.get_docstring(node)
    return None


def _say(error: Exception, debug: bool) -> int:
    """Print an error as text, and return the exit status."""
    if isinstance(error, OutputError):
        _streams.discard_output()

    known = error if isinstance(error, OrchestratorError) else _system_errors.explained(error)
    if known is not None:
        # Faults of a scenario begin with file:line:column, so that editors can jump there.
        prefix = "" if isinstance(known, ScenarioError) else "error: "
        terminal.say(f"{prefix}{known}", err=True)
        return known.exit_status
    text = f"error: unexpected {type(error).__name__}: {error}"
    terminal.say(text, err=True)
    if not debug:
        hint = "this is a bug; report it with the traceback of `orchestrator --debug ...`"
        terminal.say(f"  fix: {hint}", err=True)
    return 1


@contextlib.contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Make SIGTERM and SIGHUP unwind the program like Ctrl-C, so that it cleans up."""

    def leave(number: int, _frame: FrameType | None) -> NoReturn:
        sys.exit(128 + number)

    before = {ending: signal.signal(ending, leave) for ending in ENDINGS}
    try:
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)


def _show_version(ctx: click.Context) -> None:
    """Print the package's version, with the commit of the code where it is known, and exit."""
    commit = git_commit()
    terminal.say(f"orchestrator, version {__version__}" + (f" (commit {commit})" if commit else ""))
    ctx.exit()


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 success; 1 a run failed; 2 invalid usage or scenario; 3 a run was not "
    "faithful; 4 this machine lacks something; 130 interrupted.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _option, wanted: _show_version(ctx) if wanted else None,
    help="Show the version and the commit, and exit.",
)
@click.option("--debug", is_flag=True, help="Show a traceback with an error.")
@click.pass_obj
def commands(settings: dict[str, bool], debug: bool) -> None:
    """Run TCP congestion-control experiments on real kernels, and check how faithful each run is.

    \b
    orchestrator init mine.yaml                    write a scenario to start from
    orchestrator run scenarios/quickstart.yaml     run a scenario
    orchestrator runs                              list the stored runs
    orchestrator web                               show them in a browser
    """
    settings["debug"] = debug


def main() -> NoReturn:
    """Run the command line of this process."""
    _streams.prepare()
    os.umask(os.umask(0o777) & ~0o700)  # this process needs its own files
    collector.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    # numpy's library for matrices would start a thread for each CPU. Nothing here is large enough.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # pydantic would look through all installed packages for plug-ins, which this program has none
    # of, and which could change what it accepts.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    commands.main(prog_name="orchestrator")
