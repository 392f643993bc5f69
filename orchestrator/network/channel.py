"""One direction of a link."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.network.models import (
    JitterModel,
    LossModel,
    Policer,
    Queue,
    RateModel,
    ReorderingModel,
    Steps,
    Trace,
)
from orchestrator.protocol.links.chosen import ChosenPackets
from orchestrator.protocol.links.frames import (
    DEFAULT_MTU_BYTES,
    ETHERNET_BYTES,
)
from orchestrator.protocol.links.link import ReceiveRing


@dataclass(frozen=True)
class Channel:
    """One direction of a link: policer, rate and queue, then loss, delay and all else.

    ``rate_bps`` None means no rate limit and no queue; ``delay_s`` is one way. ``is_bottleneck``
    marks a queue where drops are expected; drops at any other queue are a fault of the emulation.
    ``mtu_bytes`` is the largest IP packet, the same in both directions of a link.
    ``duplication`` and ``corruption`` are probabilities of each packet. The rate of a channel with
    a ``trace`` is the trace's mean. A ``rate_model`` changes the rate while traffic runs, in step
    with the loss. With a ``delay_trace``, ``delay_s`` is its value as the run begins.
    A ``ring`` is that of the network card of the host at which the channel ends.

    Events change the rest: ``later_rates`` in the order of time, ``later_losses``, and the largest
    ``later_corruption``. ``delay_changes`` and ``impairment_changes`` (any but loss) tell whether
    an event changes them.
    """

    delay_s: float
    rate_bps: int | None = None
    queue: Queue | None = None
    loss: LossModel | None = None
    is_bottleneck: bool = False
    policer: Policer | None = None
    trace: Trace | None = None
    rate_model: RateModel | None = None
    jitter: JitterModel | None = None
    reordering: ReorderingModel | None = None
    duplication: float = 0.0
    corruption: float = 0.0
    later_rates: tuple[int, ...] = ()
    later_losses: tuple[LossModel, ...] = ()
    later_corruption: float = 0.0
    delay_changes: bool = False
    impairment_changes: bool = False
    mtu_bytes: int = DEFAULT_MTU_BYTES
    delay_trace: Steps | None = None
    ring: ReceiveRing | None = None

    @property
    def least_delay_s(self) -> float:
        """The smallest delay by its trace, or else the delay."""
        return self.delay_s if self.delay_trace is None else self.delay_trace.least

    @property
    def most_delay_s(self) -> float:
        """The largest delay by its trace, or else the delay."""
        return self.delay_s if self.delay_trace is None else self.delay_trace.most

    @property
    def frame_bytes(self) -> int:
        """Size of a full frame on the link layer."""
        return self.mtu_bytes + ETHERNET_BYTES

    @property
    def queue_whole_packets(self) -> int | None:
        """Full frames that the queue holds, a limit in bytes rounded down; None without a limit."""
        if self.queue is None:
            return None
        if self.queue.limit_packets is not None:
            return self.queue.limit_packets
        return (
            None if self.queue.limit_bytes is None else self.queue.limit_bytes // self.frame_bytes
        )

    @property
    def rate_varies(self) -> bool:
        """Whether the rate changes by a trace or a model of its own."""
        return self.trace is not None or self.rate_model is not None

    @property
    def rate_is_mean(self) -> bool:
        """Whether the rate is the mean of a rate that varies; that of an even trace is constant."""
        return self.rate_varies and not (self.trace is not None and self.trace.constant)

    @property
    def mean_loss(self) -> float:
        """Long-run probability that a packet is lost after the queue."""
        return 0.0 if self.loss is None else self.loss.mean

    @property
    def impaired(self) -> bool:
        """Whether packets after the queue have any impairment but a delay."""
        models = (self.jitter, self.reordering)
        chances = self.duplication or self.corruption
        return bool(
            self.loses or chances or self.impairment_changes or any(m is not None for m in models)
        )

    @property
    def most_corruption(self) -> float:
        """Largest probability with which packets are corrupted at any time."""
        return max(self.corruption, self.later_corruption)

    @property
    def loses(self) -> bool:
        """Whether packets are lost deliberately after the queue, at any time."""
        models = [model for model in (self.loss, *self.later_losses) if model is not None]
        return any(model.loses for model in models)

    @property
    def begins_with_list(self) -> bool:
        """Whether it has a list of packets to lose by their numbers as the run begins."""
        return self.loss is not None and self.loss.chosen is not None

    @property
    def chosen(self) -> tuple[ChosenPackets, ...]:
        """The lists of packets that are lost by their numbers, at the beginning and by events."""
        models = [model for model in (self.loss, *self.later_losses) if model is not None]
        return tuple(model.chosen for model in models if model.chosen is not None)
