"""Web sessions: Poisson arrivals, heavy-tailed sizes, a given share of a link."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from orchestrator.kinds.distributions import Counts, Durations, Sizes
from orchestrator.kinds.fields import Frequency, located
from orchestrator.kinds.traffic import Demand, TcpSegment, TrafficSpec
from orchestrator.kinds.traffic._exchanges import exchanges
from orchestrator.kinds.traffic._load import (
    GivenLoad,
    connection_wire_bytes,
    data_wire_bytes,
    load_of,
)
from orchestrator.kinds.traffic._tcp import Windowed


class Web(Windowed, TrafficSpec):
    """Web sessions that arrive as a Poisson process, independently of earlier ones.

    The flow's data are the responses, so its source is the server. A session is one connection from
    the sink. It has pages with think times between them, and each page has objects that are
    requested one after another. After the last response the server closes. Each page is a transfer,
    from its first request to the receipt of its last byte. The first page begins with the call to
    connect(). Each session draws from its own generator, so sizes do not depend on how long pages
    take.

    The default sizes are those of ns-2's tcl/ex/large-scale-web-traffic.tcl. Objects have 12 kB on
    average (there 12 packets), with a Pareto tail of index 1.2. Cut off at 1 MB, the mean is 8.5 kB
    with a deviation of 28 kB. So the load of n objects is within 2 x 3.4 / sqrt(n) of the requested
    one with 95% confidence. It is within 5% from 19000 objects (160 MB) on.
    """

    kind: Literal["web"] = Field(description="web sessions")
    load: GivenLoad | None = Field(
        default=None,
        description="mean load of its sessions on the link layer with all headers. A rate such as "
        "3mbit, 30% of the narrowest link on its path at the beginning of the run, or {share: 30%, "
        "link: bottleneck}. All flows of the entry share it equally",
    )
    sessions: Frequency | None = Field(
        default=None,
        description="instead of `load`: mean rate at which sessions of each flow begin, such as "
        "10/s",
    )
    request: Sizes = Field(
        default_factory=lambda: Sizes.model_validate("350B"),
        description="size of the request for each object, such as 350B",
    )
    response: Sizes = Field(
        default_factory=lambda: Sizes.model_validate(
            {"distribution": "pareto", "mean": "12kB", "shape": 1.2, "most": "1MB"}
        ),
        description="size of each object, or its distribution; a heavy tail must be bounded by "
        "`most`",
    )
    objects: Counts = Field(
        default_factory=lambda: Counts.model_validate(1),
        description="number of objects of each page, or its distribution",
    )
    pages: Counts = Field(
        default_factory=lambda: Counts.model_validate(1),
        description="number of pages of each session, or its distribution",
    )
    think: Durations | None = Field(
        default=None, description="time between pages, or its distribution; none when not given"
    )

    @model_validator(mode="after")
    def _sound(self) -> Web:
        problems: list[tuple[tuple[str | int, ...], str]] = []
        if (self.load is None) == (self.sessions is None):
            key = "load" if self.load is None else "sessions"
            problems.append(((key,), "give either `load` or `sessions`"))
        for key in ("response", "objects", "pages"):
            given = getattr(self, key)
            if given.is_endless:
                text = "the load of a heavy tail without end never settles: give `most`"
                problems.append(((key,), text))
        if problems:
            raise located(problems)
        return self

    def wire_bytes(self, segment: TcpSegment) -> float:
        """Return the mean of the link-layer bytes of a session from the server, without loss."""
        objects = self.objects.average_count() * self.pages.average_count()
        return objects * data_wire_bytes(self.response, segment) + connection_wire_bytes(segment)

    def demand(self) -> Demand:
        """Return the demand; the plan turns a load into a rate of sessions for the path."""
        return Demand(
            "exchanges",
            parameters=exchanges(
                self.request,
                self.response,
                self.think,
                self.objects,
                pages=self.pages,
                arrivals_per_s=self.sessions,
            ),
            load=None if self.load is None else load_of(self.load, self.wire_bytes),
            window=self.window,
            connections="many",
            server="source",
        )
