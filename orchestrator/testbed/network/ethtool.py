"""Segmentation offloads of an interface, its link and its speed.

With offloads, an aggregate of 64 KB counts as one packet in a queue's limit and leaves a link in
one piece. An emulated bottleneck would not behave as the scenario requests.
Source: include/uapi/linux/ethtool.h.
"""

from __future__ import annotations

import ctypes
import fcntl
import functools
import operator
import socket
import struct

SIOCETHTOOL = 0x8946
OFFLOADS = {
    "tso": (
        "tx-tcp-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation",
        "tx-tcp6-segmentation",
    ),
    "gso": ("tx-generic-segmentation",),
    "gro": ("rx-gro",),
}  # fmt: skip
"""The kernel's features of each, as in ethtool_get_feature_mask() of net/ethtool/ioctl.c."""
_UDP = {"udp": ("tx-udp-segmentation",)}
"""By which a program's UDP_SEGMENT would bring a super-packet of datagrams to a link."""
_GET_SET_INFO, _GET_STRINGS = 0x37, 0x1B
_GET_FEATURES, _SET_FEATURES = 0x3A, 0x3B
_FEATURE_NAMES, _NAME_BYTES = 4, 32  # ETH_SS_FEATURES, ETH_GSTRING_LEN
_WORD_BITS = 32
_FEATURES_BLOCK = struct.Struct("=4I")
"""struct ethtool_get_features_block: available, requested, active, never changed."""
_SCATTER_GATHER = 0x19
_GET_LINK = 0x0A
_GET_SETTINGS, _SETTINGS_BYTES = 0x01, 44  # struct ethtool_cmd
_SPEED, _SPEED_HIGH = 12, 28
_UNKNOWN_MBITPS = 0xFFFFFFFF


class Ethtool:
    """One control socket in the network namespace of the thread that opens it."""

    _masks: dict[str, list[int]] | None = None
    """{offload: its features as words of 32 bits}, which a kernel has for all interfaces."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _call(self, interface: str, command: int, value: int = 0) -> int:
        _command, result = struct.unpack(
            "=II", self._exchange(interface, struct.pack("=II", command, value))
        )
        return int(result)

    def _exchange(self, interface: str, request: bytes) -> bytes:
        """Return what the kernel has made of a request's structure."""
        data = ctypes.create_string_buffer(request, len(request))
        words = struct.pack("16sP16x", interface.encode(), ctypes.addressof(data))
        fcntl.ioctl(self._socket, SIOCETHTOOL, words)
        return data.raw

    def _feature_masks(self, interface: str) -> dict[str, list[int]]:
        if Ethtool._masks is None:
            names = self._feature_names(interface)
            blank = [0] * -(-len(names) // _WORD_BITS)
            masks = {offload: list(blank) for offload in (*OFFLOADS, *_UDP)}
            for offload, features in (*OFFLOADS.items(), *_UDP.items()):
                for feature in set(features).intersection(names):
                    word, bit = divmod(names.index(feature), _WORD_BITS)
                    masks[offload][word] |= 1 << bit
            Ethtool._masks = masks
        return Ethtool._masks

    def _feature_names(self, interface: str) -> list[str]:
        """Return the kernel's names of all features, in the order of their bits."""
        asked = struct.pack("=IIQI", _GET_SET_INFO, 0, 1 << _FEATURE_NAMES, 0)
        (count,) = struct.unpack_from("=I", self._exchange(interface, asked), 16)
        head = struct.pack("=III", _GET_STRINGS, _FEATURE_NAMES, count)
        answer = self._exchange(interface, head + bytes(_NAME_BYTES * count))
        return [
            answer[place : place + _NAME_BYTES].partition(b"\0")[0].decode()
            for place in range(len(head), len(answer), _NAME_BYTES)
        ]

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
        """Switch one of those that ``all_offloads`` returns on or off."""
        self._set_features(interface, self._feature_masks(interface)[name], on)

    def set_offloads(self, interface: str, on: bool = False) -> None:
        """Switch TSO, GSO, GRO and the segmentation of UDP of the interface off (or on)."""
        masks = self._feature_masks(interface).values()
        mask = [functools.reduce(operator.or_, words) for words in zip(*masks, strict=True)]
        self._set_features(interface, mask, on)

    def _set_features(self, interface: str, mask: list[int], on: bool) -> None:
        """Set features as far as the interface has them: no device has all of an offload."""
        head = struct.pack("=II", _SET_FEATURES, len(mask))
        blocks = [struct.pack("=II", word, word if on else 0) for word in mask]  # valid, requested
        self._exchange(interface, head + b"".join(blocks))

    def set_segmentation(self, interface: str) -> None:
        """Switch on that the interface takes super-packets: TSO, and GSO, on which it depends."""
        for name in ("gso", "tso"):
            self.set_offload(interface, name, True)

    def send_in_one_piece(self, interface: str) -> None:
        """Switch scatter-gather off, so that all bytes of a frame are in one buffer."""
        self._call(interface, _SCATTER_GATHER, 0)

    def offloads(self, interface: str) -> dict[str, bool]:
        """Return {"tso": bool, "gso": bool, "gro": bool} as the kernel has them."""
        found = self.all_offloads(interface)
        return {name: found[name] for name in OFFLOADS}

    def all_offloads(self, interface: str) -> dict[str, bool]:
        """Return those of ``offloads``, and ``udp``: whether the interface cuts datagrams."""
        masks = self._feature_masks(interface)
        size = len(masks["tso"])
        head = struct.pack("=II", _GET_FEATURES, size)
        answer = self._exchange(interface, head + bytes(_FEATURES_BLOCK.size * size))
        active = [on for _a, _r, on, _n in _FEATURES_BLOCK.iter_unpack(answer[len(head) :])]
        return {
            name: any(on & bits for on, bits in zip(active, mask, strict=True))
            for name, mask in masks.items()
        }
