"""Queueing disciplines over rtnetlink: set, read back, count.

A channel's rate and queue are a token bucket (sch_tbf) of one full-size frame whose child is
the queue itself; its delay and loss are a netem on another device. Structures are those of
include/uapi/linux/pkt_sched.h and tc's 64-bit extensions. Functions named ``add_*`` queue a
request; ``read`` returns what the kernel says it has.
"""

import operator
import struct

from . import netlink as nl

RTM_NEWQDISC, RTM_GETQDISC = 36, 38
RTM_NEWTFILTER = 44
TCA_KIND, TCA_OPTIONS, TCA_STATS2 = 1, 2, 7
TC_H_ROOT, TC_H_CLSACT = 0xFFFFFFFF, 0xFFFFFFF1
INGRESS, EGRESS = 0xFFFFFFF2, 0xFFFFFFF3  # TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS / _EGRESS)
FRAME_BYTES = 1514
SLACK_BYTES = 64
NANOSECONDS_PER_TICK = 64  # PSCHED_SHIFT 6

_TCMSG = struct.Struct("=BxxxiIII")
_RATESPEC = struct.Struct("=BBHhHI")
_NETEM = struct.Struct("=6I")

TCA_TBF_PARMS, TCA_TBF_RATE64, TCA_TBF_BURST = 1, 4, 6
TCA_NETEM_LATENCY64, TCA_NETEM_PRNG_SEED = 10, 14

ROOT_HANDLE = 0x00010000
CHILD_HANDLE = 0x00100000


def _request(route, index, parent, handle, kind, options, what, change=False):
    body = _TCMSG.pack(0, index, handle, parent, 0) + nl.attribute(TCA_KIND, kind)
    if options is not None:
        body += nl.attribute(TCA_OPTIONS, options)
    flags = nl.NLM_F_REPLACE if change else nl.NLM_F_CREATE | nl.NLM_F_EXCL
    route.queue(RTM_NEWQDISC, flags, body, what)


def add_rate(route, index, rate_bps, what, change=False):
    """Queue a token bucket of ``rate_bps`` whose bucket holds one full-size frame.

    And a little more: a timer that fires a microsecond late must not lose the tokens of it, or
    the rate falls short (0.04% at 10 Mbit/s with a bucket of exactly one frame). After a change
    the queue must be set again: sch_tbf hands its own limit on to a fifo below it.
    """
    rate = rate_bps // 8
    burst = FRAME_BYTES + SLACK_BYTES + rate // 10**6
    spec = _RATESPEC.pack(0, 1, 0, 0, 0, min(rate, 0xFFFFFFFF))
    buffer_ticks = burst * 10**9 // rate // NANOSECONDS_PER_TICK
    parameters = spec + bytes(12) + struct.pack("=III", 0x7FFFFFFF, buffer_ticks, 0)
    options = [nl.attribute(TCA_TBF_PARMS, parameters), nl.u32(TCA_TBF_BURST, burst)]
    if rate > 0xFFFFFFFF:
        options.append(nl.u64(TCA_TBF_RATE64, rate))
    _request(route, index, TC_H_ROOT, ROOT_HANDLE, "tbf", options, f"{what} tbf", change)


def add_queue(route, index, queue, what, change=False):
    """Queue the drop-tail queue under the token bucket: exactly so many packets or bytes."""
    if queue["limit_packets"] is not None:
        kind, limit = "pfifo", queue["limit_packets"]
    else:
        kind, limit = "bfifo", queue["limit_bytes"]
    options = struct.pack("=I", limit)
    _request(route, index, ROOT_HANDLE | 1, CHILD_HANDLE, kind, options, f"{what} {kind}", change)


def add_delay(route, index, delay_ns, loss, seed, limit_packets, what, change=False):
    """Queue a netem: ``loss`` is a probability, its generator is seeded with ``seed``."""
    scaled = min(round(loss * 2**32), 2**32 - 1)
    options = _NETEM.pack(0, limit_packets, scaled, 0, 0, 0)
    options += struct.pack("=HHq", 12, TCA_NETEM_LATENCY64, delay_ns)
    options += struct.pack("=HHQ", 12, TCA_NETEM_PRNG_SEED, seed)
    _request(route, index, TC_H_ROOT, ROOT_HANDLE, "netem", options, f"{what} netem", change)


def add_redirect(route, index, hook, target_index, what):
    """Queue sending everything that passes ``hook`` out of the interface ``target_index``."""
    action = struct.pack("=IIiii", 0, 0, 4, 0, 0)  # TC_ACT_STOLEN
    mirred = action + struct.pack("=iI", 1, target_index)  # TCA_EGRESS_REDIR
    act = nl.attribute(
        1, [nl.attribute(1, "mirred"), nl.attribute(2 | nl.NLA_F_NESTED, nl.attribute(2, mirred))]
    )
    options = nl.attribute(2, act)  # TCA_MATCHALL_ACT
    protocol_and_priority = 1 << 16 | 0x0300  # ETH_P_ALL in network order
    body = _TCMSG.pack(0, index, 0, hook, protocol_and_priority)
    body += nl.attribute(TCA_KIND, "matchall") + nl.attribute(TCA_OPTIONS, options)
    flags = nl.NLM_F_CREATE | nl.NLM_F_EXCL
    route.queue(RTM_NEWTFILTER, flags, body, f"{what} redirect")


def add_classifier_hook(route, index, what):
    """Queue the clsact pseudo-qdisc that redirections hang on."""
    _request(route, index, TC_H_CLSACT, TC_H_CLSACT & 0xFFFF0000, "clsact", None, f"{what} clsact")


class Counters:
    """Counters of every qdisc of a namespace, by one dump a sample.

    ``names`` lists (interface index, handle) in the order in which ``sample()`` packs them: eight
    u32 each, little endian: bytes (low, high), packets, drops, overlimits, requeues, backlog
    bytes, backlog packets. A dump's layout does not change while no qdisc does, so the words'
    places are found once and picked out together from then on.
    """

    def __init__(self, route):
        self._route = route
        self._length = None
        self.names = []
        self.sample()

    def sample(self):
        """Return the packed counters of all qdiscs now."""
        data = self._route.dump_raw(RTM_GETQDISC, _TCMSG.pack(0, 0, 0, 0, 0))
        if len(data) != self._length:
            self._learn(data)
        return self._pack(*self._pick(memoryview(data).cast("I")))

    def _learn(self, data):
        names, places = [], []
        for kind, _flags, _sequence, start, end in nl.messages(data):
            if kind != RTM_NEWQDISC:
                continue
            _family, index, handle, _parent, _info = _TCMSG.unpack_from(data, start)
            if handle in (ROOT_HANDLE, CHILD_HANDLE):
                names.append((index, handle))
                places += _counter_places(data, start, end)
        if self.names and names != self.names:
            raise nl.NetlinkError(0, "the qdiscs of the bed changed during the run")
        self.names = names
        self._length = len(data)
        self._pick = operator.itemgetter(*[place // 4 for place in places])
        self._pack = struct.Struct(f"<{8 * len(names)}I").pack


def _counter_places(data, start, end):
    """Return byte offsets of the eight words that ``Counters`` packs."""
    stats = _places(data, *_places(data, start + _TCMSG.size, end)[TCA_STATS2])
    basic, queue = stats[1][0], stats[3][0]  # TCA_STATS_BASIC, TCA_STATS_QUEUE
    # struct gnet_stats_queue: qlen, backlog, drops, requeues, overlimits
    drops, overlimits, requeues, backlog, qlen = (queue + 4 * word for word in (2, 4, 3, 1, 0))
    return [basic, basic + 4, basic + 8, drops, overlimits, requeues, backlog, qlen]


def _places(data, offset, end):
    """Return {attribute type: (start, end of its payload)}."""
    found = {}
    while offset + 4 <= end:
        length, kind = struct.unpack_from("=HH", data, offset)
        found[kind & nl.NLA_TYPE_MASK] = (offset + 4, offset + length)
        offset += (length + 3) & ~3
    return found


def read(route):
    """Return {(interface index, handle): {"kind": ..., settings}} as the kernel has them."""
    found = {}
    for _kind, data, start, end in route.dump(RTM_GETQDISC, _TCMSG.pack(0, 0, 0, 0, 0)):
        _family, index, handle, _parent, _info = _TCMSG.unpack_from(data, start)
        attributes = nl.parse_attributes(data, start + _TCMSG.size, end)
        kind = bytes(attributes[TCA_KIND]).rstrip(b"\0").decode()
        settings = _DECODERS.get(kind, lambda _options: {})(attributes.get(TCA_OPTIONS, b""))
        found[(index, handle)] = {"kind": kind, **settings}
    return found


def _decode_tbf(options):
    attributes = nl.parse_attributes(options)
    rate = _RATESPEC.unpack_from(attributes[TCA_TBF_PARMS])[5]
    if TCA_TBF_RATE64 in attributes:
        rate = struct.unpack_from("=Q", attributes[TCA_TBF_RATE64])[0]
    return {"rate_bps": rate * 8}


def _decode_pfifo(options):
    return {"limit_packets": struct.unpack_from("=I", options)[0]}


def _decode_bfifo(options):
    return {"limit_bytes": struct.unpack_from("=I", options)[0]}


def _decode_netem(options):
    _latency, limit, loss, _gap, _duplicate, _jitter = _NETEM.unpack_from(options)
    attributes = nl.parse_attributes(options, _NETEM.size)
    delay_ns = struct.unpack_from("=q", attributes[TCA_NETEM_LATENCY64])[0]
    settings = {"delay_ns": delay_ns, "limit_packets": limit, "loss": loss / 2**32}
    if TCA_NETEM_PRNG_SEED in attributes:
        settings["seed"] = struct.unpack_from("=Q", attributes[TCA_NETEM_PRNG_SEED])[0]
    return settings


_DECODERS = {
    "tbf": _decode_tbf,
    "pfifo": _decode_pfifo,
    "bfifo": _decode_bfifo,
    "netem": _decode_netem,
}
