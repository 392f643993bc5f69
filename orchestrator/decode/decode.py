"""Reads the samples of a test bed (see testbed/sampling/records.py) into arrays."""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from orchestrator import plaintext
from orchestrator.decode.ecn_states import note_ecn_states
from orchestrator.decode.flows.connections import ConnectionsDecoder
from orchestrator.decode.flows.socket_flows import FlowPorts, ends
from orchestrator.decode.output import CHUNK_BYTES, OutputFile, OutputFolder, malformed
from orchestrator.errors import BedError
from orchestrator.protocol.links.qdisc import Statistic
from orchestrator.protocol.reports.records import (
    DATAGRAMS_FIELDS,
    QUEUE_COUNTERS,
    SENDER_STATE_FIELDS,
    TCP_HEAD,
    TRANSFER_FIELDS,
)
from orchestrator.protocol.sampling_schedule import DIGEST_NS, MANY_NS
from orchestrator.recording.model import (
    ABSENT,
    ABSENT_COLUMNS,
    CONGESTION_SLOTS,
    DATAGRAM_DTYPE,
    ECN_INFO_FIELDS,
    QUEUE_DTYPE,
    SENDER,
    SENDER_STATE_DTYPE,
    SKMEM_FIELDS,
    TCP_DTYPE,
    TCP_INFO_FIELDS,
    TRANSFER_DTYPE,
)

_MESSAGE_HEAD = struct.Struct("<IH")  # nlmsg_len, nlmsg_type of struct nlmsghdr
_MESSAGE_HEAD_BYTES = 16
_SOCK_DIAG_BY_FAMILY = 20
_DIAG, _DIAG_BYTES = 16, 72  # struct inet_diag_msg behind the netlink header
_LEAST_BYTES = _DIAG + _DIAG_BYTES + 128  # time-wait and request sockets have no tcp_info
_STATE, _PORTS, _COOKIE, _QUEUES = _DIAG + 1, _DIAG + 4, _DIAG + 44, _DIAG + 56
_LISTEN = 10
_INFO, _NAME, _MEMORY = 2, 4, 7  # INET_DIAG_INFO, _CONG, _SKMEMINFO
_MOST_RECORD_BYTES = 2**26
_MOST_MESSAGE_BYTES = 4096
_MOST_ATTRIBUTES = 64
_MOST_LAYOUTS = 128
"""Limits of a record, a message, and all messages of a run. A kernel's message has about 450 bytes,
a dozen attributes, and one of a few layouts. The layout depends on congestion control and state."""
_MOST_NAME_BYTES = 16  # TCP_CA_NAME_MAX

# An algorithm's own info attribute: the kind's number (include/uapi/linux/inet_diag.h), the
# layout of its structure, and what the integers mean.
_CONGESTION_KINDS: dict[int, tuple[np.dtype[np.void], tuple[tuple[str, str], ...]]] = {
    3: (
        np.dtype([(name, "<u4") for name in ("enabled", "rttcnt", "rtt", "minrtt")]),
        (("enabled", ""), ("rtt_count", ""), ("rtt", "us"), ("min_rtt", "us")),
    ),
    9: (
        np.dtype(
            [
                ("enabled", "<u2"),
                ("ce_state", "<u2"),
                ("alpha", "<u4"),
                ("ecn", "<u4"),
                ("tot", "<u4"),
            ]
        ),
        (
            ("enabled", ""),
            ("ce_state", ""),
            ("alpha", "1/1024"),
            ("marked", "bytes"),
            ("acked", "bytes"),
        ),
    ),
    16: (
        np.dtype([("bw", "<u8"), ("min_rtt", "<u4"), ("pacing_gain", "<u4"), ("cwnd_gain", "<u4")]),
        (
            ("bandwidth", "bytes/s"),
            ("min_rtt", "us"),
            ("pacing_gain", "1/256"),
            ("cwnd_gain", "1/256"),
        ),
    ),
    # CC_DIAG_ATTRIBUTE of our modules (kmods/cc_info.h); a module declares more exact meanings.
    0x3CC0: (
        np.dtype([("bw", "<u8"), ("min_rtt", "<u4"), ("first", "<u4"), ("second", "<u4")]),
        (("bandwidth", "bytes/s"), ("min_rtt", "us"), ("first", ""), ("second", "")),
    ),
}


_INFO_FIELDS = (*TCP_INFO_FIELDS, *ECN_INFO_FIELDS)
_ECN_BITS = ECN_INFO_FIELDS[-1][0]
_SENDER_STATES = np.dtype([(name, f"<{form}") for name, form in SENDER_STATE_FIELDS])

Layout = list[tuple[int, int, int]]
"""(attribute type, first byte of its payload, bytes of it), in the order of the message."""


class TcpDecoder:
    """Decodes the TCP samples while the bed still writes them.

    Args:
        output: the bed's files; tcp.bin need not exist yet.
        ports: of each flow.
        edges_ns: when everything is sampled; the last is the run's duration.

    ``congestion_names`` gives what the kernel reported for each flow's sender, and
    ``congestion_fields`` the (name, unit) of its congestion columns.
    """

    def __init__(
        self, output: OutputFolder, ports: Sequence[FlowPorts], edges_ns: Sequence[int] = (0,)
    ) -> None:
        self._output, self._ports, self._edges_ns = output, ports, edges_ns
        self._file: OutputFile | None = None
        self._read_bytes = 0
        self._rest = b""
        self._layouts: set[tuple[int, tuple[tuple[int, int, int], ...]]] = set()
        self._parts: list[npt.NDArray[np.void]] = []
        kinds = {flow: flow_ports.connections for flow, flow_ports in enumerate(ports)}
        self._several = np.array([kind != "one" for kind in kinds.values()], np.bool_)
        self._connections = ConnectionsDecoder(kinds)
        self.congestion_names: dict[int, str] = {}
        self.congestion_fields: dict[int, tuple[tuple[str, str], ...]] = {}

    def connections(self, flow: int) -> int | None:
        """Return how many connections a flow with more than one at a time, or in all, had."""
        return self._connections.count(flow) if self._several[flow] else None

    def advance(self) -> None:
        """Decode what was written since the last call, up to the last whole record.

        Raises:
            BedError: the file or a record in it is not what a bed writes.
        """
        self._file = self._file or self._output.opened("tcp.bin")
        if self._file is None:
            return
        size = self._file.size()
        while self._read_bytes < size:
            self._output.require_going_on()
            part = self._file.read(self._read_bytes, min(CHUNK_BYTES, size - self._read_bytes))
            if not part:  # cut off meanwhile
                return
            self._read_bytes += len(part)
            data = self._rest + part
            messages, used = _messages(data)
            self._rest = data[used:]
            if len(messages):
                self._take(data, messages)

    def decoded(self, first: int) -> list[npt.NDArray[np.void]]:
        """Return the parts decoded so far without the ``first`` ones.

        They are arrays of TCP_DTYPE of flows with one connection, not in the order of time.
        """
        return self._parts[first:]

    def samples(self) -> npt.NDArray[np.void]:
        """Return all samples in the order of time, flow and end, when the bed has ended.

        Raises:
            BedError: as ``advance``; or the last record is not whole.
        """
        self.advance()
        if self._rest or (self._file is not None and self._file.size() != self._read_bytes):
            raise BedError("tcp.bin ends in the middle of a record")
        edges_ns = np.array(self._edges_ns, np.int64)
        together = self._connections.samples(self._grid(DIGEST_NS), self._grid(MANY_NS), edges_ns)
        rows = np.concatenate([together, *self._parts])
        self._parts.clear()  # the largest arrays of a run
        order = np.lexsort((rows["endpoint"], rows["flow"], rows["time_ns"]))
        ordered: npt.NDArray[np.void] = rows[order]
        self._parts.append(ordered)
        return ordered

    def _grid(self, period_ns: int) -> npt.NDArray[np.int64]:
        """Return the multiples of the period up to the run's end."""
        return np.arange(0, self._edges_ns[-1] + 1, period_ns, dtype=np.int64)

    def _take(self, data: bytes, messages: npt.NDArray[np.int64]) -> None:
        # Answers with equal length and equal first bytes have their attributes at the same places.
        for length in np.unique(messages[:, 2]):
            alike = messages[messages[:, 2] == length]
            answers = b"".join([data[start : start + length] for start in alike[:, 1].tolist()])
            raw = np.frombuffer(answers, np.uint8).reshape(-1, length)
            time_ns = alike[:, 0]
            while len(raw):
                layout = _layout(raw[0].tobytes())
                self._layouts.add((int(length), tuple(layout)))
                if len(self._layouts) > _MOST_LAYOUTS:
                    raise malformed(f"tcp.bin has more than {_MOST_LAYOUTS} layouts of messages")
                kept = np.ones(len(raw), np.bool_)
                for offset in (start - 4 + byte for _k, start, _s in layout for byte in range(4)):
                    kept &= raw[:, offset] == raw[0, offset]
                self._parts.append(self._rows(raw[kept], time_ns[kept], layout))
                raw, time_ns = raw[~kept], time_ns[~kept]

    def _rows(
        self, raw: npt.NDArray[np.uint8], time_ns: npt.NDArray[np.int64], layout: Layout
    ) -> npt.NDArray[np.void]:
        """Decode answers of one layout; return those of flows with one connection.

        Answers that belong to no flow, and those of listening sockets, are ignored.
        """
        flow, endpoint = ends(raw, _PORTS, self._ports)
        of_flows = (flow >= 0) & (raw[:, _STATE] != _LISTEN)
        raw, time_ns, flow, endpoint = (
            raw[of_flows],
            time_ns[of_flows],
            flow[of_flows],
            endpoint[of_flows],
        )
        out = np.zeros(len(raw), TCP_DTYPE)
        for name in ABSENT_COLUMNS:
            out[name] = ABSENT
        out["time_ns"], out["flow"], out["endpoint"] = time_ns, flow, endpoint
        queues = _view(raw, _QUEUES, np.dtype([("r", "<u4"), ("w", "<u4")]))
        out["rqueue_bytes"], out["wqueue_bytes"] = queues["r"], queues["w"]
        for kind, start, size in layout:
            if kind in (_INFO, _MEMORY):
                fields = _INFO_FIELDS if kind == _INFO else SKMEM_FIELDS
                values = _view(raw, start, _prefix(fields, size))
                for name in values.dtype.names or ():
                    if name == _ECN_BITS:
                        note_ecn_states(out, values[name])
                    else:
                        out[name] = values[name]
            elif kind == _NAME:
                if size > _MOST_NAME_BYTES:
                    raise malformed(f"tcp.bin has a congestion control's name of {size} bytes")
                self._note_names(out, raw[:, start : start + size])
            elif kind in _CONGESTION_KINDS:
                congestion, meaning = _CONGESTION_KINDS[kind]
                if size < congestion.itemsize:
                    raise malformed(f"tcp.bin has an attribute {kind} of {size} bytes")
                values = _view(raw, start, congestion)
                for slot, name in enumerate((congestion.names or ())[:CONGESTION_SLOTS]):
                    out[f"congestion_{slot}"] = values[name].astype(np.int64)
                self.congestion_fields.update(dict.fromkeys(np.unique(flow).tolist(), meaning))
        several = self._several[flow]
        if several.any():
            cookies = _view(raw, _COOKIE, np.dtype([("cookie", "<u8")]))["cookie"]
            self._connections.take(out[several], cookies[several])
        single: npt.NDArray[np.void] = out[~several]
        return single

    def _note_names(self, out: npt.NDArray[np.void], names: npt.NDArray[np.uint8]) -> None:
        """Keep the name of the congestion control of each flow's sender, as last reported."""
        endpoints: npt.NDArray[np.uint8] = out["endpoint"]
        senders = np.flatnonzero(endpoints == SENDER)[::-1]
        flows, last = np.unique(out["flow"][senders], return_index=True)
        for flow, position in zip(flows.tolist(), last.tolist(), strict=True):
            text = names[senders[position]].tobytes().rstrip(b"\0")
            self.congestion_names[flow] = plaintext.visible(text.decode(errors="replace"))


def _messages(data: bytes) -> tuple[npt.NDArray[np.int64], int]:
    """Return (time, place, length) of each netlink message about a whole socket, and the bytes of
    whole records in ``data``.

    Raises:
        BedError: a record or message has an impossible length.
    """
    messages: list[tuple[int, int, int]] = []
    offset, unpack = 0, _MESSAGE_HEAD.unpack_from
    while offset + TCP_HEAD.size <= len(data):
        time_ns, length = TCP_HEAD.unpack_from(data, offset)
        end = offset + TCP_HEAD.size + length
        if length > _MOST_RECORD_BYTES:
            raise malformed(f"tcp.bin has a record of {length} bytes")
        if end > len(data):
            break
        offset += TCP_HEAD.size
        while offset < end:
            if end - offset < _MESSAGE_HEAD_BYTES:
                raise malformed("tcp.bin has a record that ends in the middle of a message")
            length, kind = unpack(data, offset)
            if not _MESSAGE_HEAD_BYTES <= length <= min(end - offset, _MOST_MESSAGE_BYTES):
                raise malformed(f"tcp.bin has a message of {length} bytes at {time_ns} ns")
            if kind == _SOCK_DIAG_BY_FAMILY and length >= _LEAST_BYTES:
                messages.append((time_ns, offset, length))
            offset += (length + 3) & ~3
        offset = end
    return np.array(messages, np.int64).reshape(-1, 3), offset


def _layout(message: bytes) -> Layout:
    attributes: Layout = []
    offset = _DIAG + _DIAG_BYTES
    while offset + 4 <= len(message):
        length, kind = struct.unpack_from("<HH", message, offset)
        if length < 4:
            break
        if length > len(message) - offset or len(attributes) == _MOST_ATTRIBUTES:
            raise malformed("tcp.bin has a message with impossible attributes")
        attributes.append((kind & 0x3FFF, offset + 4, length - 4))
        offset += (length + 3) & ~3
    return attributes


@functools.cache
def _prefix(names: tuple[tuple[str, str], ...], size: int) -> np.dtype[np.void]:
    """Return the layout of the fields that a message has; older kernels have fewer fields."""
    fitting: list[tuple[str, str]] = []
    for name in names:
        if np.dtype([*fitting, name]).itemsize > size:
            break
        fitting.append(name)
    return np.dtype(fitting)


def _view(
    raw: npt.NDArray[np.uint8], start: int, layout: np.dtype[np.void]
) -> npt.NDArray[np.void]:
    part = np.ascontiguousarray(raw[:, start : start + layout.itemsize])
    return part.view(layout).reshape(-1)


def queue_samples(
    output: OutputFolder, statistics: Sequence[Sequence[Statistic]], header_bytes: Sequence[int]
) -> npt.NDArray[np.void]:
    """Return an array of QUEUE_DTYPE whose ``queue`` is the place in the bed's list.

    Args:
        output: where the bed wrote.
        statistics: of each qdisc in the bed's list; policers follow in that list.
        header_bytes: of each qdisc and policer, what to add to the bytes of each packet.
    """
    qdiscs, places = len(statistics), len(header_bytes)
    further = sum(len(statistic.words) for of_queue in statistics for statistic in of_queue)
    width = len(QUEUE_COUNTERS)
    layout = [("qdiscs", "<u4", (qdiscs, width)), ("further", "<u4", (further,)),
              ("policers", "<u4", (places - qdiscs, width))]  # fmt: skip
    rows = table(output, "queue.bin", np.dtype([("time_ns", "<i8"), *layout]))
    out = np.zeros((len(rows), places), QUEUE_DTYPE)
    out["time_ns"] = rows["time_ns"][:, None]
    out["queue"] = np.arange(places)[None, :]
    words = np.concatenate([rows["qdiscs"], rows["policers"]], axis=1).astype(np.int64)
    out["bytes"] = words[:, :, 0] | words[:, :, 1] << 32
    for number, name in enumerate(QUEUE_COUNTERS[2:], start=2):
        out[name] = words[:, :, number]
    added = np.array(header_bytes, np.int64)
    out["bytes"] += added * out["packets"]
    out["backlog_bytes"] += added * out["backlog_packets"]
    first = 0
    for number, of_queue in enumerate(statistics):
        for slot, statistic in enumerate(of_queue):
            last = first + len(statistic.words)
            values = rows["further"][:, first:last]
            total = values.astype(np.int32 if statistic.signed else np.int64).sum(1, np.int64)
            out[f"statistic_{slot}"][:, number] = total
            first = last
    return out.reshape(-1)


def datagrams(output: OutputFolder) -> npt.NDArray[np.void]:
    """Return an array of DATAGRAM_DTYPE, in the order of time and flow."""
    return _narrowed(output, "datagrams.bin", DATAGRAMS_FIELDS, DATAGRAM_DTYPE)


def transfers(output: OutputFolder) -> npt.NDArray[np.void]:
    """Return an array of TRANSFER_DTYPE, in the order of flow, start, end and size."""
    rows = _narrowed(output, "transfers.bin", TRANSFER_FIELDS, TRANSFER_DTYPE)
    # The same as np.sort(order=TRANSFER_FIELDS), which takes a hundred times as long.
    keys = [rows[name] for name in reversed(TRANSFER_FIELDS)]
    ordered: npt.NDArray[np.void] = rows[np.lexsort(keys)]
    return ordered


def sender_states(output: OutputFolder) -> npt.NDArray[np.void]:
    """Return an array of SENDER_STATE_DTYPE, in the order of time and flow."""
    rows = table(output, "senders.bin", _SENDER_STATES)
    if len(rows) and (int(rows["flow"].max()) >= 2**31 or int(rows["connection"].max()) >= 2**31):
        raise malformed(f"senders.bin has a row of flow {int(rows['flow'].max())}")
    ordered = rows[np.lexsort((rows["flow"], rows["time_ns"]))]
    return ordered.astype(SENDER_STATE_DTYPE)


def _narrowed(
    output: OutputFolder, file: str, names: tuple[str, ...], dtype: np.dtype[np.void]
) -> npt.NDArray[np.void]:
    """Return rows that were written as 64-bit integers."""
    rows = table(output, file, np.dtype([(name, "<i8") for name in names]))
    if len(rows) and not 0 <= int(rows["flow"].min()) <= int(rows["flow"].max()) < 2**31:
        raise malformed(f"{file} has a row of flow {int(rows['flow'].min())}")
    return rows.astype(dtype)


def table(output: OutputFolder, file: str, layout: np.dtype[np.void]) -> npt.NDArray[np.void]:
    """Return the rows of a file; BedError when its last one is not whole."""
    data = output.whole(file)
    if len(data) % layout.itemsize:
        raise BedError(f"{file} ends in the middle of a row: the test bed did not finish it")
    return np.frombuffer(data, layout)
