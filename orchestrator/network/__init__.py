"""The network of a topology as data, in SI units: a graph of hosts, switches and links."""

from __future__ import annotations

from orchestrator.network.channel import (
    Channel,
)
from orchestrator.network.graph import (
    DirectionName,
    Group,
    Hop,
    Link,
    Network,
    crossing_ns,
    mtu_bytes,
    passing_share,
    path_delay_s,
)
from orchestrator.network.models import (
    JitterModel,
    LossModel,
    Policer,
    Queue,
    RateModel,
    ReorderingModel,
    Steps,
    Trace,
)

__all__ = [
    "Channel",
    "DirectionName",
    "Group",
    "Hop",
    "JitterModel",
    "Link",
    "LossModel",
    "Network",
    "Policer",
    "Queue",
    "RateModel",
    "ReorderingModel",
    "Steps",
    "Trace",
    "crossing_ns",
    "mtu_bytes",
    "passing_share",
    "path_delay_s",
]
