"""Lets a switch take one of several links at random for each packet: packet spraying.

Open vSwitch chooses by flows only. So its rules send all packets of a destination to the first of
the links, and filters at that port, behind Open vSwitch, redirect them to the ports of the others.
Each filter is a classic BPF program (cls_bpf). It matches the destinations, and one packet of n at
random, where n is the number of links that are left. The last filter only counts. Structures are
those of include/uapi/linux/pkt_cls.h, tc_act/tc_skbedit.h and linux/filter.h.
"""

from __future__ import annotations

import struct

from orchestrator.testbed.kernel import netlink as nl
from orchestrator.testbed.network import redirect, rtnl
from orchestrator.testbed.network.queues import qdisc

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Mapping, Sequence

_TCA_BPF_ACT, _TCA_BPF_OPS_LEN, _TCA_BPF_OPS = 1, 4, 5
_TCA_SKBEDIT_PARMS, _TCA_SKBEDIT_MARK = 2, 5
_ACT_OK = 0
_STATS_BASIC = 1  # TCA_STATS_BASIC
_BASIC = struct.Struct("=QI")
"""gnet_stats_basic: bytes and packets."""

_INSTRUCTION = struct.Struct("=HBBI")
_LOAD_WORD, _JUMP, _JUMP_EQUAL, _MODULO, _RETURN = 0x20, 0x05, 0x15, 0x94, 0x06
_RANDOM = 0xFFFFF038  # SKF_AD_OFF + SKF_AD_RANDOM
_DESTINATION = 2
"""Where the last four bytes of the destination's MAC begin in a frame. The first two are equal for
all hosts; see numbering.host_mac."""
_NO_MATCH, _MATCH = 0, 0xFFFFFFFF
_CHUNK = 200
"""Destinations that are compared one after another: a conditional jump spans 255 instructions."""


def program(destinations: Sequence[str], choices: int) -> bytes:
    """Return the program that matches one of ``choices`` packets to the destinations, at random.

    ``destinations`` are MAC addresses.
    """
    choose = [
        (_LOAD_WORD, 0, 0, _RANDOM),
        (_MODULO, 0, 0, choices),
        (_JUMP_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _MATCH),
        (_RETURN, 0, 0, _NO_MATCH),
    ]
    code = [*choose] if choices > 1 else [(_RETURN, 0, 0, _MATCH)]
    code.insert(0, (_RETURN, 0, 0, _NO_MATCH))  # no destination matched
    for begin in reversed(range(0, len(destinations), _CHUNK)):
        chunk = destinations[begin : begin + _CHUNK]
        # Behind the chunk: no match goes on with the next one, and a match to the choice.
        behind = len(code) - (len(choose) if choices > 1 else 1)
        compared = [
            (_JUMP_EQUAL, len(chunk) - place, 0, int.from_bytes(rtnl.mac_bytes(mac)[2:], "big"))
            for place, mac in enumerate(chunk)
        ]
        code = [*compared, (_JUMP, 0, 0, 1), (_JUMP, 0, 0, behind), *code]
    code.insert(0, (_LOAD_WORD, 0, 0, _DESTINATION))
    return b"".join(_INSTRUCTION.pack(*instruction) for instruction in code)


def add(
    route: nl.Netlink, ports: Sequence[int], priority: int, destinations: Sequence[str], what: str
) -> None:
    """Queue the requests that spray packets of the first of some ports over all of them.

    ``ports`` are interfaces, of which the first has a clsact qdisc. The filters there have
    priorities from ``priority`` on, one for each port. ``destinations`` are the MAC addresses of
    the receivers.
    """
    first, *others = ports
    for number, target in enumerate((*others, None)):
        code = program(destinations, len(ports) - number)
        options = [
            nl.attribute(_TCA_BPF_ACT | nl.NLA_F_NESTED, _action(target)),
            nl.attribute(_TCA_BPF_OPS_LEN, struct.pack("=H", len(code) // _INSTRUCTION.size)),
            nl.attribute(_TCA_BPF_OPS, code),
        ]
        place = first, qdisc.EGRESS, priority + number
        redirect.add_filter(route, place, "bpf", options, f"{what} spraying")


def _action(target: int | None) -> bytes:
    """Return the redirection to an interface, or with None an action that only counts."""
    if target is not None:
        return redirect.action(1, "mirred", redirect.mirred(target))
    parameters = struct.pack("=IIiii", 0, 0, _ACT_OK, 0, 0)
    # Packets have no mark, and lose any when they leave the switch's namespace.
    options = nl.attribute(_TCA_SKBEDIT_PARMS, parameters) + nl.u32(_TCA_SKBEDIT_MARK, 0)
    return redirect.action(1, "skbedit", options)


def packets(route: nl.Netlink, first: int) -> dict[int, int]:
    """Return {priority: packets that its filter took} of an interface; see ``add``.

    The filter of a redirection comes before those of the ports behind it, and the last one is that
    of the interface itself.
    """
    request = qdisc.TCMSG.pack(0, first, 0, qdisc.EGRESS, 0)
    counts: dict[int, int] = {}
    for kind, data, start, end in route.dump(redirect.RTM_GETTFILTER, request):
        if kind != redirect.RTM_NEWTFILTER:
            continue
        info = qdisc.TCMSG.unpack_from(data, start)[4]
        found = _counted(nl.parse_attributes(data, start + qdisc.TCMSG.size, end))
        if found is not None:
            counts[info >> 16] = found
    return counts


def _counted(attributes: Mapping[int, bytes]) -> int | None:
    """Return the packets of a filter's action; None for a part of a dump that has no action."""
    options = nl.parse_attributes(attributes.get(qdisc.TCA_OPTIONS, b""))
    if _TCA_BPF_ACT not in options:
        return None
    (one,) = nl.parse_attributes(options[_TCA_BPF_ACT]).values()
    statistics = nl.parse_attributes(nl.parse_attributes(one)[redirect.TCA_ACT_STATS])
    return int(_BASIC.unpack_from(statistics[_STATS_BASIC])[1])
