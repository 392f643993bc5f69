"""Files that are uploaded one after another."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from orchestrator.kinds.distributions import Durations, fixed
from orchestrator.kinds.fields import Size
from orchestrator.kinds.traffic import Demand, TrafficSpec
from orchestrator.kinds.traffic._tcp import Windowed
from orchestrator.kinds.traffic.transfers import transfers_demand


class Uploads(Windowed, TrafficSpec):
    """Repeated uploads of files, one TCP connection each: every upload is a transfer.

    An upload lasts from the call to connect() to the receipt of the last byte. The next one begins,
    after the gap, when the sender sees that the receiver has closed.
    """

    kind: Literal["uploads"] = Field(description="files uploaded one after another")
    files: Annotated[list[Size], Field(min_length=1)] = Field(
        description="sizes of the files, such as [3.2MB, 32MB]; after the last one the list repeats"
    )
    gap: Durations | None = Field(
        default=None,
        description="time between the end of one and the beginning of the next, or its "
        "distribution; none when not given",
    )
    number: int | None = Field(
        default=None, ge=1, description="number of uploads; unlimited when not given"
    )

    def demand(self) -> Demand:
        """Return the demand, with sizes in bytes and times in nanoseconds."""
        sizes = [fixed(size_bytes) for size_bytes in self.files]
        return transfers_demand(self.window, sizes, self.gap, self.number)
