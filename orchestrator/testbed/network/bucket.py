"""Changes a channel's token bucket while traffic runs: another rate, or a trace.

sch_tbf fills its bucket when it is changed. It does not serve its queue again before the time that
followed from the old rate (net/sched/sch_tbf.c). Two consequences are used here. A change at the
same rate sets how many bytes may leave at once. And to send a frame that the bucket refuses makes
the device serve its queue. The kernel does so after every attempt to add a packet, also after one
that failed (net/core/dev.c, __dev_xmit_skb).

When the rate changes, our guest's kernel keeps the bytes that are in the bucket (guest/patches). A
stock kernel fills the bucket, so that each change of rate lets a frame leave early. Where that is
too much, the fidelity check of the rate fails.
"""

from __future__ import annotations

import errno
import socket
import struct

from orchestrator.protocol.frames import FRAME_BYTES
from orchestrator.protocol.numbering import CHANNEL_ENDS, link_and_direction
from orchestrator.testbed.kernel import netlink as nl
from orchestrator.testbed.kernel import system
from orchestrator.testbed.network import qdisc

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.testbed.bed import ShapedNetwork


TCA_TBF_PRATE64, TCA_TBF_PBURST = 5, 7
_RATE = struct.Struct("=BBHhHI")  # struct tc_ratespec
_ENDLESS_BYTES_PER_S = 2**60
"""A peak rate at which a frame takes no time. The peak's bucket then only limits frame sizes."""
_STOPPED_BYTES_PER_S = 1
_WRAPPED = 2**32 - 1
"""A burst that becomes 0 with an overhead of 1, in the 32 bits of psched_l2t_ns.

The bucket is then empty and never fills. Any other bucket that is valid for a frame can also let
one pass.
"""
_REFUSED = bytes(12) + b"\x81\x00" + bytes(FRAME_BYTES + 4 - 14)
"""A frame with a VLAN tag, the largest that a device of this MTU accepts; no other is as large."""
_MOST_LOOKS = 256


class Bucket:
    """The token bucket of one channel.

    Args:
        bed: the built network.
        route: a netlink socket in the namespace of the wires.
        name: the channel's name.
    """

    def __init__(self, bed: ShapedNetwork, route: nl.Netlink, name: str) -> None:
        link_name, direction = link_and_direction(name)
        link = bed.links[link_name]
        _source, queue_end, _sink = CHANNEL_ENDS[direction]
        self._name, self._index = link.device(queue_end)
        self._route, self._spec = route, link.spec[direction]
        with system.inside(bed.wires_fd, bed.home_fd):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.bind((self._name, 0))
        self._left_bytes = self._sent_bytes = 0  # set by stop()
        # In real time, packets that come before the bucket is closed may still use a grant.
        self._real_time, self._slipped_bytes = bed.spec.get("real_time", False), 0
        self.granted_frames = 0

    def set_rate(self, rate_bps: int) -> None:
        """Set the rate; call ``look`` then, so that a frame that may leave at once does so.

        The kernel counts rates in whole bytes per second. An unchanged rate is not sent, because
        that would fill the bucket.
        """
        rate, old = rate_bps // 8, (self._spec["rate_bps"] or 0) // 8
        self._spec["rate_bps"] = rate_bps
        if rate != old:
            self._change(rate, qdisc.bucket_bytes(rate, self._spec["late_timers_ns"]))

    def stop(self) -> None:
        """Stop the queue: from now on only ``grant`` lets packets leave."""
        self._spec["rate_bps"] = 8 * _STOPPED_BYTES_PER_S
        self._change(_STOPPED_BYTES_PER_S, _WRAPPED, overhead=1)
        self._left_bytes, (self._sent_bytes, _waiting) = 0, self._counters()

    def grant(self, frames: int) -> None:
        """Let the bytes of that many full-size frames leave at once.

        Bytes of the grant for which no packet waits are lost. Bytes that are left because the next
        packet is larger are added to the next grant, so no byte is lost under backlog.

        Raises:
            OSError: bytes have left without a grant, or could have left and did not.
        """
        before = self._sent_bytes
        granted = self._left_bytes + frames * FRAME_BYTES
        self._change(_STOPPED_BYTES_PER_S, granted)
        for _look in range(_MOST_LOOKS):
            self.look()
            self._sent_bytes, waiting = self._counters()
            self._left_bytes = granted - (self._sent_bytes - before)
            if self._left_bytes < -self._slipped_bytes:
                raise OSError(f"{self._name}: {-self._left_bytes} bytes left without a grant")
            if not waiting or self._left_bytes < FRAME_BYTES:
                break
        else:
            raise OSError(f"{self._name}: {self._left_bytes} bytes of a grant could not leave")
        self._change(_STOPPED_BYTES_PER_S, _WRAPPED, overhead=1)
        left_bytes = max(self._left_bytes, 0)
        self._left_bytes = left_bytes if waiting else 0
        self._slipped_bytes = left_bytes if self._real_time and not waiting else 0
        self.granted_frames += frames

    def _change(self, rate: int, burst: int, overhead: int = 0) -> None:
        """Set the rate and the size of the bucket; an unchanged rate fills the bucket."""
        queue = self._spec["queue"]
        # sch_tbf passes its limit to a fifo below it.
        limit = (qdisc.fifo_limit(queue) if queue else None) or 0x7FFFFFFF
        spec = _RATE.pack(0, 1, overhead, 0, 0, min(rate, 0xFFFFFFFF))
        peak = _RATE.pack(0, 1, 0, 0, 0, 0xFFFFFFFF)
        options = [
            nl.attribute(qdisc.TCA_TBF_PARMS, spec + peak + struct.pack("=III", limit, 0, 0)),
            nl.u32(qdisc.TCA_TBF_BURST, burst),
            nl.u64(TCA_TBF_PRATE64, _ENDLESS_BYTES_PER_S),
            nl.u32(TCA_TBF_PBURST, FRAME_BYTES),
        ]
        if rate > 0xFFFFFFFF:
            options.append(nl.u64(qdisc.TCA_TBF_RATE64, rate))
        qdisc.change_root(self._route, self._index, "tbf", options, f"{self._name} tbf")
        self._route.flush()

    def look(self) -> None:
        """Make the device serve its queue, by a send that fails after about a microsecond."""
        try:
            self._socket.send(_REFUSED)
        except OSError as error:
            if error.errno == errno.ENOBUFS:  # the expected refusal
                return
            raise
        raise OSError(f"{self._name}: the token bucket accepted a frame above the MTU")

    def _counters(self) -> tuple[int, int]:
        """Return (bytes that have left, packets that wait)."""
        return qdisc.passed(self._route, self._index)
