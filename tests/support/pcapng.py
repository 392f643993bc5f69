"""An independent reader of packet captures: pcapng as draft-ietf-opsawg-pcapng describes it."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Packet:
    """A frame, with its direction (1 inbound, 2 outbound) and comments."""

    interface: int
    time_ns: int
    captured: bytes
    original_bytes: int
    direction: int
    comments: list[str]

    @property
    def number(self) -> int:
        """Of the frame, by its IP identification."""
        return int.from_bytes(self.captured[18:20], "big")


@dataclass
class Capture:
    """What a file has."""

    section: dict[int, bytes] = field(default_factory=dict)
    interfaces: list[dict[int, bytes]] = field(default_factory=list)
    packets: list[Packet] = field(default_factory=list)
    statistics: list[tuple[int, ...]] = field(default_factory=list)
    """(interface, time, packets that came, packets that were lost) of each."""

    def seen(self) -> list[tuple[int, str]]:
        """Return each packet's number with its comments."""
        return [(packet.number, "|".join(packet.comments)) for packet in self.packets]


def _options(data: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at < len(data):
        code, size = struct.unpack_from("<HH", data, at)
        found.append((code, data[at + 4 : at + 4 + size]))
        at += 4 + size + -size % 4
    if data:
        assert found.pop() == (0, b"")
    return found


def read(path: Path) -> Capture:
    """Read a file of :mod:`results.export` block by block, by the fields of the draft."""
    data, at, found = path.read_bytes(), 0, Capture()
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0
        assert struct.unpack_from("<I", data, at + length - 4) == (length,)
        body = data[at + 8 : at + length - 4]
        if kind == 0x0A0D0D0A:
            assert at == 0
            assert struct.unpack_from("<IHHq", body) == (0x1A2B3C4D, 1, 0, -1)
            found.section = dict(_options(body[16:]))
        elif kind == 1:
            assert not found.packets
            link_type, _reserved, snap_bytes = struct.unpack_from("<HHI", body)
            assert (link_type, snap_bytes) == (1, 116)
            found.interfaces.append(dict(_options(body[8:])))
        elif kind == 5:
            number, high, low = struct.unpack_from("<III", body)
            counts = [struct.unpack("<Q", value)[0] for _code, value in _options(body[12:])]
            assert [code for code, _value in _options(body[12:])] == [4, 5]
            found.statistics.append((number, high << 32 | low, *counts))
        else:
            assert kind == 6
            number, high, low, captured, original = struct.unpack_from("<IIIII", body)
            rest = _options(body[20 + captured + -captured % 4 :])
            flags = [struct.unpack("<I", value)[0] for code, value in rest if code == 2]
            comments = [value.decode() for code, value in rest if code == 1]
            found.packets.append(
                Packet(number, high << 32 | low, body[20 : 20 + captured], original,
                       sum(flags), comments)
            )  # fmt: skip
        at += length
    return found
