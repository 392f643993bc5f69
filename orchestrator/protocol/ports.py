"""Client ports of flows, by which the controller finds the flow of a socket."""

from __future__ import annotations

CLIENT_PORT_OFFSET = 20_000
"""A flow with one connection has its listener's port plus this."""

SUBFLOW_PORTS = range(15_001, 25_001)
"""Client ports of subflows that the kernel opens, which no listener or flow has."""

SEQUENTIAL_PORTS = range(35_001, 45_001)
"""Client ports of flows with one connection at a time."""

MANY_PORTS = range(45_001, 65_001)
"""Client ports of flows with any number of connections at a time."""
