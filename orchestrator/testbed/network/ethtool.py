"""Segmentation offloads of an interface, its link and its speed.

With offloads, an aggregate of 64 KB counts as one packet in a queue's limit and leaves a link in
one piece. An emulated bottleneck would not behave as the scenario requests.
Source: include/uapi/linux/ethtool.h.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

SIOCETHTOOL = 0x8946
# name: (read command, write command)
OFFLOADS = {"tso": (0x1E, 0x1F), "gso": (0x23, 0x24), "gro": (0x2B, 0x2C)}
_SCATTER_GATHER = 0x19
_GET_LINK = 0x0A
_GET_SETTINGS, _SETTINGS_BYTES = 0x01, 44  # struct ethtool_cmd
_SPEED, _SPEED_HIGH = 12, 28
_UNKNOWN_MBITPS = 0xFFFFFFFF


class Ethtool:
    """One control socket in the network namespace of the thread that opens it."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _call(self, interface: str, command: int, value: int = 0) -> int:
        data = ctypes.create_string_buffer(struct.pack("=II", command, value), 8)
        request = struct.pack("16sP16x", interface.encode(), ctypes.addressof(data))
        fcntl.ioctl(self._socket, SIOCETHTOOL, request)
        _command, result = struct.unpack("=II", data.raw)
        return int(result)

    def has_link(self, interface: str) -> bool:
        """Tell whether the interface has a carrier.

        If it has got one, it can send from now on. Unasked, the kernel lets about 100 interfaces a
        second do so (net/core/link_watch.c).
        """
        return bool(self._call(interface, _GET_LINK))

    def speed_mbitps(self, interface: str) -> int | None:
        """Return the speed that the interface reports, None when it reports none."""
        data = ctypes.create_string_buffer(struct.pack("=I", _GET_SETTINGS), _SETTINGS_BYTES)
        request = struct.pack("16sP16x", interface.encode(), ctypes.addressof(data))
        try:
            fcntl.ioctl(self._socket, SIOCETHTOOL, request)
        except OSError:
            return None
        (low,) = struct.unpack_from("=H", data.raw, _SPEED)
        (high,) = struct.unpack_from("=H", data.raw, _SPEED_HIGH)
        speed = high << 16 | low
        return None if speed in (0, _UNKNOWN_MBITPS) else speed

    def set_offload(self, interface: str, name: str, on: bool) -> None:
        """Switch one of OFFLOADS on or off."""
        self._call(interface, OFFLOADS[name][1], int(on))

    def set_offloads(self, interface: str, on: bool = False) -> None:
        """Switch TSO, GSO and GRO of the interface off (or on)."""
        for _read, write in OFFLOADS.values():
            self._call(interface, write, int(on))

    def send_in_one_piece(self, interface: str) -> None:
        """Switch scatter-gather off, so that all bytes of a frame are in one buffer."""
        self._call(interface, _SCATTER_GATHER, 0)

    def offloads(self, interface: str) -> dict[str, bool]:
        """Return {"tso": bool, "gso": bool, "gro": bool} as the kernel has them."""
        return {name: bool(self._call(interface, read)) for name, (read, _w) in OFFLOADS.items()}
