"""The fact of the kernel's SNMP counters of hosts, whose values are in counters.bin."""

from __future__ import annotations

from typing import TypedDict

FILES = ("netstat", "snmp")
"""The files below /proc/net that are read, in this order."""

OWN_FILE = "run_counts"
"""One of the same form after them, where our module of that name is loaded (kmods/run_counts.c)."""

DATAGRAMS_FILE = "run_datagrams"
"""UDP with one other host, of the same form: it counts for each program's flow of a host."""

DATAGRAMS_LINE = "Udp"
"""The line of that file."""

DATAGRAMS = (
    "SentPackets",
    "SentBytes",
    "ReceivedPackets",
    "ReceivedBytes",
    "OtherSentPackets",
)
"""Its counters, in this order. The last one has what was sent to that host at other ports."""

VARYING = "IcmpMsg:"
"""A line of ``snmp`` that is left out: the kernel adds a column for each kind of message."""


_PROGRAM = "ProgramUdp"


def datagrams_line(place: int) -> str:
    """Return the name under which that line of a host is listed.

    ``place`` is the flow's among the flows of programs that have an end at the host, from 0 on.
    """
    return f"{_PROGRAM}{place}"


def is_of_program(name: str) -> bool:
    """Tell whether a counter is one of a flow of programs: a name of the fact "counters"."""
    return name.startswith(_PROGRAM)


class Counters(TypedDict):
    """What rows of counters.bin (records.COUNTER_ROW) number; hosts without flows are left out."""

    fact: str
    hosts: list[list[str]]
    """The hosts that share each network namespace; in an emulated network one each."""
    names: list[str]
    """As in "TcpExt:TCPTimeouts": the name of the line in /proc/net, and of the column."""
