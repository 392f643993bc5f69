"""The fields and settings that CoDel and FQ-CoDel share."""

from __future__ import annotations

from pydantic import Field

from orchestrator.kinds.fields import Duration, Strict, Time
from orchestrator.kinds.queues import SizedLimit, microseconds
from orchestrator.protocol.links.qdisc import Setting

# The first numbers of TCA_CODEL_* and TCA_FQ_CODEL_* are the same.
_TARGET, _LIMIT, _INTERVAL, _ECN = (1,), (2,), (3,), (4,)
_SHIFT = 10  # CODEL_SHIFT of include/net/codel.h: the kernel counts in 1024 ns


class CodelFields(Strict):
    """Target and interval of RFC 8289 section 4.3 and 4.4, and the kernel's step marking."""

    target: Duration = Field(default=0.005, description="the acceptable standing delay")
    interval: Duration = Field(
        default=0.1, description="how long the delay may exceed the target; a worst-case RTT"
    )
    ce_threshold: Time | None = Field(
        default=None,
        description="mark every ECN-capable packet that waited longer; off when not given",
    )


def codel_settings(
    fields: CodelFields, sized: SizedLimit, ecn: bool, ce_threshold: int
) -> tuple[Setting, ...]:
    """Return the settings; the number of the attribute ``ce_threshold`` depends on the kind."""
    settings = (
        _time("target", _TARGET, fields.target),
        Setting("limit_packets", _LIMIT, sized.packets),
        _time("interval", _INTERVAL, fields.interval),
        Setting("ecn", _ECN, int(ecn)),
    )
    if fields.ce_threshold is None:
        return settings
    return (*settings, _time("ce_threshold", (ce_threshold,), fields.ce_threshold))


def _time(key: str, attribute: tuple[int, ...], time_s: float) -> Setting:
    time_us = microseconds(key, time_s)
    reads = ((time_us * 1000 >> _SHIFT) << _SHIFT) // 1000
    return Setting(f"{key}_us", attribute, time_us, reads=reads)
