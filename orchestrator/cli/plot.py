"""``orchestrator plot``: draw a figure of an experiment or a run; each kind is a command."""

from __future__ import annotations

import inspect
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import results.figures
from orchestrator.application.stored.plot import PlotRequest, plot
from orchestrator.cli.options import completion, figure_options, shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.run_events import RunEvents
from orchestrator.suggestions import suggest
from results.figures import FIGURES

if TYPE_CHECKING:
    from results.figures import FigureSpec


class FigureKinds(click.Group):
    """The kinds of figures as commands, each with its keys as options."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all kinds, sorted."""
        del ctx

        modules = pkgutil.iter_modules(results.figures.__path__)
        return sorted(module.name for module in modules if module.name[0] != "_")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a kind, or None."""
        del ctx

        figure = FIGURES.found.get(cmd_name)
        return _command(cmd_name, figure) if figure is not None else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return name, command and its arguments; the error for a wrong kind lists all kinds."""
        kinds = self.list_commands(ctx)
        if args and not ctx.resilient_parsing and args[0] not in kinds and args[0][:1] != "-":
            ctx.fail(
                f"there is no figure {args[0]!r}{suggest(args[0], kinds)}; "
                f"the figures are {', '.join(kinds)}"
            )
        return super().resolve_command(ctx, args)


@click.group(cls=FigureKinds)
def command() -> None:
    """Draw a figure for a paper: PDF, SVG or PNG at the width of its column.

    Values over repetitions have 95% confidence intervals. Unfaithful and failed runs are left out
    and counted on standard error. Equal runs give equal files.

    \b
    orchestrator plot metric bbr-vs-cubic --metric goodput_bps -o goodput.pdf
    orchestrator plot time last -o run.pdf --width ieee-wide
    """


def _command(name: str, figure: type[FigureSpec]) -> click.Command:
    source = figure.source
    other = "EXPERIMENT" if source == "RUN" else "RUN"
    text = inspect.cleandoc(figure.__doc__ or "")
    text += (
        "\n\nEXPERIMENT is a name, NAME@HASH or a scenario file; "
        'RUN is an id, the beginning of one, or "last".'
    )
    output = click.Option(
        ["-o", "--output"], metavar="FILE", required=True,
        type=click.Path(dir_okay=False, path_type=Path),
        help="File to write: .pdf, .svg or .png. An earlier file is replaced.",
    )  # fmt: skip

    def draw(source: str, output: Path, db: Path, overrides: tuple[str, ...], **given: Any) -> None:
        _draw(figure_options.made(figure, output.name, given), source, output, db, overrides)

    made = click.Command(
        name,
        callback=draw,
        params=[
            click.Argument(
                ["source"],
                metavar=f"{source}|{other}",
                shell_complete=completion.experiments_and_runs,
            ),
            output,
            *figure_options.options(figure),
        ],
        help=text,
        short_help=text.partition("\n")[0].rstrip("."),
    )
    return shared.overrides(shared.database(made))


def _draw(
    figure: FigureSpec, source: str, output: Path, db: Path, overrides: tuple[str, ...]
) -> None:
    with RunEvents(quiet=False) as listener:
        drawing = plot(PlotRequest(figure, source, overrides), db, listener)
    drawing.write(output)
    for note in drawing.notes:
        terminal.line(note, err=True)
    terminal.say(output)
