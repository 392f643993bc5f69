"""Kernel modules that a real machine needs for every emulated network."""

from __future__ import annotations

LINKS = "sch_link"
"""Every emulated link is a qdisc of this module of ours, which the machine must have installed."""

TRACES = "run_trace"
"""A run with a capture needs this module of ours."""

COUNTS = "run_counts"
"""This module of ours counts what the kernel does not: reactions to ECN, and UDP by host."""

OBSERVERS = (TRACES, COUNTS)
"""Modules that change nothing of a run."""

ALWAYS = (LINKS, "sch_ingress", "sch_netem", "act_mirred", "cls_matchall", "tcp_diag")

SPRAYING = ("cls_bpf", "act_skbedit")
"""What filters need that spray packets over equal paths."""

BUILT_IN = frozenset({"sch_pfifo", "sch_bfifo"})
"""Queueing disciplines that are part of the kernel itself."""
