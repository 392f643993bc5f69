"""What the forms of facts are made of: their base, and types with their limits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.recording.counters import COUNTER_NAME
from orchestrator.recording.ranges import MOST_ERRNO

MOST_COUNT = 2**53
"""Limit of packets, bytes and drops. Up to it floats are exact, and sums fit into 64 bits."""

MOST_TIME_NS = 2**62

Name = Annotated[str, Field(strict=True, min_length=1, max_length=300)]
CounterName = Annotated[str, Field(strict=True, pattern=COUNTER_NAME)]
Word = Annotated[str, Field(strict=True, max_length=300)]
Text = Annotated[str, Field(strict=True, max_length=5000)]
Count = Annotated[int, Field(strict=True, ge=0, le=MOST_COUNT)]
Rate = Annotated[int, Field(strict=True, gt=0, le=MOST_COUNT)]
TimeNs = Annotated[int, Field(strict=True, ge=-MOST_TIME_NS, le=MOST_TIME_NS)]
Unsigned = Annotated[int, Field(strict=True, ge=0, lt=2**64)]
Share = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e6, le=1e6)]
Errno = Annotated[int, Field(strict=True, ge=0, le=MOST_ERRNO)]
Flag = Annotated[bool, Field(strict=True)]
When = Literal["start", "end"]


class Form(BaseModel):
    """Base of forms. A fact may have further values."""

    model_config = ConfigDict(extra="allow", defer_build=True)
