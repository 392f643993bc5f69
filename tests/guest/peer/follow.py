"""Run a module's model along a recorded connection of the kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.guest.peer.models import MODELS
from tests.guest.peer.replay import CWR, LOSS, RECOVERY, Ack, Mark, Pause, State, Timeout, Trace
from tests.guest.peer.windows import Model


@dataclass(frozen=True)
class Reduction:
    """A congestion event: its window, ssthresh by the formula, and what TCP showed.

    ``is_conditional``: it takes the window to ssthresh only if that lowers it. ``during`` are the
    windows while the kernel reduces, ``ended`` what it showed after the last ACK of that.
    """

    kind: int
    window: int
    expected: float
    after: State
    is_conditional: bool = False
    during: list[int] = field(default_factory=list)
    ended: list[State] = field(default_factory=list)


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
    model = MODELS[name](trace.mss, dict(settings))
    model.handshake(trace.handshake_us)
    follower = _Follower(model, trace.acks()[0].before.window)
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
        self.is_conditional = bool(model.settings.get("clamp_cwnd", model.conditional))
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
        if timeout.before.ca_state in (CWR, RECOVERY):
            # tcp_enter_loss() then keeps the ssthresh of the event before.
            self.followed.reductions[-1].ended.append(timeout.after)
        else:
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
            reduction = Reduction(
                ack.after.ca_state, window, expected, ack.after, self.is_conditional
            )
            self._reduced(reduction)
        if reducing:
            self.followed.reductions[-1].during.append(ack.after.window)
            return
        if undoes:
            self.model.undo()
            window = max(window, self.followed.reductions[-1].window)
            self.window = max(self.window, window)
            self.carried = float(self.model.restores or self.carried)
        elif was_reducing:
            window = ack.before.ssthresh
            if self.is_conditional:
                window = min(ack.after.ssthresh, self.followed.reductions[-1].window)
            self.window = window
            self.followed.reductions[-1].ended.append(ack.after)
        if ack.advanced and self.is_full:
            is_restored = undoes or (was_reducing and self.is_conditional)
            ssthresh = ack.after.ssthresh if is_restored else ack.before.ssthresh
            self.window += self.model.rise(window, ssthresh, ack)
        if was_reducing and not undoes:
            self.followed.completed.append((Window(self.window, self.carried), ack.after))

    def _reduced(self, reduction: Reduction) -> None:
        self.followed.reductions.append(reduction)
        self.carried = float(self.model.carries)
