"""Run a module's model along a recorded connection of the kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.guest.peer.models import MODELS
from tests.guest.peer.replay import CWR, LOSS, RECOVERY, Ack, Mark, Pause, State, Timeout, Trace
from tests.guest.peer.windows import Model


@dataclass(frozen=True)
class Reduction:
    """A congestion event: its window, ssthresh by the formula, and ssthresh in TCP_INFO."""

    kind: int
    window: int
    expected: float
    after: State


@dataclass(frozen=True)
class Window:
    """A congestion window by the formulas, in segments, and a fraction that may be carried over.

    The kernel's fraction survives a pause, but no reduction. That of some modules survives both.
    """

    segments: float
    carried: float

    def allows(self, window: int) -> bool:
        """Return whether TCP, which counts whole segments, may have this window."""
        return self.segments - 1 - _ROUNDED < window < self.segments + self.carried + _ROUNDED


_ROUNDED = 1e-3


@dataclass
class Followed:
    """The model's values at each mark, and every congestion event in order.

    ``window`` says nothing while TCP itself lowers the window and where it is not used.
    ``completed`` are the windows after each reduction: by the formulas, and what TCP showed.
    """

    reductions: list[Reduction] = field(default_factory=list)
    completed: list[tuple[Window, State]] = field(default_factory=list)
    shown: dict[str, Sequence[float | None]] = field(default_factory=dict)
    window: dict[str, Window] = field(default_factory=dict)


def follow(trace: Trace, name: str, settings: Mapping[str, int]) -> Followed:
    """Run the model of the module ``name`` along a connection.

    At a mark "undone" the previous ACK has shown that the last congestion event was spurious.
    """
    follower = _Follower(MODELS[name](trace.mss, dict(settings)), trace.acks()[0].before.window)
    for event, following in zip(trace.events, [*trace.events[1:], None], strict=True):
        if isinstance(event, Ack):
            undoes = isinstance(following, Mark) and following.name == "undone"
            follower.ack(event, undoes=undoes)
        elif isinstance(event, Timeout):
            follower.timeout(event)
        elif isinstance(event, Pause):
            follower.pause(event)
        else:
            follower.mark(event)
    return follower.followed


class _Follower:
    def __init__(self, model: Model, window: int) -> None:
        self.model, self.followed, self.window = model, Followed(), float(window)
        # Only what has "if cwnd > ssthresh: cwnd = ssthresh" may end below ssthresh.
        self.clamps = model.clamps and model.settings.get("clamp_cwnd", 1)
        self.is_full = True  # the window has been in use since the last pause
        self.carried = 0.0

    def mark(self, mark: Mark) -> None:
        self.followed.shown[mark.name] = self.model.shown()
        self.followed.window[mark.name] = Window(self.window, self.carried)

    def pause(self, pause: Pause) -> None:
        self.model.pause()
        self.carried = float(bool(self.carried or self.window % 1))
        self.window = pause.after.window  # the core's business: tcp_cwnd_restart()
        self.is_full = pause.after.in_flight >= pause.after.window

    def timeout(self, timeout: Timeout) -> None:
        window = timeout.before.window
        expected = self.model.timeout(window)
        self._reduced(Reduction(LOSS, window, expected, timeout.after))
        self.window = timeout.after.window

    def ack(self, ack: Ack, *, undoes: bool) -> None:
        self.model.ack(ack)
        self.is_full |= ack.before.in_flight >= ack.before.window
        reducing = ack.after.ca_state in (CWR, RECOVERY)
        was_reducing = ack.before.ca_state in (CWR, RECOVERY)
        window = ack.before.window
        if reducing and not was_reducing:
            expected = self.model.ssthresh(window)
            self._reduced(Reduction(ack.after.ca_state, window, expected, ack.after))
        if reducing:
            return
        if undoes:
            self.model.undo()
            window = max(window, self.followed.reductions[-1].window)
            self.window = max(self.window, window)
        elif was_reducing:
            window = ack.before.ssthresh
            if self.clamps:
                window = min(window, self.followed.reductions[-1].window)
            self.window = window
        if ack.advanced and self.is_full:
            ssthresh = ack.after.ssthresh if undoes else ack.before.ssthresh
            self.window += self.model.rise(window, ssthresh, ack)
        if was_reducing and not undoes:
            self.followed.completed.append((Window(self.window, self.carried), ack.after))

    def _reduced(self, reduction: Reduction) -> None:
        self.followed.reductions.append(reduction)
        self.carried = float(self.model.carries)
