"""Kernel modules that a real machine needs for every emulated network."""

from __future__ import annotations

ALWAYS = ("sch_link", "sch_ingress", "sch_netem", "act_mirred", "cls_matchall", "tcp_diag")
"""sch_link is a module of this project, which the machine must have installed."""

BUILT_IN = frozenset({"sch_pfifo", "sch_bfifo"})
"""Queueing disciplines that are part of the kernel itself."""
