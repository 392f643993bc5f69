"""How often senders recovered, timed out, probed, took back reductions, or were told of marks.

Most are SNMP counters of the sender's host (/proc/net/netstat), the others fields of tcp_info or
counts of our module run_counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orchestrator.recording.counters import ECN_REACTIONS
from orchestrator.recording.model import SENDER
from results.metrics.base import RunData, Span, TableColumn, metric
from results.metrics.counters import counted, grown, namespaces
from results.metrics.retransmission import sent

_ECN = 8  # TCPI_OPT_ECN of include/uapi/linux/tcp.h


@metric("recoveries", unit="1", subject="flow", scopes=("run", "flow"))
def recoveries(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Number of times that senders entered fast recovery (RFC 6675, RFC 6582).

    The growth of TCPSackRecovery and TCPRenoRecovery of the sender's host. Of a flow None where
    another TCP flow has an end at this host; of a run the sum over the hosts. None of a run that
    was stored without counters.
    """
    return counted(data, flows, span, ("TCPSackRecovery", "TCPRenoRecovery"))


@metric(
    "timeouts",
    unit="1",
    subject="flow",
    scopes=("run", "flow"),
    columns=(TableColumn("tcp", 65, "timeouts", where_not_zero=True),),
)
def timeouts(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Retransmission timeouts (RFC 6298; RFC 4898 tcpEStatsStackTimeouts).

    The growth of TCPTimeouts of the sender's host. Those of SYNs count, too. Where several TCP
    flows share a host, a flow has its own tcpi_total_rto, if all of them together are what the host
    counted (Linux 6.7 and later). None otherwise, and of a run that was stored without counters.
    """
    known = counted(data, flows, span, _TIMEOUTS)
    return _of_sharing(data, flows, span) if known is None else known


_TIMEOUTS = ("TCPTimeouts",)


def _of_sharing(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Return the timeouts of flows by tcp_info, None where these are not those of their hosts."""
    chosen = {flow for flow in flows if data.flows[flow].transport == "tcp"}
    hosts = namespaces(data, chosen, ("source",))
    everyone = [index for index, flow in enumerate(data.flows) if flow.transport == "tcp"]
    sharing = [flow for flow in everyone if namespaces(data, {flow}, ("source",)) & hosts]
    if not hosts or len(sharing) == len(chosen):
        return None
    if any(np.isnan(data.tcp_columns(flow, SENDER)["total_rto"]).any() for flow in sharing):
        return None  # before Linux 6.7
    together = sent(data, sharing, span, "total_rto") or 0
    if together != grown(data, hosts, span, _TIMEOUTS):
        return None
    return sent(data, sorted(chosen), span, "total_rto") or 0


@metric("spurious_timeouts", unit="1", subject="flow", scopes=("run", "flow"))
def spurious_timeouts(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Timeouts that were found to be needless, so that their reduction was taken back.

    The growth of TCPLossUndo: by time stamps (RFC 3522) or F-RTO (RFC 5682). Timeouts in a row
    count once. None as of `recoveries`.
    """
    return counted(data, flows, span, ("TCPLossUndo",))


@metric("tail_loss_probes", unit="1", subject="flow", scopes=("run", "flow"))
def tail_loss_probes(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Tail loss probes that were sent (RFC 8985 section 7): the growth of TCPLossProbes.

    None as of `recoveries`.
    """
    return counted(data, flows, span, ("TCPLossProbes",))


@metric("lost_retransmissions", unit="1", subject="flow", scopes=("run", "flow"))
def lost_retransmissions(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Retransmissions that were taken for lost, too: the growth of TCPLostRetransmit.

    None as of `recoveries`.
    """
    return counted(data, flows, span, ("TCPLostRetransmit",))


@metric("spurious_retransmissions", unit="1", subject="flow", scopes=("run", "flow"))
def spurious_retransmissions(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Segments that came twice, as the receiver reported by DSACK (RFC 2883): growth of dsack_dups.

    RFC 4898 tcpEStatsStackDSACKDups; RFC 3708. Copies that the network made count, too. 0 without
    SACK or DSACK, because nothing is reported then.
    """
    return sent(data, flows, span, "dsack_dups")


@metric("reorderings", unit="1", subject="flow", scopes=("run", "flow"))
def reorderings(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Number of times that a sender saw reordering: the growth of tcpi_reord_seen."""
    return sent(data, flows, span, "reord_seen")


@metric("undos", unit="1", subject="flow", scopes=("run", "flow"))
def undos(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Reductions of the window that were taken back, in whole or in part, as needless (RFC 4015).

    The growth of TCPFullUndo, TCPPartialUndo, TCPDSACKUndo and TCPLossUndo. None as of
    `recoveries`.
    """
    return counted(
        data, flows, span, ("TCPFullUndo", "TCPPartialUndo", "TCPLossUndo", "TCPDSACKUndo")
    )


@metric("hystart_exits", unit="1", subject="flow", scopes=("run", "flow"), title="HyStart exits")
def hystart_exits(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Slow starts that HyStart ended, by a train of ACKs or by a grown RTT.

    The growth of TCPHystartTrainDetect and TCPHystartDelayDetect (net/ipv4/tcp_cubic.c; S. Ha, I.
    Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55 (2011)). None as of
    `recoveries`.
    """
    return counted(data, flows, span, ("TCPHystartTrainDetect", "TCPHystartDelayDetect"))


@metric(
    "hystart_exit_cwnd_segments",
    unit="segments",
    subject="flow",
    scopes=("run", "flow"),
    title="cwnd at HyStart's exit",
)
def hystart_exit_cwnd_segments(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean congestion window at which HyStart ended slow start.

    The growth of TCPHystartTrainCwnd and TCPHystartDelayCwnd / `hystart_exits`. None without an
    exit, and as of `recoveries`.
    """
    exits = hystart_exits(data, flows, span)
    windows = counted(data, flows, span, ("TCPHystartTrainCwnd", "TCPHystartDelayCwnd"))
    return windows / exits if exits and windows is not None else None


@metric(
    "ecn_marked_segments",
    unit="segments",
    subject="flow",
    scopes=("run", "flow"),
    title="ECN marked segments",
)
def ecn_marked_segments(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Delivered segments whose ACKs echoed a mark (RFC 3168): the growth of tcpi_delivered_ce.

    With DCTCP and AccECN they are those that were marked. With the ECN of RFC 3168 all segments
    count that are acknowledged until the sender has reacted.
    """
    return sent(data, flows, span, "delivered_ce_segments")


@metric("ecn_reactions", unit="1", subject="flow", scopes=("run", "flow"), title="ECN reactions")
def ecn_reactions(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Reductions of the window because marks were echoed, at most one a round trip (RFC 3168).

    0 where no connection negotiated ECN. Else the growth of EcnReactions of the sender's host,
    which our module run_counts counts. None where that is not loaded, and as of `recoveries`.
    """
    series = [data.tcp_columns(flow, SENDER) for flow in flows]
    options = [columns["options"] for columns in series if len(columns["time_ns"])]
    if options and not any(np.any(negotiated & _ECN) for negotiated in options):
        return 0
    return counted(data, flows, span, (ECN_REACTIONS,))


@metric("receiver_drops_segments", unit="segments", subject="flow", scopes=("run", "flow"))
def receiver_drops_segments(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Segments that the receiver's host dropped, because its buffers were full or beyond a window.

    The growth of TCPRcvQDrop, TCPOFODrop, TCPBacklogDrop and TCPZeroWindowDrop there. Of a flow
    None where another TCP flow has an end at the receiver's host.
    """
    names = ("TCPRcvQDrop", "TCPOFODrop", "TCPBacklogDrop", "TCPZeroWindowDrop")
    return counted(data, flows, span, names, ("sink",))


@metric(
    "paws_drops_segments",
    unit="segments",
    subject="flow",
    scopes=("run", "flow"),
    title="PAWS drops",
)
def paws_drops_segments(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Segments and ACKs that hosts dropped for an old time stamp (PAWS, RFC 7323 section 5).

    The growth of PAWSEstab of the sender's and the receiver's host. Of a flow None where another
    TCP flow has an end at one of them.
    """
    return counted(data, flows, span, ("PAWSEstab",), ("source", "sink"))
