"""UDP by a file: datagrams of given sizes at given times, such as those of a capture."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from orchestrator.kinds.fields import located
from orchestrator.kinds.files import packet_lists
from orchestrator.kinds.files.named_files import checked_sha256, named_file
from orchestrator.kinds.traffic import Demand, TrafficSpec
from orchestrator.kinds.traffic._datagrams import ECN_FIELDS, HEADERS_BYTES, MARK_BYTES
from orchestrator.protocol.engine_parameters import UdpTraffic
from orchestrator.protocol.links.frames import ETHERNET_BYTES


class Replay(TrafficSpec):
    """A UDP source that sends the datagrams of a file: each at its time, with its payload.

    Times count from the flow's start: those of a list as they are, and those of a capture from its
    first datagram. A datagram that is due after the flow's end is not sent. Of a payload only the
    size is sent, after a sequence number and a time of 16 bytes together.
    """

    kind: Literal["replay"] = Field(description="UDP at the times and of the sizes of a file")
    file: str = Field(
        description="CSV or pcap file, relative to the scenario's folder. A CSV's first line names "
        "the columns: `time` (such as 10ms; or `time_s`, `time_ms`, `time_us` or `time_ns` with "
        "numbers) and `bytes` of UDP payload. Of a capture in the classic pcap format the UDP "
        "datagrams over IP count. Up to 100000 datagrams of up to 9188 bytes, and 64 MB"
    )
    sha256: str | None = Field(
        default=None,
        validate_default=True,
        description="SHA-256 that the file must have; not checked when not given",
    )
    port: int | None = Field(
        default=None,
        ge=1,
        le=65535,
        description="destination port of the datagrams of a capture that are sent; all when not "
        "given",
    )
    pad: bool = Field(
        default=False,
        description="send datagrams with less than 16 bytes of payload with 16; without it they "
        "are an error",
    )
    ecn: Literal["ect0", "ect1"] | None = Field(
        default=None,
        description="mark each packet as ECN-capable: `ect1` or `ect0`. Not ECN-capable when not "
        "given",
    )

    _datagrams: tuple[packet_lists.Datagram, ...] = PrivateAttr(default=())

    @field_validator("file")
    @classmethod
    def _place(cls, file: str, info: ValidationInfo) -> str:
        return named_file(file, info, packet_lists.MOST_BYTES).place

    @field_validator("sha256")
    @classmethod
    def _of_the_file(cls, sha256: str | None, info: ValidationInfo) -> str | None:
        if "file" not in info.data:
            return sha256
        return checked_sha256("file", sha256, info, packet_lists.MOST_BYTES)

    @model_validator(mode="after")
    def _keep(self, info: ValidationInfo) -> Replay:
        content = named_file(self.file, info, packet_lists.MOST_BYTES).content
        if self.port is not None and not packet_lists.is_capture(self.file, content):
            raise located([(("port",), "only datagrams of a capture have a port")])
        try:
            found = packet_lists.datagrams(self.file, content, self.port)
        except ValueError as error:
            raise located([(("file",), str(error))]) from None
        small = next((each for each in found if each.size_bytes < MARK_BYTES), None)
        if small is not None and not self.pad:
            text = (
                f"{small.place}: a datagram has {MARK_BYTES} bytes of payload at least (sequence "
                f"number and time), not {small.size_bytes}; `pad: true` sends smaller ones with "
                f"{MARK_BYTES}"
            )
            raise located([(("file",), text)])
        self._datagrams = found
        return self

    def demand(self) -> Demand:
        """Return the demand, with the mean rate from the first datagram to the last one."""
        packets = [
            [each.time_ns, max(each.size_bytes, MARK_BYTES) + HEADERS_BYTES]
            for each in self._datagrams
        ]
        bits = 8 * sum(size_bytes + ETHERNET_BYTES for _time_ns, size_bytes in packets)
        lasts_ns = max(packets[-1][0] - packets[0][0], 1)
        parameters: UdpTraffic = {
            "packet_bytes": max(size_bytes for _time_ns, size_bytes in packets),
            "on": None,
            "off": None,
            "packets": packets,
            "rate_bps": max(1, bits * 10**9 // lasts_ns),
        }
        if self.ecn is not None:
            parameters["ecn_field"] = ECN_FIELDS[self.ecn]
        return Demand("udp", None, "udp", parameters)
