"""Builds the specification of a policer: the settings of act_police (net/sched/act_police.c)."""

from __future__ import annotations

from orchestrator.network import Policer
from orchestrator.protocol.links.qdisc import Setting
from orchestrator.protocol.specification import PolicerSpec
from orchestrator.protocol.units import NS_PER_S

LINK_HEADER_BYTES = 14

# TCA_POLICE_*, TC_ACT_* and TC_LINKLAYER_ETHERNET of include/uapi/linux/pkt_cls.h
_TBF, _RATE, _RESULT, _RATE64 = (1,), (2,), (5,), (8,)
_SHOT, _PIPE, _ETHERNET = 2, 3, 1
_RATE_TABLE_BYTES, _TICK_NS = 1024, 64


def policer_document(policer: Policer) -> PolicerSpec:
    """Return act_police's settings: packets above the rate are dropped, all others pass.

    It acts on incoming packets, for which the kernel does not count the link-layer header.
    """
    rate = policer.rate_bps // 8
    ticks = -(-policer.burst_bytes * NS_PER_S // (rate * _TICK_NS))
    table = "00" * _RATE_TABLE_BYTES  # the kernel requires this attribute but no longer uses it
    settings = [
        Setting("action", _TBF, _SHOT, offset=4),
        Setting("burst_ticks", _TBF, ticks, offset=12),
        Setting("most_bytes", _TBF, 2**31, offset=16),
        Setting("cell_log", _TBF, 1, "B", offset=20, verified=False),
        Setting("link_layer", _TBF, _ETHERNET, "B", offset=21),
        Setting("overhead_bytes", _TBF, LINK_HEADER_BYTES, "H", offset=22),
        Setting("rate_bytes_per_s", _TBF, min(rate, 2**32 - 1), offset=28),
        Setting("end", _TBF, 0, offset=52, verified=False),
        Setting("rate_table", _RATE, table, "s", verified=False),
        Setting("conform", _RESULT, _PIPE),
    ]
    if rate >= 2**32:
        settings.append(Setting("rate64_bytes_per_s", _RATE64, rate, "Q"))
    return {"settings": [setting.document() for setting in settings]}
