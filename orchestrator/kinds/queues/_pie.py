"""The fields and settings that PIE and FQ-PIE share."""

from __future__ import annotations

from fractions import Fraction

from pydantic import Field, field_validator

from orchestrator.kinds.fields import Duration, Strict
from orchestrator.kinds.queues import QueueFault, microseconds
from orchestrator.protocol.links.qdisc import Setting
from orchestrator.units import format_time

_TICK_NS = 64  # PSCHED_SHIFT 6
_JIFFY_US = 4000  # HZ of the guest kernel is 250
_STEP = 16
_MOST_TARGET_US = 4_294_000  # the kernel reports it as 32 bits of nanoseconds


class PieFields(Strict):
    """The parameters of RFC 8033 section 4, with its defaults."""

    target: Duration = Field(
        default=0.015, description="the queueing delay to keep, at most 4294ms"
    )
    tupdate: Duration = Field(
        default=0.015,
        description="period of updates of the drop probability. The kernel rounds it up to whole "
        "ticks of 4ms, and its timer fires a tick later: 15ms become 20ms",
    )
    alpha: float = Field(
        default=0.125, gt=0, le=2, description="weight of the delay's deviation, in 1/s; n/16"
    )
    beta: float = Field(
        default=1.25, gt=0, le=2, description="weight of the delay's growth, in 1/s; n/16"
    )
    ecn: bool = Field(
        default=False,
        description="mark ECN-capable packets instead of dropping, while the probability is low",
    )
    bytemode: bool = Field(default=False, description="small packets are dropped less often")
    rate_estimator: bool = Field(
        default=False,
        description="estimate the delay from the departure rate (RFC 8033 section 5.3) instead of "
        "from time stamps",
    )

    @field_validator("alpha", "beta")
    @classmethod
    def _sixteenths(cls, value: float) -> float:
        if value * _STEP % 1:
            near = Fraction(round(value * _STEP) or 1, _STEP)
            raise ValueError(f"the kernel takes sixteenths; the nearest is {float(near)}")
        return value


def pie_settings(fields: PieFields, target: int, tupdate: int, ecn: int) -> tuple[Setting, ...]:
    """Return the settings.

    ``target``, ``tupdate`` and ``ecn`` are numbers of attributes. The other attributes follow
    ``tupdate`` and ``ecn``.
    """
    target_us = microseconds("target", fields.target)
    if target_us > _MOST_TARGET_US:
        text = f"target of {format_time(fields.target)}: the kernel reports 4294ms at most"
        raise QueueFault("target", text)
    tupdate_us = microseconds("tupdate", fields.tupdate)
    ticks = target_us * 1000 // _TICK_NS
    return (
        Setting("target_us", (target,), target_us, reads=ticks * _TICK_NS // 1000),
        Setting(
            "tupdate_us", (tupdate,), tupdate_us, reads=-(-tupdate_us // _JIFFY_US) * _JIFFY_US
        ),
        Setting("alpha_sixteenths", (tupdate + 1,), round(fields.alpha * _STEP)),
        Setting("beta_sixteenths", (tupdate + 2,), round(fields.beta * _STEP)),
        Setting("ecn", (ecn,), int(fields.ecn)),
        Setting("bytemode", (ecn + 1,), int(fields.bytemode)),
        Setting("rate_estimator", (ecn + 2,), int(fields.rate_estimator)),
    )
