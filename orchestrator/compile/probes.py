"""Plans the probes of the idle network before traffic: round trips, queues and policers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from orchestrator.network import (
    Channel,
    Hop,
    Network,
    Policer,
    Queue,
    crossing_ns,
    mtu_bytes,
    passing_share,
    path_delay_s,
)
from orchestrator.planning.network_at_end import least_passing_share, trips_at_end
from orchestrator.planning.runspec import PlannedFlow, RunSpec
from orchestrator.protocol.links.frames import (
    ECHO_FRAME_BYTES,
    ETHERNET_BYTES,
    PROBE_FRAME_BYTES,
    transmission_ns,
)
from orchestrator.protocol.probe_specification import (
    BurstProbe,
    Echoes,
    EndProbe,
    PolicerProbe,
    ProbesSpec,
    RoundTripProbe,
)
from orchestrator.protocol.units import nanoseconds

_MARGIN_PACKETS = 64
_LEAST_PACKETS, _MOST_PACKETS = 3, 20_000
_ROUND_PACKETS = 8
_SMALL_PACKETS = 20
_PASSED = 40
"""Least number of packets over all rounds whose spacing gives the rate."""
_POLICED = 400
"""Least number of packets that pass a policer with an empty bucket; they give the rate to 1/400."""
_MOST_POLICED = 100_000
_SETTLE_S = 0.2
_LEAST_ECHOES, _MOST_ECHOES = 12, 2000
_HOPELESS_ECHOES = 200_000
"""When ``_ALL_LOST`` needs more echoes than this, only ``_LEAST_ECHOES`` are sent.

Even ``_MOST_ECHOES`` would then bring an answer in one of six cases at most.
"""
_LIKELY_LOST = 1e-6
"""A round trip after traffic is not measured if losses swallow all echoes with this probability."""
_ALL_LOST = 1e-8
"""Probability that no echo returns over a lossy path, unless the limit on echoes applies."""


def probes(run: RunSpec) -> ProbesSpec:
    """Return the probes of each pair of hosts with a flow, bottleneck queue and policer.

    The round trips are measured again after traffic, over the network as it is then.
    """
    network = run.network
    pairs = dict.fromkeys((flow.source, flow.sink) for flow in run.flows)
    return {
        "round_trips": [
            _round_trip(network, source, sink, frame_bytes)
            for source, sink in pairs
            for frame_bytes in (ECHO_FRAME_BYTES, _full_frame_bytes(network, source, sink))
        ],
        "round_trips_end": list(_round_trips_at_end(run)),
        "bursts": list(_bursts(network, run.flows)),
        "policers": list(_policers(network, pairs)),
        "fill_ns": max(map(_bucket_ns, _channels(network)), default=0),
    }


def _channels(network: Network) -> Iterator[Channel]:
    """Yield both directions of every link."""
    for link in network.links:
        yield link.forward
        yield link.reverse


def _bucket_ns(channel: Channel) -> int:
    """Return how long the empty bucket of a channel's policer takes to fill; 0 without one."""
    return 0 if channel.policer is None else _fill_ns([channel], channel.policer.burst_bytes)


def queue_packets(queue: Queue, frame_bytes: int) -> int:
    """Return how many frames of that size the queue holds."""
    if queue.limit_packets is not None:
        return queue.limit_packets
    assert queue.limit_bytes is not None, "one of the limits is set"
    return queue.limit_bytes // frame_bytes


def _full_frame_bytes(network: Network, source: str, sink: str) -> int:
    """Return the largest frame that crosses all links there and back."""
    hops = (*network.path(source, sink), *network.path(sink, source))
    return mtu_bytes(hops) + ETHERNET_BYTES


def _round_trip(network: Network, source: str, sink: str, frame_bytes: int) -> RoundTripProbe:
    hops = (*network.path(source, sink), *network.path(sink, source))
    echoes = _echoes(hops, frame_bytes)
    return {
        "source": source,
        "sink": sink,
        "frame_bytes": frame_bytes,
        "expected_ns": echoes["expected_ns"],
        "attempts": echoes["attempts"],
        "fill_ns": echoes["fill_ns"],
    }


def _round_trips_at_end(run: RunSpec) -> Iterator[EndProbe]:
    """Yield the probes after traffic; none where a state of a loss model may lose all of them."""
    if run.lab is not None:
        return
    for trip in trips_at_end(run):
        passing = least_passing_share(trip.hops)
        echoes = _echoes(trip.hops, ECHO_FRAME_BYTES, passing)
        if (1 - passing) ** echoes["attempts"] <= _LIKELY_LOST:
            names = [hop.name for hop in trip.hops]
            yield {"source": trip.source, "sink": trip.sink, **echoes, "path": names}


def _echoes(hops: tuple[Hop, ...], frame_bytes: int, passing: float | None = None) -> Echoes:
    """Return the expected RTT of a path there and back, and how many echoes may be needed."""
    if passing is None:
        passing = passing_share(hop.channel for hop in hops)
    enough = math.log(_ALL_LOST) / math.log1p(-passing) if 0 < passing < 1 else 0.0
    hopeless = not passing or enough > _HOPELESS_ECHOES
    attempts = min(max(_LEAST_ECHOES, math.ceil(enough)), _MOST_ECHOES)
    return {
        "frame_bytes": frame_bytes,
        "expected_ns": crossing_ns(hops, frame_bytes),
        "attempts": _LEAST_ECHOES if hopeless else attempts,
        "fill_ns": _fill_ns([hop.channel for hop in hops], frame_bytes),
    }


def _fill_ns(channels: Iterable[Channel], size_bytes: int) -> int:
    """Return how long the policers of a path take to get tokens for so many bytes.

    A bucket has no room for more tokens than its size.
    """
    policers = (channel.policer for channel in channels if channel.policer is not None)
    times_ns = (
        transmission_ns(min(size_bytes, policer.burst_bytes), policer.rate_bps)
        for policer in policers
    )
    return max(times_ns, default=0)


def _bursts(network: Network, flows: Iterable[PlannedFlow]) -> Iterator[BurstProbe]:
    """Yield two probes for each bottleneck queue that data cross, if a probe can measure it.

    The second one is of a few small packets, which an idle link must not send at once.
    """
    seen: set[str] = set()
    for flow in flows:
        hops = network.path(flow.source, flow.sink)
        for position, hop in enumerate(hops):
            if hop.name in seen or not hop.channel.is_bottleneck:
                continue
            probe = _burst(flow, hops, position)
            if probe is None and flow.source in network.qdisc_hosts:
                # The host's own queue holds no burst that overfills this one.
                probe = _burst(flow, hops, position, overfill=False)
            if probe is not None:
                seen.add(hop.name)
                yield probe
                yield _small(probe, hop.channel)


def _small(full: BurstProbe, channel: Channel) -> BurstProbe:
    """Return the probe of small packets for a queue that another probe measures."""
    delay_ns = full["behind_ns"] - transmission_ns(full["frame_bytes"], channel.rate_bps)
    return {
        **full,
        "frame_bytes": PROBE_FRAME_BYTES,
        "packets": min(full["packets"], _SMALL_PACKETS),
        "rounds": 1,
        "queue_packets": None,
        "behind_ns": delay_ns + transmission_ns(PROBE_FRAME_BYTES, channel.rate_bps),
    }


def _burst(
    flow: PlannedFlow, hops: tuple[Hop, ...], position: int, overfill: bool = True
) -> BurstProbe | None:
    """Return the probe of the queue at ``position``, None when this path cannot measure it.

    Two conditions must hold. The rate before the queue is higher, so that the queue fills. And the
    queues before it hold the burst without drops. Nothing else loses or reorders packets, because
    they bypass all impairments during these probes. Only a drop-tail queue without a policer
    before it is overfilled, and only if ``overfill`` is set. For all other queues a few short
    bursts measure the rate, because their algorithm controls their length.
    """
    channel = hops[position].channel
    rate, queue = channel.rate_bps, channel.queue
    if rate is None or queue is None:
        return None
    before = [hop.channel for hop in hops[:position]]
    feed = min(
        (earlier.rate_bps for earlier in before if earlier.rate_bps is not None), default=None
    )
    if feed is not None and feed < 1.05 * rate:
        return None
    policers = [earlier.policer for earlier in (*before, channel) if earlier.policer is not None]
    frame_bytes = mtu_bytes(hops) + ETHERNET_BYTES
    limit = queue_packets(queue, frame_bytes)
    overfilled = overfill and _is_plain_fifo(queue) and not policers
    if overfilled:
        packets = _overfilling(limit, rate, feed)
        rounds = math.ceil(_PASSED / max(1, limit))
    else:
        room = [policer.burst_bytes // frame_bytes for policer in policers]
        packets = min(_ROUND_PACKETS, limit, *room)
        rounds = math.ceil(_PASSED / max(1, packets - 2))
    if not _LEAST_PACKETS <= packets <= _MOST_PACKETS or not _held(packets, before, frame_bytes):
        return None
    slowest = min([rate, *(policer.rate_bps for policer in policers)])
    settle_s = _SETTLE_S + path_delay_s(hops) + packets * frame_bytes * 8 / slowest
    return {
        "channel": hops[position].name,
        "source": flow.source,
        "sink": flow.sink,
        "packets": packets,
        "rounds": max(1, rounds),
        "fill_ns": _fill_ns((*before, channel), packets * frame_bytes),
        "settle_ns": nanoseconds(settle_s),
        "rate_bps": rate,
        "queue_packets": limit if overfilled else None,
        "frame_bytes": frame_bytes,
        # Where packets are impaired, the delay is part of what they bypass.
        "behind_ns": transmission_ns(frame_bytes, rate)
        + (0 if channel.impaired else nanoseconds(channel.delay_s)),
    }


def _policers(network: Network, pairs: Iterable[tuple[str, str]]) -> Iterator[PolicerProbe]:
    """Yield a probe for each policer on the path of data or ACKs, if a probe can measure it."""
    seen: set[str] = set()
    for pair in pairs:
        for source, sink in (pair, pair[::-1]):
            hops = network.path(source, sink)
            for position, hop in enumerate(hops):
                if hop.name not in seen and hop.channel.policer is not None:
                    probe = _policed(source, sink, hops, position)
                    if probe is not None:
                        seen.add(hop.name)
                        yield probe


def _policed(source: str, sink: str, hops: tuple[Hop, ...], position: int) -> PolicerProbe | None:
    """Return the probe of the policer at ``position``, None when this path cannot measure it.

    The bucket is full at the first burst, whatever other probes have taken from it. Each burst
    empties the bucket, which is half full again at the next one. The packets that pass then give
    the rate. So packets must arrive faster than this rate and cross no other policer before. All
    packets that pass must also get through the queue behind it, where they gather if the link is
    slower than the policer. Fewer bursts are sent then.
    """
    before, channel = [hop.channel for hop in hops[:position]], hops[position].channel
    policer, queue = channel.policer, channel.queue
    assert policer is not None, "checked by the caller"
    feed = min(
        (earlier.rate_bps for earlier in before if earlier.rate_bps is not None), default=None
    )
    slow = feed is not None and feed < 1.05 * policer.rate_bps
    frame_bytes = mtu_bytes(hops) + ETHERNET_BYTES
    held = policer.burst_bytes // frame_bytes
    if slow or not held or any(earlier.policer is not None for earlier in before):
        return None
    share = 0.0 if feed is None else policer.rate_bps / feed
    packets = int(held / (1 - share) * 1.05) + _ROUND_PACKETS
    half = max(held // 2, 1)
    more = _rounds_behind(channel, policer, held, half, frame_bytes)
    whole = queue is None or _held(held + 1, [channel], frame_bytes)
    if more * half < _PASSED or not whole or not _held(packets, before, frame_bytes):
        return None
    rounds = 2 + more
    if packets * rounds > _MOST_POLICED:
        return None
    spread_s = 0.0 if feed is None else packets * frame_bytes * 8 / feed
    full_s = policer.burst_bytes * 8 / policer.rate_bps
    gathering = _gathering(channel, policer)
    if gathering is not None:
        full_s += (held + rounds * half) * frame_bytes * 8 / gathering[1]
    return {
        "channel": hops[position].name,
        "source": source,
        "sink": sink,
        "packets": packets,
        "rounds": rounds,
        "fill_ns": _fill_ns([channel], policer.burst_bytes),
        "pause_ns": nanoseconds(spread_s + half * frame_bytes * 8 / policer.rate_bps),
        "settle_ns": nanoseconds(_SETTLE_S + path_delay_s(hops) + spread_s + full_s),
        "rate_bps": policer.rate_bps,
        "burst_bytes": policer.burst_bytes,
        "frame_bytes": frame_bytes,
    }


def _gathering(channel: Channel, policer: Policer) -> tuple[Queue, int] | None:
    """Return the queue in which packets gather behind a policer and its rate, None if in none."""
    if channel.queue is None or channel.rate_bps is None or channel.rate_bps >= policer.rate_bps:
        return None
    return channel.queue, channel.rate_bps


def _rounds_behind(
    channel: Channel, policer: Policer, held: int, half: int, frame_bytes: int
) -> int:
    """Return how many rounds of ``half`` packets can pass a policer and the queue behind it.

    ``held`` packets of the first round wait there already. At most, ``_POLICED`` packets pass.
    """
    wanted = -(-_POLICED // half)
    gathering = _gathering(channel, policer)
    if gathering is None:
        return wanted
    queue, rate_bps = gathering
    # The second round, at whose begin the bucket is half full, is one of those that gather.
    gather = half * (1 - rate_bps / policer.rate_bps)
    room = _room(queue, frame_bytes) - held - 1
    return min(wanted, int(room / gather) - 1)


def _is_plain_fifo(queue: Queue) -> bool:
    """Return whether a queue drops only arriving packets, and only when it is full."""
    return queue.qdisc.kind in ("pfifo", "bfifo")


def _held(packets: int, before: list[Channel], frame_bytes: int) -> bool:
    """Return whether every queue before the probed one can hold the waiting packets of a burst."""
    feed_bps: int | None = None
    for earlier in before:
        if earlier.rate_bps is None or earlier.queue is None:
            continue
        waiting = packets * (1.0 if feed_bps is None else 1.0 - earlier.rate_bps / feed_bps)
        if waiting > _room(earlier.queue, frame_bytes):
            return False
        feed_bps = min(earlier.rate_bps, feed_bps or earlier.rate_bps)
    return True


def _room(queue: Queue, frame_bytes: int) -> int:
    """Return how many packets may wait in a queue and none be dropped."""
    limit = queue_packets(queue, frame_bytes)
    return limit if _is_plain_fifo(queue) else min(limit, _ROUND_PACKETS)


def _overfilling(limit: int, rate_bps: int, feed_bps: int | None) -> int:
    """Return how many packets overfill a queue of that size."""
    filling = 1.0 if feed_bps is None else 1.0 - rate_bps / feed_bps
    return int(limit / filling * 1.05) + _MARGIN_PACKETS
