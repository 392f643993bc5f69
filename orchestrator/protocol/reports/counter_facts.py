"""The fact of the kernel's SNMP counters of hosts, whose values are in counters.bin."""

from __future__ import annotations

from typing import TypedDict

FILES = ("netstat", "snmp")
"""The files below /proc/net that are read, in this order."""

OWN_FILE = "run_counts"
"""One of the same form after them, where our module of that name is loaded (kmods/run_counts.c)."""

VARYING = "IcmpMsg:"
"""A line of ``snmp`` that is left out: the kernel adds a column for each kind of message."""


class Counters(TypedDict):
    """What rows of counters.bin (records.COUNTER_ROW) number; hosts without flows are left out."""

    fact: str
    hosts: list[list[str]]
    """The hosts that share each network namespace; in an emulated network one each."""
    names: list[str]
    """As in "TcpExt:TCPTimeouts": the name of the line in /proc/net, and of the column."""
