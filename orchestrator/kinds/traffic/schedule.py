"""Transfers that a file lists: when each begins, between which hosts, and its size."""

from __future__ import annotations

import functools
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from orchestrator.kinds import congestion
from orchestrator.kinds.congestion_control import Congestion
from orchestrator.kinds.distributions import fixed
from orchestrator.kinds.files import csv_rows
from orchestrator.kinds.files.empirical import MOST_SIZE_BYTES
from orchestrator.kinds.files.named_files import checked_sha256, named_file
from orchestrator.kinds.traffic import Demand, NamedHost, TrafficPart, TrafficSpec
from orchestrator.kinds.traffic._tcp import Window, Windowed
from orchestrator.protocol.engine_parameters import TransfersTraffic
from orchestrator.suggestions import CONTROLS, suggest
from orchestrator.units import shown

_CONGESTION = "congestion"


class ListedTransfer(NamedTuple):
    """A row of a schedule; ``congestion`` is None where the row leaves it to the flow entry."""

    start_ns: int
    source: NamedHost
    sink: NamedHost
    size_bytes: int
    congestion: str | None


class Schedule(Windowed, TrafficSpec):
    """Transfers by a list: each at its time, between its hosts, over a connection of its own.

    A transfer lasts from the call to connect() to the receipt of the last byte. Those with equal
    hosts and congestion control are one flow, in the order of the file. Times count from the
    flow's start, and a transfer that would begin after the flow's end does not begin.
    """

    names_hosts: ClassVar[bool] = True

    kind: Literal["schedule"] = Field(description="transfers that a file lists")
    file: str = Field(
        description="CSV file, relative to the scenario's folder, with a row for each transfer. "
        "Its first line names the columns: `start` (such as 10ms; or `start_s`, `start_ms`, "
        "`start_us` or `start_ns` with numbers), `source` and `destination` (hosts of the "
        "topology's groups), `bytes` (a number, or a size such as 10kB), and, if wanted, "
        "`congestion` (a name; that of the flow entry where it is empty). Up to 100000 rows, in "
        "any order"
    )
    sha256: str | None = Field(
        default=None,
        validate_default=True,
        description="SHA-256 that the file must have; not checked when not given",
    )

    _rows: tuple[ListedTransfer, ...] = PrivateAttr(default=())

    @field_validator("file")
    @classmethod
    def _place(cls, file: str, info: ValidationInfo) -> str:
        found = named_file(file, info, csv_rows.MOST_BYTES)
        _parsed(file, found.content)
        return found.place

    @field_validator("sha256")
    @classmethod
    def _of_the_file(cls, sha256: str | None, info: ValidationInfo) -> str | None:
        if "file" not in info.data:
            return sha256
        return checked_sha256("file", sha256, info, csv_rows.MOST_BYTES)

    @model_validator(mode="after")
    def _keep(self, info: ValidationInfo) -> Schedule:
        self._rows = _parsed(self.file, named_file(self.file, info, csv_rows.MOST_BYTES).content)
        return self

    def demand(self) -> Demand:
        """Return the demand of all transfers together."""
        return _demand(self.window, self._rows)

    def parts(self) -> list[TrafficPart]:
        """Return a flow for each sender, receiver and congestion control of the file."""
        flows: dict[tuple[str, str, str | None], list[ListedTransfer]] = {}
        for row in self._rows:
            flows.setdefault((row.source.name, row.sink.name, row.congestion), []).append(row)
        return [
            TrafficPart(
                _demand(self.window, transfers),
                congestion=None if control is None else Congestion(name=control),
                place=("congestion",) if control is None else ("traffic", "file"),
                hosts=(transfers[0].source, transfers[0].sink),
            )
            for (_source, _sink, control), transfers in flows.items()
        ]


def _demand(window: Window | None, transfers: list[ListedTransfer] | tuple[ListedTransfer, ...]
            ) -> Demand:  # fmt: skip
    ordered = sorted(transfers, key=lambda transfer: transfer.start_ns)
    parameters: TransfersTraffic = {
        "sizes": [fixed(transfer.size_bytes) for transfer in ordered],
        "gap": None,
        "arrivals_per_s": None,
        "times_ns": [transfer.start_ns for transfer in ordered],
        "number": len(ordered),
    }
    return Demand("transfers", parameters=parameters, window=window, connections="many")


@functools.lru_cache(maxsize=16)
def _parsed(path: str, content: bytes) -> tuple[ListedTransfer, ...]:
    """Return the transfers of a file; errors name its ``path``, the line and the column."""
    needed = [csv_rows.time_columns("start"), ["source"], ["destination"], ["bytes"]]
    transfers = []
    for cells in csv_rows.rows(path, content, needed, [_CONGESTION]):
        source, sink = (NamedHost(cells[end].text, cells[end].place)
                        for end in ("source", "destination"))  # fmt: skip
        if source.name == sink.name:
            raise cells["destination"].fault(f"host {shown(sink.name)} would send to itself")
        transfers.append(
            ListedTransfer(
                csv_rows.time_ns(cells, "start"),
                source,
                sink,
                csv_rows.size_bytes(cells["bytes"], 1, MOST_SIZE_BYTES),
                _control(cells.get(_CONGESTION)),
            )
        )
    return tuple(transfers)


def _control(cell: csv_rows.Cell | None) -> str | None:
    if cell is None or not cell.text:
        return None
    valid = congestion.known()
    if cell.text not in valid:
        close = suggest(cell.text, valid, CONTROLS)
        raise cell.fault(
            f"unknown congestion control {shown(cell.text)}{close}; valid: {', '.join(valid)}"
        )
    return cell.text
