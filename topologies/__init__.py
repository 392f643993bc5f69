"""Topologies turn parameters into a graph of hosts, switches and links; each is one file.

A topology is a class derived from Topology with a field ``kind: Literal["name"]`` in a module of
this package. It only describes a network; the test bed builds what ``layout`` returns.
"""

from topologies.base import TOPOLOGIES, Layout, RequestedQueue, Topology

__all__ = ["TOPOLOGIES", "Layout", "RequestedQueue", "Topology"]
