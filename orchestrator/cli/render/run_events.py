"""Shows on standard error what a use case tells while it makes runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self

from orchestrator import plaintext
from orchestrator.application import events
from orchestrator.cli.render import terminal
from orchestrator.cli.render.run_progress import LiveProgress
from orchestrator.cli.render.status_line import StatusLine
from results.wording import quantities


class RunEvents:
    """A listener: a status line for progress, and lines of their own for what a user must know.

    ``quiet`` shows only what went wrong. ``measured`` is called with the results of each scenario;
    what it prints comes before that scenario's figures. Leaving the context clears the status line.
    """

    def __init__(
        self,
        quiet: bool,
        measured: Callable[[events.ScenarioMeasured], None] = lambda _event: None,
    ) -> None:
        self._quiet = quiet
        self._measured = measured
        self._line = StatusLine(quiet)
        self._progress: LiveProgress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._line.clear()

    @property
    def has_begun(self) -> bool:
        """Whether runs have begun."""
        return self._progress is not None

    def __call__(self, event: events.Event) -> None:
        """Show an event."""
        match event:
            case events.Preparing(step, fraction):
                self._line.show(step, "" if fraction is None else f"{fraction:.0%}")
            case events.RunsBegun(plan, jobs):
                self._progress = LiveProgress(plan, self._line, jobs=jobs)
            case events.RunProgressed(progress):
                assert self._progress is not None, "runs go on after they began"
                self._progress.progress(progress)
            case events.Waiting(estimator):
                self._wait(estimator)
            case events.RunsEnded():
                self._line.clear()
            case events.ScenarioMeasured():
                self._measured(event)
            case events.Notice(text):
                self._line.say(text)
            case _:
                self._print(event)

    def _wait(self, estimator: events.EstimatorMaker) -> None:
        """Let the status line estimate by earlier runs, and load what prints results."""
        if not self._quiet and self._progress is not None:
            estimates = estimator()
            if estimates is not None:
                self._progress.learn(estimates)
        terminal.load_console()

    def _print(self, event: events.Event) -> None:
        text = _of_what_goes_wrong(event)
        if text is None and not self._quiet:
            text = _of_what_goes_on(event)
        if text is not None:
            self._line.clear()
            terminal.say(text, err=True)


def _of_what_goes_wrong(event: events.Event) -> str | None:
    """Return the text of an event that a user must know; None of another one."""
    match event:
        case events.FigureRefused(file, reason):
            # The reason is an error's text, with its fix on a line of its own.
            return f"error: {plaintext.one_line(file)} is not drawn: {reason}"
        case events.FigureNote(file, note):
            return plaintext.one_line(f"{file}: {note}")
        case events.ScenarioBegun(path):
            return plaintext.one_line(f"{path}:")
        case events.ScenarioFailed(_path, error):
            return f"error: {error}"
        case events.DigestCompared(run_id, stored_id, stored_digest, equal):
            word = "the same digest as" if equal else "a DIFFERENT digest from"
            return plaintext.one_line(f"{run_id}: {word} {stored_id} ({stored_digest})")
        case events.RepetitionsNeeded() if event.unmet:
            return repetitions(event)
    return None


def _of_what_goes_on(event: events.Event) -> str | None:
    """Return the text of an event that only tells how far the use case is; None of another one."""
    match event:
        case events.PlanWarned(where, message):
            return plaintext.one_line(f"{where}: warning: {message}")
        case events.RunsStored(stored, total, resumed):
            runs = quantities.plural(total, "run")
            are = "is" if stored == 1 else "are"
            if resumed:
                return f"{stored} of {runs} {are} stored already"
            which = "the run" if total == 1 else f"{stored} of the {runs}"
            return (
                f"{which} {are} stored already with the same content; --resume uses what is stored"
            )
        case events.RepetitionsNeeded():
            return repetitions(event)
        case events.FigureDrawn(path):
            return plaintext.one_line(f"drew {path}")
        case events.MoreRunsNeeded(runs):
            return f"open rows ask for {runs} more repetitions"
        case events.AblationBegun(paper, claim, name):
            return plaintext.one_line(f"{paper}:{claim}, {name}:")
    return None


def repetitions(event: events.RepetitionsNeeded) -> str:
    """Return what the rule asks for, and how many runs have no value."""
    says = []
    if event.more:
        says.append(f"the rule asks for {quantities.plural(event.more, 'more run')}")
    elif event.too_wide:
        says.append(
            f"{quantities.plural(event.too_wide, 'variant')} reached the most repetitions with a "
            "wider interval than asked for"
        )
    if event.hopeless:
        says.append(
            f"{quantities.plural(event.hopeless, 'variant')} without a value of {event.metric} in "
            f"the first {event.least} runs, and not repeated further"
        )
    if event.without_value:
        says.append(f"{event.without_value} of the runs without a value that counts")
    text = "; ".join(says) or "every interval is as narrow as asked for"
    return plaintext.one_line(f"{quantities.plural(event.made, 'run')}: {text}")


@contextlib.contextmanager
def naming_the_command(quiet: bool) -> Iterator[None]:
    """Say that the same command continues when the user interrupts it."""
    try:
        yield
    except KeyboardInterrupt:
        if not quiet:
            terminal.line("runs that ended are stored; the same command runs the others", err=True)
        raise
