"""Text as ``ss -tinH`` prints it: the state of a host's connections after each ACK and timer.

The fields have the names and the forms of iproute2's misc/ss.c. Those that a trace does not have
are left out, as ss leaves out what a kernel does not tell. The queues of the socket are ``-``.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator import plaintext
from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.trace import Trace
from results.export.base import trace_format
from results.store.stored import StoredRun
from results.traces.choice import TraceChoice, trace_with
from results.traces.hosts import ends_at
from results.traces.own_variables import BBR, BBR_UNIT, DCTCP, VEGAS, of_state

_STATES = (
    "UNKNOWN", "ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT", "UNCONN",
    "CLOSE-WAIT", "LAST-ACK", "LISTEN", "CLOSING",
)  # fmt: skip
"""By the numbers of include/net/tcp_states.h."""
_ESTABLISHED = 1
_NOT_KNOWN = "-"

_INFINITE_SSTHRESH = 0xFFFF
"""ss prints no ssthresh from here on."""
_UNSET_RTO_US = 3_000_000
_USUAL_REORDERING = 3
"""Values that ss does not print."""

_NO_VEGAS_RTT = 0x7FFFFFFF


@trace_format("ss", at_places=True)
def write(run: StoredRun, paths: Sequence[Path], choice: TraceChoice) -> None:
    """FILE.ss: the connections of the host ``--at HOST`` as `ss -tin` prints them.

    There is a block for each ACK and each timer: seconds since the start of traffic, and the two
    lines of the connection after it.
    """
    head = trace_with(run, choice.number, "acks")
    trace = run.trace(head.number, ("ends", "acks", "events"))
    ends = ends_at(run, trace, choice.place)
    with paths[0].open("x", encoding="ascii", errors="backslashreplace") as file:
        file.writelines(_blocks(trace, ends))


def snapshots(
    trace: Trace,
    ends: Sequence[int],
    period_ns: int,
    memory: Callable[[int, int], str],
) -> Iterator[str]:
    """Yield the connections of ends as they are after each period, as :func:`write` prints them.

    A block is of the last ACK or timer of a connection within a period; one that had none in it is
    left out there. ``memory`` returns the text of a flow's socket memory at a time in ns.
    """
    acks = trace.tables["acks"]
    of_ends = np.isin(acks["end"], ends)
    place = acks["time_ns"] // period_ns * (int(acks["end"].max(initial=0)) + 1) + acks["end"]
    _places, from_last = np.unique(place[of_ends][::-1], return_index=True)
    chosen = np.zeros(len(acks), dtype=bool)
    chosen[np.flatnonzero(of_ends)[::-1][from_last]] = True

    def of_end(end: Mapping[str, Any], time_ns: int) -> str:
        return memory(int(end["flow"]), -(-time_ns // period_ns) * period_ns)

    yield from _blocks(trace, ends, chosen, of_end)


def _blocks(
    trace: Trace,
    ends: Sequence[int],
    only: Any = True,
    memory: Callable[[Any, int], str] = lambda _end, _time_ns: "",
) -> Iterator[str]:
    acks = trace.tables["acks"]
    known = {int(row["end"]): row for row in trace.tables["ends"]}
    chosen = acks[np.isin(acks["end"], ends) & only]
    states = _states(trace, chosen)
    names = chosen.dtype.names or ()
    for values, state in zip(chosen.tolist(), states, strict=True):
        row = dict(zip(names, values, strict=True))
        end, time_ns = known[row["end"]], row["time_ns"]
        pair = " ".join(
            f"{socket.inet_ntoa(int(end[address]).to_bytes(4, 'little'))}:{end[port]}"
            for address, port in (("address", "port"), ("peer_address", "peer_port"))
        )
        name = plaintext.one_line(bytes(end["congestion"]).decode("ascii", "replace"))
        yield f"{time_ns // 10**9}.{time_ns % 10**9:09}\n"
        said = memory(end, time_ns) + " ".join(fields(name, row))
        yield f"{state} {_NOT_KNOWN} {_NOT_KNOWN} {pair}\n\t {said}\n"


def _states(trace: Trace, rows: Any) -> list[str]:
    """Return the TCP state of the end of each row.

    Before the first change in the trace it is the one that this change leaves. An end without any
    is taken for established.
    """
    events = trace.tables["events"]
    changes = events[events["what"] == records.TCP_STATE]
    made = np.full(len(rows), _ESTABLISHED)
    for end in np.unique(rows["end"]).tolist():
        own, mask = changes[changes["end"] == end], rows["end"] == end
        if len(own):
            after = np.concatenate([own["before"][:1], own["value"]])
            made[mask] = after[np.searchsorted(own["time_ns"], rows["time_ns"][mask], "right")]
    return [_STATES[number if number < len(_STATES) else 0] for number in made.tolist()]


def fields(congestion: str, row: Mapping[str, Any]) -> Iterator[str]:
    """Yield what ss prints of a state, in its order.

    Args:
        congestion: the name of the congestion control.
        row: values by the names of a row of ``acks``.
    """
    yield congestion
    if (rto_us := row["rto_us"]) not in (0, _UNSET_RTO_US):
        yield f"rto:{rto_us / 1000:g}"
    if backoff := row["backoff"]:
        yield f"backoff:{backoff}"
    srtt_us, mss_bytes, cwnd = (row[name] for name in ("srtt_us", "mss_bytes", "cwnd_segments"))
    if srtt_us:
        yield f"rtt:{srtt_us / 1000:g}/{row['rttvar_us'] / 1000:g}"
    if mss_bytes:
        yield f"mss:{mss_bytes}"
    if cwnd:
        yield f"cwnd:{cwnd}"
    if 0 < (ssthresh := row["ssthresh_segments"]) < _INFINITE_SSTHRESH:
        yield f"ssthresh:{ssthresh}"
    kind = row["info_kind"]
    own = of_state(kind, bytes(row["info"])[: row["info_bytes"]])
    yield from _own(kind, own)
    rtt_us = (_vegas_rtt_us(own) if kind == VEGAS else 0) or srtt_us
    if rtt_us and mss_bytes and cwnd:
        yield f"send {cwnd * mss_bytes * 8 * 1e6 / rtt_us:.0f}bps"
    if (pacing := row["pacing_rate_bytes_per_s"]) and pacing != 2**64 - 1:  # without pacing
        yield f"pacing_rate {pacing * 8.0:.0f}bps"
    yield from _counts(row)


def _counts(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the counts of a state that are not zero."""

    def count(name: str, column: str) -> Iterator[str]:
        if value := row[column]:
            yield f"{name}:{value}"

    yield from count("delivered", "delivered_segments")
    yield from count("delivered_ce", "delivered_ce_segments")
    yield from count("unacked", "packets_out_segments")
    out, total = row["retrans_out_segments"], row["total_retrans_segments"]
    if out or total:
        yield f"retrans:{out}/{total}"
    yield from count("lost", "lost_out_segments")
    yield from count("sacked", "sacked_segments")
    if row["reordering_segments"] != _USUAL_REORDERING:
        yield f"reordering:{row['reordering_segments']}"
    if (min_rtt_us := row["min_rtt_us"]) not in (0, 2**32 - 1):
        yield f"minrtt:{min_rtt_us / 1000:g}"
    yield from count("snd_wnd", "snd_wnd_bytes")


def _own(kind: int, own: Mapping[str, int]) -> Iterator[str]:
    """Yield the algorithm's own values, of those that ss knows."""
    if kind == DCTCP and own:
        yield (
            f"dctcp:(ce_state:{own['dctcp_ce_state']},alpha:{own['dctcp_alpha']},"
            f"ab_ecn:{own['dctcp_marked_bytes']},ab_tot:{own['dctcp_total_bytes']})"
            if own["dctcp_enabled"]
            else "dctcp:fallback_mode"
        )
    if kind == BBR and own:
        shown = [
            f"bw:{own['estimate_bytes_per_s'] * 8.0:.0f}bps",
            f"mrtt:{own['own_min_rtt_us'] / 1000:g}",
        ]
        for name in ("pacing_gain", "cwnd_gain"):
            if gain := own[f"bbr_{name}"]:
                shown.append(f"{name}:{gain / BBR_UNIT:g}")
        yield f"bbr:({','.join(shown)})"


def _vegas_rtt_us(own: Mapping[str, int]) -> int:
    """Return the RTT by which ss computes the rate ``send`` of Vegas and its like, 0 for none."""
    rtt_us = own["vegas_rtt_us"] if own and own["vegas_enabled"] else 0
    return rtt_us if rtt_us < _NO_VEGAS_RTT else 0
