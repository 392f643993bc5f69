"""TCP state of one network namespace over one open INET_DIAG socket: the source of `ss -ti`.

A row is ROW_BYTES long, little endian: time_ns i64, flow i32, endpoint u8, a pad byte, the
attribute type of the algorithm's own info u16 (0: none), receive queue u32, send queue u32, struct
tcp_info (256 bytes, zero-filled where the kernel's is shorter), SKMEMINFO (36 bytes), the
algorithm's own info (40 bytes), 4 bytes zero. Source: include/uapi/linux/inet_diag.h.
"""

import socket
import struct

from . import netlink as nl

SOCK_DIAG_BY_FAMILY = 20
INFO_BYTES, MEMORY_BYTES, CONGESTION_BYTES = 256, 36, 40
ROW_BYTES = 24 + INFO_BYTES + MEMORY_BYTES + CONGESTION_BYTES + 4
SENDER, RECEIVER = 0, 1
_DESTROYED = 1  # SKNLGRP_INET_TCP_DESTROY

_INFO, _CONGESTION_NAME, _MEMORY = 2, 4, 7  # INET_DIAG_INFO, _CONG, _SKMEMINFO
_CONGESTION_INFO = (3, 9, 16)  # INET_DIAG_VEGASINFO, _DCTCPINFO, _BBRINFO
_EXTENSIONS = 1 << (_INFO - 1) | 1 << (_CONGESTION_NAME - 1) | 1 << (_MEMORY - 1) | 1 << 2
_LISTEN, _TIME_WAIT = 10, 6
_STATES = 0xFFF & ~(1 << _LISTEN) & ~(1 << _TIME_WAIT)
_MESSAGE_BYTES = 72
_ANY_COOKIE = bytes([0xFF] * 8)
_HEAD = struct.Struct("<qiBxHII")
_PORTS = struct.Struct("!HH")
_QUEUES = struct.Struct("=II")


class TcpDiag:
    """Samples the sockets of the namespace in which it was opened.

    ``endpoints`` maps (local port, remote port) to (flow index, endpoint).
    """

    def __init__(self, endpoints, addresses):
        self._netlink = nl.Netlink(nl.NETLINK_SOCK_DIAG)
        self._closed = None
        self._endpoints = endpoints
        self._layouts = {}
        self.names = {}
        self.rows = self._all_rows
        self._request = struct.pack("=BBBxI", socket.AF_INET, 6, _EXTENSIONS, _STATES) + bytes(48)
        if len(endpoints) == 1:
            ((local, remote),) = endpoints
            self._request = self._exact_request(local, remote, *addresses)
            self.rows = self._single_row

    def watch_closing(self):
        """From now on note the last state of sockets that a foreign program closes.

        To be called in the namespace of the sockets.
        """
        self._closed = nl.Netlink(nl.NETLINK_SOCK_DIAG)
        self._closed.join(_DESTROYED)

    def closed_rows(self, time_ns):
        """Return a last row for each socket of a flow that was closed since the last call."""
        if self._closed is None:
            return []
        rows = (
            self._row(data, start, end, time_ns) for _k, data, start, end in self._closed.drain()
        )
        return [row for row in rows if row]

    @staticmethod
    def _exact_request(local, remote, source, destination):
        head = struct.pack("=BBBxI", socket.AF_INET, 6, _EXTENSIONS, _STATES)
        identity = _PORTS.pack(local, remote)
        identity += socket.inet_aton(source) + bytes(12) + socket.inet_aton(destination) + bytes(12)
        return head + identity + bytes(4) + _ANY_COOKIE

    def _single_row(self, time_ns):
        """Return the rows of the one socket: two system calls, no walk of the socket table."""
        data = self._netlink.ask(SOCK_DIAG_BY_FAMILY, self._request)
        row = data and self._row(data, 16, struct.unpack_from("=I", data)[0], time_ns)
        return [row] if row else []

    def _all_rows(self, time_ns):
        """Return a row for each socket that belongs to a flow."""
        dump = self._netlink.dump(SOCK_DIAG_BY_FAMILY, self._request)
        rows = (self._row(data, start, end, time_ns) for _kind, data, start, end in dump)
        return [row for row in rows if row]

    def _row(self, data, start, end, time_ns):
        found = self._endpoints.get(_PORTS.unpack_from(data, start + 4))
        if found is None or data[start + 1] in (_LISTEN, _TIME_WAIT):
            return None
        info, memory, kind, congestion = self._layout(data, start, end)
        if info.start == info.stop:
            return None  # a request or time-wait socket: it has no tcp_info
        rqueue, wqueue = _QUEUES.unpack_from(data, start + 56)
        flow, endpoint = found
        if flow not in self.names and endpoint == SENDER:
            self._note_name(flow, data, start, end)
        return b"".join(
            (
                _HEAD.pack(time_ns, flow, endpoint, kind, rqueue, wqueue),
                data[info].ljust(INFO_BYTES, b"\0"),
                data[memory].ljust(MEMORY_BYTES, b"\0"),
                data[congestion].ljust(CONGESTION_BYTES + 4, b"\0"),
            )
        )

    def _layout(self, data, start, end):
        """Return where the parts stand; equal lengths and first attributes have equal layouts."""
        key = (start, end, data[start + 1], data[start + _MESSAGE_BYTES : start + 80])
        if key not in self._layouts:
            self._layouts[key] = _find_parts(data, start, end)
        return self._layouts[key]

    def _note_name(self, flow, data, start, end):
        attributes = nl.parse_attributes(data, start + _MESSAGE_BYTES, end)
        name = bytes(attributes.get(_CONGESTION_NAME, b"")).rstrip(b"\0").decode()
        if name:
            self.names[flow] = name


def _find_parts(data, start, end):
    nothing = slice(0, 0)
    info = memory = congestion = nothing
    kind = 0
    offset = start + _MESSAGE_BYTES
    while offset + 4 <= end:
        length, attribute = struct.unpack_from("=HH", data, offset)
        attribute &= nl.NLA_TYPE_MASK
        if attribute == _INFO:
            info = slice(offset + 4, offset + min(length, 4 + INFO_BYTES))
        elif attribute == _MEMORY:
            memory = slice(offset + 4, offset + min(length, 4 + MEMORY_BYTES))
        elif attribute in _CONGESTION_INFO:
            kind = attribute
            congestion = slice(offset + 4, offset + min(length, 4 + CONGESTION_BYTES))
        offset += (length + 3) & ~3
    return info, memory, kind, congestion
