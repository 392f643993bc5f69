"""Topologies: parameters to a graph of hosts, switches and links; a file each.

A topology is a class derived from Topology with a field ``kind: Literal["name"]`` in a module of
this package. It describes and never acts: the test bed builds what ``layout`` returns.
"""

from topologies.base import TOPOLOGIES, Layout, QueuePlace, Topology

__all__ = ["TOPOLOGIES", "Layout", "QueuePlace", "Topology"]
