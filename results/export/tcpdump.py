"""Text as tcpdump prints it: the frames of a trace as a place saw them, a line for each.

The lines are those of ``tcpdump -nn -tt -r FILE.pcapng`` of version 4.99 (print-ip.c, print-tcp.c,
print-udp.c), for frames with TCP or UDP over IPv4. Sequence numbers are relative, as there: a
conversation's first ones after a SYN, or in the capture, are shown whole.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from orchestrator.errors import UsageError
from results.export.base import trace_format
from results.store.stored import StoredRun
from results.traces.choice import TraceChoice, trace_with
from results.traces.places import SeenFrames, chosen_places, seen_frames

_ETHERNET_BYTES, _IPV4 = 14, 0x0800
_IP = struct.Struct(">BxHHHxBxx4s4s")
_TCP = struct.Struct(">HHIIBBHxxH")
_UDP = struct.Struct(">HHHxx")
_FRAGMENT_OFFSET = 0x1FFF
_TCP_PROTOCOL, _UDP_PROTOCOL = 6, 17
_SYN, _ACK, _URGENT, _ENDS = 0x02, 0x10, 0x20, 0x07
_FLAGS = "FSRP.UEW"
"""By bit, from the lowest one: FIN, SYN, RST, PSH, ACK, URG, ECE, CWR."""

_END_OF_OPTIONS, _NO_OPERATION, _MSS, _WINDOW_SCALE, _SACK_PERMITTED, _SACK, _TIMESTAMPS = (
    0, 1, 2, 3, 4, 5, 8,
)  # fmt: skip
_ENOUGH_SNAP_BYTES = _ETHERNET_BYTES + 60 + 60
"""The longest headers of IPv4 and TCP are in so many bytes."""

Address = tuple[bytes, int]


@trace_format("tcpdump", at_places=True)
def write(run: StoredRun, paths: Sequence[Path], choice: TraceChoice) -> None:
    """FILE.tcpdump: what `tcpdump -nn -tt` prints of FILE.pcapng of the same ``--at PLACE``.

    Times are seconds since the start of traffic.
    """
    head = trace_with(run, choice.number, "frames")
    frames = seen_frames(run, head)
    places = chosen_places(frames, choice.place, run.id)
    with paths[0].open("x", encoding="ascii") as file:
        file.writelines(f"{line}\n" for line in _lines(frames, places))


def _lines(frames: SeenFrames, places: Sequence[int]) -> Iterator[str]:
    rows, known = frames.rows, Conversations()
    columns = [rows[name].tolist() for name in ("time_ns", "offset", "captured_bytes")]
    for row in np.flatnonzero(np.isin(frames.place, places)).tolist():
        time_ns, offset, captured = (column[row] for column in columns)
        try:
            text = known.packet(frames.data[offset : offset + captured])
        except (struct.error, IndexError):
            raise UsageError(
                f"the frame at {_seconds(time_ns)} s was cut within its headers: their text "
                f"needs a trace with --snap {_ENOUGH_SNAP_BYTES}"
            ) from None
        except ValueError as error:
            raise UsageError(
                f"the frame at {_seconds(time_ns)} s {error}; --format pcapng has it"
            ) from None
        yield f"{_seconds(time_ns)[:-3]} {text}"  # without nanoseconds, as tcpdump does it


def _seconds(time_ns: int) -> str:
    return f"{time_ns // 10**9}.{time_ns % 10**9:09}"


class Conversations:
    """Tells of packets, one after the other, with sequence numbers since each one's begin."""

    def __init__(self) -> None:
        self._begins: dict[tuple[Address, Address], tuple[int, int]] = {}

    def packet(self, frame: bytes) -> str:
        """Return the text of a frame.

        Raises:
            ValueError: it has neither TCP nor UDP over IPv4, or is a fragment.
            struct.error: it was cut within its headers.
            IndexError: it was, too.
        """
        if int.from_bytes(frame[12:14], "big") != _IPV4:
            raise ValueError("is not of IPv4")
        first, length, _id, fragment, protocol, source, sink = _IP.unpack_from(
            frame, _ETHERNET_BYTES
        )
        start = _ETHERNET_BYTES + 4 * (first & 0x0F)
        length -= start - _ETHERNET_BYTES
        if fragment & _FRAGMENT_OFFSET:
            raise ValueError("is a fragment")
        if protocol == _TCP_PROTOCOL:
            ports = list(struct.unpack_from(">HH", frame, start))
            text = self._segment(frame, start, length, (source, ports[0]), (sink, ports[1]))
        elif protocol == _UDP_PROTOCOL:
            *ports, size = _UDP.unpack_from(frame, start)
            text = f"UDP, length {size - _UDP.size}"
        else:
            raise ValueError(f"has protocol {protocol}, neither TCP nor UDP")
        return f"IP {_dotted(source)}.{ports[0]} > {_dotted(sink)}.{ports[1]}: {text}"

    def _segment(
        self, frame: bytes, start: int, length: int, source: Address, sink: Address
    ) -> str:
        _ports, _port, seq, ack, words, flags, window, urgent = _TCP.unpack_from(frame, start)
        header_bytes = 4 * (words >> 4)
        options = frame[start + _TCP.size : start + header_bytes]
        if len(options) != header_bytes - _TCP.size:
            raise IndexError(header_bytes)
        payload_bytes = length - header_bytes
        seq, ack, sacked_from = self._relative(source, sink, seq, ack, flags)
        shown = "".join(name for bit, name in enumerate(_FLAGS) if flags & 1 << bit) or "none"
        parts = [f"Flags [{shown}]"]
        if payload_bytes > 0:
            parts.append(f"seq {seq}:{(seq + payload_bytes) % 2**32}")
        elif flags & _ENDS:
            parts.append(f"seq {seq}")
        if flags & _ACK:
            parts.append(f"ack {ack}")
        parts.append(f"win {window}")
        if flags & _URGENT:
            parts.append(f"urg {urgent}")
        if options:
            parts.append(f"options [{','.join(_options(options, sacked_from))}]")
        return f"{', '.join(parts)}, length {payload_bytes}"

    def _relative(
        self, source: Address, sink: Address, seq: int, ack: int, flags: int
    ) -> tuple[int, int, int]:
        """Return a segment's own numbers, and that from which its SACK blocks count."""
        if not flags & _ACK:
            return seq, ack, 0
        # As tcpdump orders them: the end with the larger port, or else address, is the second one.
        turned = (source[1], source[0]) > (sink[1], sink[0])
        key = (sink, source) if turned else (source, sink)
        if key not in self._begins or flags & _SYN:
            before_ack = (ack - 1) % 2**32
            self._begins[key] = (before_ack, seq) if turned else (seq, before_ack)
            own, other = 0, 0
        else:
            own, other = self._begins[key][::-1] if turned else self._begins[key]
        of_sacks = self._begins[key][0 if turned else 1]
        return (seq - own) % 2**32, (ack - other) % 2**32, of_sacks


def _options(data: bytes, sacked_from: int) -> Iterator[str]:
    """Yield the options of a segment in words."""
    at = 0
    while at < len(data):
        kind = data[at]
        if kind in (_END_OF_OPTIONS, _NO_OPERATION):
            yield "nop" if kind == _NO_OPERATION else "eol"
            if kind == _END_OF_OPTIONS:
                return
            at += 1
            continue
        size = data[at + 1]
        if not 2 <= size <= len(data) - at:
            raise ValueError("has options of TCP that are malformed")
        yield _option(kind, data[at + 2 : at + size], sacked_from)
        at += size


def _option(kind: int, content: bytes, sacked_from: int) -> str:
    if kind == _SACK_PERMITTED and not content:
        return "sackOK"
    if kind == _MSS and len(content) == 2:
        return f"mss {int.from_bytes(content, 'big')}"
    if kind == _WINDOW_SCALE and len(content) == 1:
        return f"wscale {content[0]}"
    if kind == _TIMESTAMPS and len(content) == 8:
        value, echoed = struct.unpack(">II", content)
        return f"TS val {value} ecr {echoed}"
    if kind == _SACK and len(content) % 8 == 0:
        blocks = "".join(
            f"{{{(start - sacked_from) % 2**32}:{(end - sacked_from) % 2**32}}}"
            for start, end in struct.iter_unpack(">II", content)
        )
        return f"sack {len(content) // 8} {blocks}"
    raise ValueError(f"has an option of TCP of kind {kind}, which has no text here")


def _dotted(address: bytes) -> str:
    return socket.inet_ntoa(address)
