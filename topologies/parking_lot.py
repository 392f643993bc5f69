"""Parking lot: bottlenecks in a row, and groups that enter and leave at any router.

::

    long_src0                                              long_dst0
        │                                                      │
        r1 ═══hop1═══ r2 ═══hop2═══ r3 ═══hop3═══ ... ═══ r<N+1>
        │             │             │
    cross_src0   cross_dst0     cross_dst1
                 cross_src1     cross_src2 ...

Source: Grieco & Mascolo, "Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas
TCP", section 3.3 (Fig. 17): N hops, one connection over all of them and 2 N over one hop each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from orchestrator.kinds.fields import Path
from orchestrator.suggestions import suggest
from orchestrator.units import shown
from topologies.chain import Chain, HostGroup, PlacedGroup, Problem, RouterLink
from topologies.links import Access, Bottleneck
from topologies.rows import RowTopology

MAX_HOPS = 100


class Segment(Bottleneck):
    """A number of equal links in a row."""

    count: int = Field(default=1, ge=1, le=MAX_HOPS, description="number of such links in a row")


def _one_or_list(one: Any, several: Any) -> WrapValidator:
    """Return the validator of a union. pydantic's own would report one fault for every type."""

    def validate(data: Any, _handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        chosen: TypeAdapter[Any] = TypeAdapter(several if isinstance(data, list) else one)
        return chosen.validate_python(data, strict=True, context=info.context)

    return WrapValidator(validate)


Hops = Annotated[Segment | list[Segment], _one_or_list(Segment, list[Segment])]
Which = Literal["all", "odd", "even"]


def _each_hop(data: object) -> object:
    if isinstance(data, list) or data in get_args(Which):
        return data
    close = suggest(data, get_args(Which)) if isinstance(data, str) else ""
    words = ", ".join(get_args(Which))
    raise ValueError(f"{shown(data)} is not valid{close}; valid: {words}, or a list such as [1, 3]")


EachHop = Annotated[Which | list[int], _one_or_list(Which, list[int]), BeforeValidator(_each_hop)]


class RoutedGroup(HostGroup):
    """Hosts, and where their data enter and leave the row."""

    enter: int | None = Field(
        default=None, ge=1, description="router (from 1) of the sources; the first when not given"
    )
    leave: int | None = Field(
        default=None, ge=1, description="router of the sinks; the last when not given"
    )
    each_hop: EachHop | None = Field(
        default=None,
        description="instead of enter and leave: `hosts` pairs on each of these hops alone (from "
        "1), in their order",
    )


class ParkingLot(RowTopology):
    """Bottlenecks in a row; groups enter and leave at any router."""

    kind: Literal["parking-lot"] = Field(description="bottlenecks in a row")
    hops: Hops = Field(
        description="the links between the routers: one mapping with a `count`, or a list of them"
    )
    access: Access | None = Field(
        default=None, description="the link of each host whose group gives none"
    )
    groups: list[RoutedGroup] = Field(min_length=1, description="hosts by where they send")

    def _stages(self) -> list[RouterLink]:
        segments: list[tuple[Path, Segment]] = (
            [(("hops", i), hop) for i, hop in enumerate(self.hops)]
            if isinstance(self.hops, list)
            else [(("hops",), self.hops)]
        )
        row = [(where, segment) for where, segment in segments for _ in range(segment.count)]
        return [RouterLink(f"hop{n}", spec, where) for n, (where, spec) in enumerate(row, start=1)]

    def _chain(self) -> Chain:
        """Return the row: routers r1 to r<N+1>, links hop1 to hop<N>, a link for each host."""
        stages = self._stages()
        routers = [f"r{n}" for n in range(1, len(stages) + 2)]
        members = [PlacedGroup(group, _spans(group, len(stages))) for group in self.groups]
        return Chain(routers, stages, members, self.access)

    def _span_problems(self) -> Iterator[Problem]:
        hops = len(self._stages())
        if not 1 <= hops <= MAX_HOPS:
            yield ("hops",), f"must be 1 to {MAX_HOPS} hops, not {hops}"
            return
        for number, group in enumerate(self.groups):
            for path, message in _group_problems(group, hops):
                yield ("groups", number, *path), message


def _group_problems(group: RoutedGroup, hops: int) -> Iterator[Problem]:
    routers = f"valid: 1 to {hops + 1}"
    for key in ("enter", "leave"):
        router = getattr(group, key)
        if router is not None and group.each_hop is not None:
            yield (key,), "give `each_hop`, or `enter` and `leave`, not both"
        elif router is not None and router > hops + 1:
            yield (key,), f"there is no router {router}; {routers}"
    if group.each_hop is None:
        if (group.enter or 1) == (group.leave or hops + 1):
            yield (), "enters and leaves at the same router: it crosses no hop"
        return
    if isinstance(group.each_hop, list):
        for place, hop in enumerate(group.each_hop):
            if not 1 <= hop <= hops:
                yield ("each_hop", place), f"there is no hop {hop}; valid: 1 to {hops}"
            elif hop in group.each_hop[:place]:
                yield ("each_hop", place), f"hop {hop} is given twice"
    if not _chosen(group, hops):
        yield ("each_hop",), f"there is no such hop: there are {hops}"


def _chosen(group: RoutedGroup, hops: int) -> list[int]:
    """Return the hops (from 1) of a group that is on each of them alone."""
    match group.each_hop:
        case "all":
            return list(range(1, hops + 1))
        case "odd":
            return list(range(1, hops + 1, 2))
        case "even":
            return list(range(2, hops + 1, 2))
        case list() as chosen:
            return chosen
    return []


def _spans(group: RoutedGroup, hops: int) -> tuple[tuple[int, int], ...]:
    if group.each_hop is None:
        return (((group.enter or 1) - 1, (group.leave or hops + 1) - 1),)
    return tuple((hop - 1, hop) for hop in _chosen(group, hops))
