"""UDP datagrams that a file lists: when each leaves, and how much payload it has.

The file is CSV with the columns ``time`` and ``bytes``, or a capture in the classic pcap format
(https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/). Of a capture the datagrams of UDP over
IPv4 and IPv6 count, by the length in their headers, so they may be cut. Later fragments are left
out. A capture is a stranger's input: nothing in it is followed beyond its bounds.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.files.scenario_files import MOST_FILE_BYTES
from orchestrator.kinds.files import csv_rows
from orchestrator.kinds.files.named_files import named
from orchestrator.protocol.links.frames import IPV4_BYTES, MOST_MTU_BYTES, UDP_BYTES
from orchestrator.units import TIME_MAX_NS

MOST_BYTES = MOST_FILE_BYTES
MOST_PACKETS = csv_rows.MOST_ROWS
MOST_RECORDS = 2_000_000
"""Packets of any kind in a capture."""
MOST_PAYLOAD_BYTES = MOST_MTU_BYTES - IPV4_BYTES - UDP_BYTES

_HEADER_BYTES, _RECORD_BYTES = 24, 16
_MOST_CAPTURED_BYTES = 262_144
"""The most bytes of a packet in a capture, as libpcap has it."""
_NS_OF_FRACTION = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
"""By the magic number: ns in a unit of the fraction of a second."""
_PCAPNG = b"\x0a\x0d\x0d\x0a"
_ENDINGS = (".pcap", ".cap", ".pcapng")
_LINK_HEADER_BYTES = {0: 4, 1: 14, 12: 0, 101: 0, 113: 16, 276: 20}
"""By the link type: loopback, Ethernet, raw IP (two numbers), Linux's cooked capture (v1, v2)."""
_VLANS = (b"\x81\x00", b"\x88\xa8")
_UDP = 17


class Datagram(NamedTuple):
    """When a datagram leaves, since the first one of a capture or 0 of a list, and its payload.

    ``place`` says where in the file it is.
    """

    time_ns: int
    size_bytes: int
    place: str


@functools.lru_cache(maxsize=16)
def datagrams(path: str, content: bytes, port: int | None) -> tuple[Datagram, ...]:
    """Return the datagrams of a file in the order of time, at most MOST_PACKETS.

    Args:
        path: what errors name.
        content: the file's.
        port: destination port of those that count in a capture; None counts all.

    Raises:
        ValueError: it is neither form, or has no such datagram; with the place.
    """
    if is_capture(path, content):
        found = list(_capture(path, content, port))
        which = "UDP datagram" if port is None else f"UDP datagram to port {port}"
        if not found:
            raise ValueError(f"{named(path)} has no {which} over IP")
        found.sort(key=lambda datagram: datagram.time_ns)
        first_ns = found[0].time_ns
        found = [each._replace(time_ns=each.time_ns - first_ns) for each in found]
        if found[-1].time_ns > TIME_MAX_NS:
            raise ValueError(f"{named(path)} lasts more than 30 days")
        return tuple(found)
    needed = [csv_rows.time_columns("time"), ["bytes"]]
    listed = [
        Datagram(
            csv_rows.time_ns(cells, "time"),
            csv_rows.size_bytes(cells["bytes"], 1, MOST_PAYLOAD_BYTES),
            cells["bytes"].place,
        )
        for cells in csv_rows.rows(path, content, needed)
    ]
    return tuple(sorted(listed, key=lambda datagram: datagram.time_ns))


def is_capture(path: str, content: bytes) -> bool:
    """Tell whether a file is a capture, by its beginning or by the end of its name."""
    magics = [struct.pack(f"{order}I", magic) for order in "<>" for magic in _NS_OF_FRACTION]
    return content[:4] in (*magics, _PCAPNG) or path.lower().endswith(_ENDINGS)


def _capture(path: str, content: bytes, port: int | None) -> Iterator[Datagram]:
    order, fraction_ns = _byte_order(path, content)
    if len(content) < _HEADER_BYTES:
        raise ValueError(f"{named(path)} ends within its header")
    link_type = struct.unpack_from(f"{order}I", content, 20)[0] & 0xFFFF
    if link_type not in _LINK_HEADER_BYTES:
        known = ", ".join(map(str, _LINK_HEADER_BYTES))
        raise ValueError(f"{named(path)} has the link type {link_type}; supported: {known}")
    record = struct.Struct(f"{order}IIII")
    offset, number, found = _HEADER_BYTES, 0, 0
    while offset < len(content):
        number += 1
        if number > MOST_RECORDS:
            raise ValueError(f"{named(path)} has more than {MOST_RECORDS} packets")
        place = f"{path}: packet {number}"
        if offset + _RECORD_BYTES > len(content):
            raise ValueError(f"{place}: the file ends within its header")
        seconds, fraction, captured, _whole = record.unpack_from(content, offset)
        offset += _RECORD_BYTES
        if captured > _MOST_CAPTURED_BYTES:
            raise ValueError(f"{place}: has {captured} bytes, above {_MOST_CAPTURED_BYTES}")
        if offset + captured > len(content):
            raise ValueError(f"{place}: the file ends within it")
        size = _payload_bytes(content[offset : offset + captured], link_type, port)
        offset += captured
        if size is None:
            continue
        if not 0 <= size <= MOST_PAYLOAD_BYTES:
            raise ValueError(
                f"{place}: a UDP payload of {size} bytes, and 0 to {MOST_PAYLOAD_BYTES} are valid"
            )
        found += 1
        if found > MOST_PACKETS:
            raise ValueError(f"{named(path)} has more than {MOST_PACKETS} such UDP datagrams")
        yield Datagram(seconds * 10**9 + fraction * fraction_ns, size, place)


def _byte_order(path: str, content: bytes) -> tuple[str, int]:
    """Return the byte order of a capture, and the ns in a unit of its fractions."""
    if content[:4] == _PCAPNG:
        fix = "convert it: editcap -F pcap IN OUT"
        raise ValueError(f"{named(path)} is a capture in the pcapng format, not pcap; {fix}")
    for order in "<>":
        for magic, fraction_ns in _NS_OF_FRACTION.items():
            if content[:4] == struct.pack(f"{order}I", magic):
                return order, fraction_ns
    raise ValueError(f"{named(path)} is no capture in the pcap format: it begins otherwise")


def _payload_bytes(packet: bytes, link_type: int, port: int | None) -> int | None:
    """Return the payload of a datagram to that port, None of any other packet."""
    begin = _LINK_HEADER_BYTES[link_type]
    if link_type == 1:
        while packet[begin - 2 : begin] in _VLANS and begin <= 22:
            begin += 4
    ip = packet[begin:]
    version = ip[0] >> 4 if ip else 0
    if version == 4 and len(ip) >= IPV4_BYTES:
        later_fragment = int.from_bytes(ip[6:8], "big") & 0x1FFF
        if ip[9] != _UDP or later_fragment:
            return None
        udp = ip[4 * (ip[0] & 0xF) :]
    elif version == 6 and len(ip) >= 40 and ip[6] == _UDP:
        udp = ip[40:]
    else:
        return None
    if len(udp) < UDP_BYTES:
        return None
    _source, destination, length, _checksum = struct.unpack_from(">HHHH", udp)
    return length - UDP_BYTES if port in (None, destination) else None
