"""Which SNMP counters of which hosts a run has; their values are rows of COUNTER_DTYPE."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

COUNTER_NAME = r"^[A-Za-z0-9]{1,30}:[A-Za-z0-9_]{1,60}$"
MOST_COUNTERS = 10_000
"""The form of a counter's name, and the limit of their number. Linux 6.12 has about 290, and each
flow of programs at one host adds five."""

PROVENANCE = "counters"
"""The key of a run's provenance that has the names."""

ECN_REACTIONS = "RunCounts:EcnReactions"
"""What our module run_counts has."""

ECN_PACKETS = {
    "ce": "IpExt:InCEPkts", "ect0": "IpExt:InECT0Pkts", "ect1": "IpExt:InECT1Pkts",
    "not_ect": "IpExt:InNoECTPkts",
}  # fmt: skip
"""The counters of packets that came to a host, by their ECN field."""

KEPT = frozenset({ECN_REACTIONS}) | frozenset(
    f"TcpExt:{name}"
    for name in (
        "TCPTimeouts", "TCPLossProbes",
        "TCPRenoRecovery", "TCPSackRecovery",
        "TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo",
        "TCPHystartTrainDetect", "TCPHystartDelayDetect", "TCPLostRetransmit",
        "TCPRcvQDrop", "TCPOFODrop", "TCPBacklogDrop", "TCPZeroWindowDrop", "PAWSEstab",
    )
) | frozenset(ECN_PACKETS.values())  # fmt: skip
"""Counters whose names a run keeps although they did not grow: metrics tell 0 from not counted."""


@dataclass(frozen=True)
class CounterNames:
    """What COUNTER_DTYPE's ``host`` and ``counter`` number.

    ``hosts`` has the hosts that share each network namespace, ``names`` names such as
    "TcpExt:TCPTimeouts". A counter without rows did not grow. The kernel does not have one that is
    in KEPT and not here.
    """

    hosts: tuple[tuple[str, ...], ...] = ()
    names: tuple[str, ...] = ()

    @cached_property
    def place_of(self) -> Mapping[str, int]:
        """The number of the namespace of each host."""
        return {host: number for number, hosts in enumerate(self.hosts) for host in hosts}

    @cached_property
    def number_of(self) -> Mapping[str, int]:
        """The number of each counter."""
        return {name: number for number, name in enumerate(self.names)}

    def named(self, wanted: str) -> str | None:
        """Return the counter of that name, such as "TcpExt:TCPTimeouts" or "TCPTimeouts"."""
        if wanted in self.number_of:
            return wanted
        return next((name for name in self.names if name.rpartition(":")[2] == wanted), None)

    def document(self) -> dict[str, Any]:
        """Return it JSON-ready, for the run's provenance."""
        return {"hosts": [list(hosts) for hosts in self.hosts], "names": list(self.names)}

    @classmethod
    def of(cls, provenance: Mapping[str, Any]) -> CounterNames:
        """Return what a run's provenance has; nothing of a run that was stored without counters.

        Raises:
            ValueError: it has another form.
        """
        if PROVENANCE not in provenance:
            return cls()
        document = provenance[PROVENANCE]
        hosts = _lists(document, "hosts")
        names = _lists(document, "names")
        for shared in hosts:
            _require(isinstance(shared, list) and bool(shared), "hosts have another form")
        everyone = [host for shared in hosts for host in shared]
        for texts in (everyone, names):
            _require(all(isinstance(text, str) for text in texts), "a name is no text")
            _require(len(set(texts)) == len(texts), "a name is there twice")
        _require(len(names) <= MOST_COUNTERS, f"there are {len(names)} names")
        _require(all(re.fullmatch(COUNTER_NAME, name) for name in names), "a name has another form")
        return cls(tuple(tuple(shared) for shared in hosts), tuple(names))


def _lists(document: object, key: str) -> list[Any]:
    value = document.get(key) if isinstance(document, Mapping) else None
    if not isinstance(value, list):
        raise ValueError(f"counters: {key} is no list")
    return value


def _require(fine: bool, problem: str) -> None:
    if not fine:
        raise ValueError(f"counters: {problem}")
