"""Writes the blocks of pcapng files (draft-ietf-opsawg-pcapng): a section, its interfaces, packets.

Numbers are little-endian, and times count nanoseconds.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from orchestrator import plaintext

IN, OUT = 1, 2
"""Directions of a packet at an interface, as bits of its flags."""

_SECTION, _INTERFACE, _STATISTICS, _PACKET = 0x0A0D0D0A, 1, 5, 6
_BYTE_ORDER = 0x1A2B3C4D
_UNKNOWN_LENGTH = -1
_ETHERNET = 1
_PER_S_AS_POWER_OF_TEN = 9

_END, _COMMENT = 0, 1
_SHB_USERAPPL = 4
_IF_NAME, _IF_DESCRIPTION, _IF_TSRESOL = 2, 3, 9
_EPB_FLAGS = 2
_ISB_IFRECV, _ISB_IFDROP = 4, 5
"""Codes of options."""

_MOST_TEXT_CHARS = 1000

_FRAME = struct.Struct("<II")
_OPTION = struct.Struct("<HH")
_EPB = struct.Struct("<IIIII")
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_ISB = struct.Struct("<III")


def section(application: str, comment: str) -> bytes:
    """Return the block that begins a section, which names the program that wrote it."""
    body = struct.pack("<IHHq", _BYTE_ORDER, 1, 0, _UNKNOWN_LENGTH)
    return _block(_SECTION, body, [(_COMMENT, _text(comment)), (_SHB_USERAPPL, _text(application))])


def interface(name: str, description: str, snap_bytes: int) -> bytes:
    """Return the block of an Ethernet interface whose packets are cut to ``snap_bytes``.

    Interfaces are numbered from 0 on, in the order of their blocks.
    """
    body = struct.pack("<HHI", _ETHERNET, 0, snap_bytes)
    return _block(
        _INTERFACE,
        body,
        [
            (_IF_NAME, _text(name)),
            (_IF_DESCRIPTION, _text(description)),
            (_IF_TSRESOL, bytes([_PER_S_AS_POWER_OF_TEN])),
        ],
    )


def packet(
    number: int,
    time_ns: int,
    captured: bytes,
    original_bytes: int,
    direction: int = 0,
    comment: str = "",
) -> bytes:
    """Return the block of a packet at an interface.

    Args:
        number: that of the interface.
        time_ns: nanoseconds since the file's epoch.
        captured: the packet's first bytes.
        original_bytes: how long the packet was.
        direction: IN, OUT, or 0 where there is none.
        comment: what is to be said of it; nothing where it is empty.
    """
    high, low = divmod(time_ns, 2**32)
    body = _EPB.pack(number, high, low, len(captured), original_bytes) + _padded(captured)
    options = [(_EPB_FLAGS, _U32.pack(direction))] if direction else []
    if comment:
        options.append((_COMMENT, _text(comment)))
    return _block(_PACKET, body, options)


def statistics(number: int, time_ns: int, seen: int, lost: int) -> bytes:
    """Return the block that says how many packets came to an interface, and how many were lost.

    ``number`` is that of the interface, and ``time_ns`` is when they had been counted.
    """
    high, low = divmod(time_ns, 2**32)
    counts = [(_ISB_IFRECV, _U64.pack(seen)), (_ISB_IFDROP, _U64.pack(lost))]
    return _block(_STATISTICS, _ISB.pack(number, high, low), counts)


def _text(text: str) -> bytes:
    """Return a text that a reader may print; names may be a stranger's."""
    return plaintext.one_line(plaintext.shortened(text, _MOST_TEXT_CHARS)).encode()


def _padded(data: bytes) -> bytes:
    """Return bytes with zeros up to a multiple of four."""
    return data + bytes(-len(data) % 4)


def _block(kind: int, body: bytes, options: Sequence[tuple[int, bytes]]) -> bytes:
    parts = [_OPTION.pack(code, len(value)) + _padded(value) for code, value in options]
    if parts:
        parts.append(_OPTION.pack(_END, 0))
    content = body + b"".join(parts)
    length = _FRAME.size + len(content) + _U32.size
    return _FRAME.pack(kind, length) + content + _U32.pack(length)
