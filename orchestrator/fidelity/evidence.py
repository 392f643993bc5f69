"""The evidence of a run: facts of the test bed and samples, by which checks judge it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from orchestrator.fidelity.host import HostLoad
from orchestrator.network import Channel, Network
from orchestrator.protocol.links import netem
from orchestrator.protocol.reports import facts
from orchestrator.protocol.reports.facts import Fact
from orchestrator.protocol.sampling_schedule import DIGEST_NS
from orchestrator.recording.model import FlowRecord, QueueRecord, by_queue
from orchestrator.recording.plan import SamplesPlan

F = TypeVar("F")
Columns = dict[str, npt.NDArray[np.int64]]
"""Columns of one flow's samples by name, in the order of time."""
FlowColumns = Callable[[int, Sequence[str]], Columns]
"""Returns the named columns of the flow with that index."""

SENDER_COLUMNS = (
    "time_ns",
    "flow",
    "state",
    "ca_state",
    "rtt_us",
    "min_rtt_us",
    "total_retrans_segments",
    "busy_time_us",
    "rwnd_limited_us",
    "snd_wnd_bytes",
    "bytes_acked",
    "bytes_sent",
    "bytes_retrans",
    "notsent_bytes",
)
"""The columns of senders' samples that checks may use."""

CLOSE = 7
"""State (include/net/tcp_states.h) in which the kernel reports a socket when it destroys it. That
may be long after the socket was last sampled."""


def _no_samples(_flow: int, names: Sequence[str]) -> Columns:
    return {name: np.zeros(0, np.int64) for name in names}


@dataclass(frozen=True)
class NetemSpan:
    """What a channel's netem did while it had these settings: {name: value}.

    ``packets`` are its decisions, those over duplicates, too; ``ahead`` skipped the delay. Packets
    that the link lost by their numbers never came to it.
    """

    settings: dict[str, int]
    packets: int
    drops: int
    ahead: int

    def of(self, prefix: str) -> dict[str, int]:
        """Return the settings whose names begin with a prefix."""
        return {name: value for name, value in self.settings.items() if name.startswith(prefix)}


class ChosenLosses(NamedTuple):
    """What a channel did while it had a list of packets to lose by their numbers."""

    ranges: str
    """In hexadecimal, as orchestrator.protocol.links.chosen.ranges_of() reads it."""
    port: int
    """Only packets of that port counted; 0 stands for all."""
    data_only: int
    """1 if only packets with payload counted."""
    packets: int
    """How many packets counted."""
    lost: int


@dataclass(frozen=True)
class Evidence:
    """Facts of the bed in their order, and the samples; see ``orchestrator.protocol.reports``."""

    network: Network
    facts: Sequence[Fact]
    flows: list[FlowRecord]
    queues: list[QueueRecord]
    queue_samples: npt.NDArray[np.void]
    windows: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of each flow with a limited window: the limit and the largest advertised window in bytes."""
    plan: SamplesPlan | None = None
    """What samples are compared with; None in runs that were stored without it."""
    senders: FlowColumns = _no_samples
    """The samples of a TCP flow's sender."""
    datagrams: FlowColumns = _no_samples
    """The samples of a UDP flow."""
    readings: npt.NDArray[np.void] | None = None
    """Readings of queues, as of orchestrator.recording.readings; None in runs without them."""
    network_at_end: Network | None = None
    """The network after the last event; None in runs that were stored without it."""
    kernel_warnings: tuple[int, str] | None = None
    """Number of warnings of a guest's kernel while traffic ran, and the first one."""

    def all(self, form: type[F], **conditions: object) -> list[F]:
        """Return the facts of that form whose values match ``conditions``."""
        return facts.of(self.facts, form, **conditions)

    def one(self, form: type[F], **conditions: object) -> F:
        """Return the one fact of that form; LookupError when the bed did not report it."""
        matches = self.all(form, **conditions)
        if len(matches) != 1:
            raise LookupError(f"{len(matches)} facts {form.__name__} {conditions}")
        return matches[0]

    @cached_property
    def hosts(self) -> list[HostLoad]:
        """The real machines that the run ran on; none in virtual time."""
        return [HostLoad.of(fact) for fact in self.all(facts.Host)]

    @property
    def real_time(self) -> bool:
        """Whether the clock was a real one."""
        return bool(self.hosts)

    @cached_property
    def late_s(self) -> float:
        """How late a slow machine may have been at any time, 0 unless one was slow."""
        return max((host.late_max_s for host in self.hosts if host.slow), default=0.0)

    @cached_property
    def slow(self) -> bool:
        """Whether a machine was too slow or too busy for reliable timing."""
        return any(host.slow for host in self.hosts)

    def judge(self, off: float, tolerance: float, excused: float) -> bool | None:
        """Return whether an error ``off`` is within a tolerance; None is in doubt.

        It is in doubt if a machine was slow and the error exceeds the tolerance by up to
        ``excused``. The slow machine may explain it, but something else may, too.
        """
        if off <= tolerance:
            return True
        return None if self.slow and off <= tolerance + excused else False

    def channel(self, name: str) -> Channel:
        """Return the requested channel by its name, such as ``bottleneck:forward``."""
        return _channel(self.network, name)

    def path_at_end(self, names: Sequence[str]) -> list[Channel]:
        """Return the channels of those names after the last event.

        Raises:
            LookupError: the run was stored without its network at the end.
        """
        if self.network_at_end is None:
            raise LookupError("the network at the end was not stored")
        return [_channel(self.network_at_end, name) for name in names]

    def samples(self, queue: int) -> npt.NDArray[np.void]:
        """Return the samples of one queue in the order of time."""
        return self._by_queue[queue]

    def read(self, queue: int) -> npt.NDArray[np.void]:
        """Return the readings of one queue in the order of time.

        Of runs that were stored without readings, these are the samples of the queue. Readings are
        empty where packets hardly ever waited.
        """
        if self.readings is None:
            return self.samples(queue)
        return self._read_by_queue[queue]

    def sent(self, flow: int, names: Sequence[str]) -> Columns:
        """Return columns of a flow's sender at the times that all runs have.

        These are the times of the digest, the edges of windows, and the end of a socket. So the
        columns do not depend on the sampling period.
        """
        columns = self.senders(flow, [*names, "time_ns", "state"])
        if self.plan is None:
            return columns
        edges_ns = self.plan["sampling"]["edges_ns"]
        time_ns = columns["time_ns"]
        kept = (time_ns % DIGEST_NS == 0) | np.isin(time_ns, edges_ns) | (columns["state"] == CLOSE)
        kept |= time_ns == self.plan["sampling"]["duration_ns"]
        return {name: columns[name][kept] for name in names}

    @cached_property
    def changing(self) -> dict[str, list[NetemSpan]]:
        """The spans of each channel whose impairments changed while traffic ran."""
        return {
            channel: [NetemSpan(*span) for span in spans]
            for fact in self.all(facts.Timeline)
            for channel, spans in fact["impairments"].items()
        }

    @cached_property
    def chosen(self) -> dict[str, list[ChosenLosses]]:
        """The lists of packets to lose that each channel had, in the order of time."""
        return {
            channel: [ChosenLosses(*losses) for losses in lists]
            for fact in self.all(facts.Timeline)
            for channel, lists in fact.get("chosen_losses", {}).items()
        }

    def lost_by_number(self, channel: str) -> int:
        """Return how many packets the channel lost by their numbers."""
        return sum(losses.lost for losses in self.chosen.get(channel, []))

    def drops(self, queue: int) -> int:
        """Return the drops of a delay line at the end, but for packets lost by their numbers.

        Of a real machine the last sample may be older than the count of such packets.
        """
        record, samples = self.queues[queue], self.samples(queue)
        dropped = int(samples["drops"][-1]) if len(samples) else 0
        return max(dropped - self.lost_by_number(f"{record.link}:{record.direction}"), 0)

    def spans(self, queue: int) -> list[NetemSpan]:
        """Return the spans of a delay line that have packets; most have one span."""
        record, samples = self.queues[queue], self.samples(queue)
        name = f"{record.link}:{record.direction}"
        if name in self.changing:
            return [span for span in self.changing[name] if span.packets]
        if not len(samples):
            return []
        last = samples[-1]
        packets, drops = int(last["packets"] + last["backlog_packets"]), self.drops(queue)
        settings = _impairments(self.channel(name))
        return (
            [NetemSpan(settings, packets + drops, drops, int(last["requeues"]))] if packets else []
        )

    @cached_property
    def _read_by_queue(self) -> list[npt.NDArray[np.void]]:
        assert self.readings is not None, "checked by the caller"
        return by_queue(self.readings, len(self.queues))

    @cached_property
    def _by_queue(self) -> list[npt.NDArray[np.void]]:
        return by_queue(self.queue_samples, len(self.queues))


def _channel(network: Network, name: str) -> Channel:
    link_name, _, direction = name.rpartition(":")
    link = next(link for link in network.links if link.name == link_name)
    return link.forward if direction == "forward" else link.reverse


def _impairments(channel: Channel) -> dict[str, int]:
    """Return the settings of a channel's impairments as the run begins."""
    reordering = None if channel.reordering is None else channel.reordering.impairment()
    settings = [
        *(() if channel.loss is None else netem.loss_settings(channel.loss.impairment())),
        *(() if reordering is None else netem.reordering_settings(reordering)),
        *netem.duplication_settings(channel.duplication),
    ]
    return {
        **{setting.name: int(setting.value) for setting in settings},
        netem.CORRUPTION: netem.chance_threshold(channel.corruption),
    }
