"""Multipath TCP: the kernel's path manager over generic netlink, and the state of a connection.

Source: include/uapi/linux/{mptcp,mptcp_pm,genetlink,inet_diag}.h of Linux 6.12.
"""

from __future__ import annotations

import errno
import socket
import struct

from orchestrator.protocol.reports.multipath_facts import COUNTERS
from orchestrator.testbed.kernel import netlink as nl

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.protocol.specification import PathManagerSpec

IPPROTO_MPTCP = 262
_SOL_MPTCP, _MPTCP_INFO = 284, 1
_NETLINK_GENERIC, _GENL_ID_CTRL = 16, 16
_CTRL_CMD_GETFAMILY, _CTRL_ATTR_FAMILY_ID, _CTRL_ATTR_FAMILY_NAME = 3, 1, 2
_VERSION = 1
_ADD_ADDR, _SET_LIMITS = 1, 5  # MPTCP_PM_CMD_*
_ATTR_ADDR, _ATTR_RCV_ADD_ADDRS, _ATTR_SUBFLOWS = 1, 2, 3  # MPTCP_PM_ATTR_*
_FAMILY, _ADDR4, _FLAGS = 1, 3, 6  # MPTCP_PM_ADDR_ATTR_*
SIGNAL, SUBFLOW, BACKUP = 1, 2, 4  # MPTCP_PM_ADDR_FLAG_*
_GENL = struct.Struct("=BBxx")  # struct genlmsghdr
_INFO = struct.Struct("=8xI36xQQQQB3x")
"""struct mptcp_info up to mptcpi_subflows_total: mptcpi_flags, and from mptcpi_bytes_retrans on."""
_FALLBACK = 1  # MPTCP_INFO_FLAG_FALLBACK
_ULP_INFO, _ULP_INFO_MPTCP = 19, 3  # INET_DIAG_ULP_INFO, INET_ULP_INFO_MPTCP
_SUBFLOW_FLAGS = 8  # MPTCP_SUBFLOW_ATTR_FLAGS


class PathManager:
    """The kernel's path manager in the namespace of the thread that makes it.

    Raises:
        NetlinkError: the kernel has none.
    """

    def __init__(self) -> None:
        self._netlink = nl.Netlink(_NETLINK_GENERIC)
        body = _GENL.pack(_CTRL_CMD_GETFAMILY, _VERSION)
        answer = self._netlink.ask(
            _GENL_ID_CTRL, body + nl.attribute(_CTRL_ATTR_FAMILY_NAME, "mptcp_pm")
        )
        if not answer:
            raise nl.NetlinkError("the kernel has no path manager of Multipath TCP")
        attributes = nl.parse_attributes(answer, nl.HEADER_BYTES + _GENL.size)
        (self._family,) = struct.unpack("=H", attributes[_CTRL_ATTR_FAMILY_ID])

    def limit(self, subflows: int) -> None:
        """Let each connection have that many further subflows, and accept as many addresses."""
        body = nl.u32(_ATTR_RCV_ADD_ADDRS, subflows) + nl.u32(_ATTR_SUBFLOWS, subflows)
        self._request(_SET_LIMITS, body, f"{subflows} further subflows")

    def add(self, address: str, flags: int) -> None:
        """Add an endpoint with the flags SIGNAL, SUBFLOW and BACKUP."""
        packed = struct.pack("=H", socket.AF_INET)
        values = [
            nl.attribute(_FAMILY, packed),
            nl.attribute(_ADDR4, socket.inet_aton(address)),
            nl.u32(_FLAGS, flags),
        ]
        self._request(
            _ADD_ADDR, nl.attribute(_ATTR_ADDR | nl.NLA_F_NESTED, values), f"endpoint {address}"
        )

    def close(self) -> None:
        """Close the socket."""
        self._netlink.close()

    def _request(self, command: int, attributes: bytes, what: str) -> None:
        self._netlink.request(self._family, 0, _GENL.pack(command, _VERSION) + attributes, what)


def set_paths(spec: PathManagerSpec) -> None:
    """Set the limits and the endpoints of the path manager in the thread's namespace.

    Raises:
        NetlinkError: the kernel refused something.
    """
    manager = PathManager()
    manager.limit(spec["further_subflows"])
    for endpoint in spec["endpoints"]:
        flags = SIGNAL if endpoint["announced"] else SUBFLOW
        manager.add(endpoint["address"], flags | (BACKUP if endpoint["backup"] else 0))
    manager.close()


def counters(connection: socket.socket | None) -> list[int]:
    """Return the values of COUNTERS of one end of a connection; zeros where there is none yet.

    An end whose peer has no Multipath TCP is a plain TCP socket, and one that fell back later keeps
    the counters that it had.
    """
    if connection is None:
        return [0] * len(COUNTERS)
    try:
        info = connection.getsockopt(_SOL_MPTCP, _MPTCP_INFO, _INFO.size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.ENOPROTOOPT):
            raise
        return [_FALLBACK] + [0] * (len(COUNTERS) - 1)
    flags, *values = _INFO.unpack(info)
    return [flags & _FALLBACK, *values]


def subflow_flags(answers: bytes, start: int, end: int) -> int | None:
    """Return MPTCP_SUBFLOW_FLAG_* of the socket that an INET_DIAG message is about.

    The kernel tells them to whoever has CAP_NET_ADMIN (tcp_diag_get_aux of net/ipv4/tcp_diag.c).
    None: the socket is no subflow, but plain TCP.

    Args:
        answers: messages of INET_DIAG.
        start: where the attributes of the message begin in them.
        end: where the message ends.
    """
    place = (start, end)
    for kind in (_ULP_INFO, _ULP_INFO_MPTCP, _SUBFLOW_FLAGS):
        spans = nl.attribute_spans(answers, *place)
        if kind not in spans:
            return None
        place = spans[kind]
    (flags,) = struct.unpack_from("=I", answers, place[0])
    return int(flags)
