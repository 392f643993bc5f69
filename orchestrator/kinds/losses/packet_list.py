"""Chosen loss: the packets with given numbers are lost, and no others."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema, model_validator

from orchestrator.kinds.fields import located
from orchestrator.kinds.losses import LossSpec
from orchestrator.protocol.links.chosen import MOST_NUMBER, MOST_RANGES, ChosenPackets, text
from orchestrator.protocol.links.netem import IndependentLoss
from orchestrator.units import shown

_FORM = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?", re.ASCII)


class PacketRange(NamedTuple):
    """The numbers of packets in a row, both ends included."""

    first: int
    last: int


def _numbers(value: Any) -> PacketRange:
    if isinstance(value, PacketRange):
        return value
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"{shown(value)} is no packet's number: write 7, or a range such as 20-25")
    match = _FORM.fullmatch(str(value))
    if match is None:
        raise ValueError(f"{shown(value)} is no packet's number: write 7, or a range such as 20-25")
    first, last = int(match[1]), int(match[2] or match[1])
    if not first:
        raise ValueError("there is no packet 0: the first packet has the number 1")
    if last < first:
        raise ValueError(f"ends before it begins: write {last}-{first}")
    if last > MOST_NUMBER:
        raise ValueError(f"a packet's number may be {MOST_NUMBER} at most")
    return PacketRange(first, last)


def _written(numbers: PacketRange) -> int | str:
    return numbers.first if numbers.first == numbers.last else text((numbers,))


PacketNumbers = Annotated[
    PacketRange,
    PlainValidator(_numbers),
    PlainSerializer(_written, when_used="json"),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": MOST_NUMBER},
                {"type": "string", "pattern": "^[0-9]+(-[0-9]+)?$"},
            ],
            "examples": [10, "20-25"],
        }
    ),
]
"""A packet's number from 1, or a range such as 20-25 with both ends included."""


class PacketList(LossSpec):
    """The packets with these numbers are lost, and no others.

    The first packet has the number 1. Packets are counted in the order in which they leave the
    link's transmitter, so those that the queue drops do not count. Counting begins at the start of
    traffic, or when the event happens that sets the list. Packets of set-up and probes do not
    count.

    By default every packet of the direction counts: data, ACKs, SYN and FIN, of all flows.
    Retransmissions count like other packets. With `flow` only that flow's count, and with `count:
    data` only those with payload. So `{kind: list, packets: [10], flow: one, count: data}` loses
    the tenth data segment of the flow `one`. A duplicate that `duplication` makes does not count.
    """

    kind: Literal["list"] = Field(description="the packets with given numbers, and no others")
    packets: list[PacketNumbers] = Field(
        min_length=1,
        max_length=MOST_RANGES,
        description="numbers of packets to lose, ascending, such as [10, 20-25, 100]; up to "
        f"{MOST_RANGES} numbers or ranges",
    )
    flow: str | None = Field(
        default=None,
        description="name of a flow, as `plan` lists it: only its packets count. Its ACKs count "
        "in the other direction of the link",
    )
    count: Literal["all", "data"] = Field(
        default="all",
        description="which packets count: all, or only TCP segments and UDP datagrams with payload",
    )

    @model_validator(mode="after")
    def _ascends(self) -> PacketList:
        for place in range(1, len(self.packets)):
            before, one = self.packets[place - 1], self.packets[place]
            if one.first <= before.last:
                message = (
                    f"{text((one,))} must be above {text((before,))}: numbers ascend, and each is "
                    "given once"
                )
                raise located([(("packets", place), message)])
        return self

    @property
    def caption(self) -> str:
        """What a drawing writes of it."""
        return f"loses {self.described}"

    @property
    def described(self) -> str:
        """The packets and which ones count, such as "packets 10, 20-25 with data of one"."""
        numbers = text(self.chosen.ranges)
        what = "packet" if numbers.isdigit() else "packets"
        data = " with data" if self.count == "data" else ""
        return f"{what} {numbers}{data}{'' if self.flow is None else f' of {self.flow}'}"

    @property
    def mean(self) -> float:
        """0: a finite number of losses has no share in the long run."""
        return 0.0

    @property
    def chosen(self) -> ChosenPackets:
        """The packets that are lost."""
        ranges = tuple((numbers.first, numbers.last) for numbers in self.packets)
        return ChosenPackets(ranges, self.flow, self.count == "data")

    def impairment(self) -> IndependentLoss:
        """Return no loss by chance: the link loses the packets, not netem."""
        return IndependentLoss(0.0)
