"""Filters over rtnetlink: redirections from device to device, and policers before them.

A policer is act_police. Its settings are packed like those of a qdisc (see qdisc.pack). Packets
that it passes go on to the redirection. Structures are those of include/uapi/linux/pkt_cls.h and
tc_act/tc_mirred.h.
"""

from __future__ import annotations

import operator
import struct

from orchestrator.testbed.kernel import netlink as nl
from orchestrator.testbed.network.queues import qdisc, qdisc_counters

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Callable, Sequence
    from typing import Any

    from orchestrator.protocol.specification import PolicerSpec, SettingSpec

RTM_NEWTFILTER, RTM_GETTFILTER = 44, 46
TCA_MATCHALL_ACT = 2
TCA_ACT_KIND, TCA_ACT_OPTIONS, TCA_ACT_STATS = 1, 2, 4
_ACT_NESTED = TCA_ACT_OPTIONS | nl.NLA_F_NESTED
_ETH_P_ALL = 0x0300  # in network order
_TCA_MIRRED_PARMS = 2
_ACT_STOLEN, _EGRESS_REDIR = 4, 1
_POLICE, _MIRRED = 1, 2
"""Places of the two actions; without a policer, the redirection has the first place."""


def add_redirect(
    route: nl.Netlink,
    index: int,
    hook: int,
    target_index: int,
    what: str,
    policer: PolicerSpec | None = None,
) -> None:
    """Queue the request for a redirection from ``hook`` to another interface, after a policer."""
    actions = [("mirred", mirred(target_index))]
    if policer is not None:
        actions.insert(0, ("police", qdisc.pack(policer["settings"])))
    nested = [action(order, *each) for order, each in enumerate(actions, start=1)]
    options = nl.attribute(TCA_MATCHALL_ACT, nested)
    add_filter(route, (index, hook, 1), "matchall", options, f"{what} redirect")


def mirred(target_index: int) -> bytes:
    """Return the options of act_mirred that redirect to an interface, where packets leave."""
    parameters = struct.pack("=IIiiiiI", 0, 0, _ACT_STOLEN, 0, 0, _EGRESS_REDIR, target_index)
    return nl.attribute(_TCA_MIRRED_PARMS, parameters)


def action(order: int, kind: str, options: bytes) -> bytes:
    """Return the attribute of a filter's action of that order, from 1."""
    return nl.attribute(
        order, [nl.attribute(TCA_ACT_KIND, kind), nl.attribute(_ACT_NESTED, options)]
    )


def add_filter(
    route: nl.Netlink, place: tuple[int, int, int], kind: str, options: nl.Payload, what: str
) -> None:
    """Queue the request for a filter at ``place``: an interface, a hook and a priority from 1."""
    index, hook, priority = place
    body = qdisc.TCMSG.pack(0, index, 0, hook, priority << 16 | _ETH_P_ALL)
    body += nl.attribute(qdisc.TCA_KIND, kind) + nl.attribute(qdisc.TCA_OPTIONS, options)
    route.queue(RTM_NEWTFILTER, nl.NLM_F_CREATE | nl.NLM_F_EXCL, body, what)


def _dump(index: int) -> bytes:
    return qdisc.TCMSG.pack(0, index, 0, qdisc.INGRESS, 0)


def _actions(data: bytes) -> tuple[int, int] | None:
    """Return (start, end) of the list of actions in a dump of one device's filters, or None."""
    for kind, _flags, _sequence, start, end in nl.messages(data):
        if kind == RTM_NEWTFILTER:
            attributes = nl.attribute_spans(data, start + qdisc.TCMSG.size, end)
            if qdisc.TCA_OPTIONS in attributes:
                actions = nl.attribute_spans(data, *attributes[qdisc.TCA_OPTIONS]).get(
                    TCA_MATCHALL_ACT
                )
                if actions is not None:
                    return actions
    return None


def read_policer(
    route: nl.Netlink, index: int, settings: Sequence[SettingSpec]
) -> dict[str, int | str | None]:
    """Return {name: value} of the ingress policer of interface ``index``; see qdisc.unpack."""
    data = route.dump_raw(RTM_GETTFILTER, _dump(index))
    actions = _actions(data)
    police = nl.attribute_spans(data, *actions).get(_POLICE) if actions else None
    options = nl.attribute_spans(data, *police).get(TCA_ACT_OPTIONS) if police else None
    return qdisc.unpack(settings, data[slice(*options)] if options else b"")


class Policers:
    """Samples the counters of policers, with one dump of filters for each policer.

    Args:
        route: a netlink socket in the devices' namespace.
        indices: the interface of each policer.

    ``sample()`` packs eight u32 for each as qdisc_counters.NamespaceCounters does. Bytes (of the
    network layer) and packets are those that passed. Drops are packets that exceeded the rate.
    """

    def __init__(self, route: nl.Netlink, indices: Sequence[int]) -> None:
        self._route = route
        self.indices = indices
        self._lengths: dict[int, int] = {}
        self._picks: dict[int, Callable[[Any], tuple[int, ...]]] = {}
        self._pack = struct.Struct("<8I").pack

    def sample(self) -> bytes:
        """Return the packed counters of all policers now."""
        return b"".join(self._one(index) for index in self.indices)

    def _one(self, index: int) -> bytes:
        data = self._route.dump_raw(RTM_GETTFILTER, _dump(index))
        if len(data) != self._lengths.get(index):
            self._lengths[index] = len(data)
            self._picks[index] = operator.itemgetter(*[p // 4 for p in self._learn(data)])
        return self._pack(*self._picks[index](memoryview(data).cast("I")))

    def _learn(self, data: bytes) -> list[int]:
        actions = _actions(data)
        if actions is None:
            raise nl.NetlinkError(0, "the policers of the bed changed during the run")
        start, end = actions
        passed = qdisc_counters.counter_places(data, start, end, [_MIRRED, TCA_ACT_STATS])
        dropped = qdisc_counters.counter_places(data, start, end, [_POLICE, TCA_ACT_STATS])
        return [*passed[:3], *dropped[3:]]
