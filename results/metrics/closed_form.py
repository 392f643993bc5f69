"""Throughput of a flow divided by the closed forms for Reno and Westwood+.

Both forms are fixed points of dW/dt for a window W, a round-trip time T, and single losses of
segments with probability p. An acknowledged segment adds 1/W to the window. A lost one takes away
W/2 (Reno) or W - B RTTmin (Westwood+), whose estimate B is W/T. So (1 - p)/W = p W/2 and (1 - p)/W
= p W Tq/T, with Tq = T - RTTmin, and W/T is the form.

Such means are a little high. Let losses be those of a Poisson process, and let each cut W to b W.
Then W^2/2 just before a loss is (1/p) sum b^(2k) E_k, with E_k exponential of mean 1. And W/T =
sqrt(2/p) over the mean of (sum b^(2k) E_k)^(-1/2). For Reno that is 1.308 instead of 1.414 over
sqrt(p), a ratio of 0.926 (T. Ott, J. Kemperman, M. Mathis, "The stationary behavior of ideal TCP
congestion avoidance", 1996). For Westwood+ the ratio is 0.95 at RTTmin/T = 0.65. Where one
acknowledgement for b segments counts once, the window grows by 1/(b W) a segment: the ratio falls
by sqrt(b).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from results.metrics.base import RunData, Span, metric
from results.metrics.loss import flow_loss_ratio
from results.metrics.retransmission import sent
from results.metrics.rtt import kernel_minima_us, rtt_mean


@metric("reno_form_ratio", unit="1", subject="flow", scopes=("flow",))
def reno_form_ratio(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Throughput / ((1/RTT) sqrt(2 (1 - p) / p)), in delivered segments per second.

    L. Grieco, S. Mascolo, ACM CCR 34(2), 2004, eq. (2); compare RFC 5348 section 3.1, whose form
    allows for timeouts. p and RTT are the flow's loss_ratio and rtt_mean_s. Independent losses make
    it 0.926, for a window that grows by acknowledged segments. None without loss.
    """
    odds, rtt_s = _odds_of_loss(data, flows, span), rtt_mean(data, flows, span)
    rate = _segments_per_s(data, flows, span)
    if odds is None or rtt_s is None or rate is None:
        return None
    return rate * rtt_s * math.sqrt(odds / 2)


@metric("westwood_form_ratio", unit="1", subject="flow", scopes=("flow",))
def westwood_form_ratio(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Throughput / ((1/sqrt(RTT Tq)) sqrt((1 - p) / p)), in delivered segments per second.

    L. Grieco, S. Mascolo, ACM CCR 34(2), 2004, eq. (3). p and RTT are the flow's loss_ratio and
    rtt_mean_s. Tq is RTT less the smallest tcpi_min_rtt of the flow until the span's end, the
    RTTmin that a sender knows. The form is unbounded where Tq is nearly zero, so it is only valid
    for flows through a standing queue. None without loss.
    """
    odds, rtt_s = _odds_of_loss(data, flows, span), rtt_mean(data, flows, span)
    least_s, rate = _least_rtt_s(data, flows[0], span), _segments_per_s(data, flows, span)
    if odds is None or rtt_s is None or least_s is None or rate is None:
        return None
    return rate * math.sqrt(rtt_s * max(rtt_s - least_s, 0.0) * odds)


def _odds_of_loss(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Return p / (1 - p), None where nothing was lost."""
    loss = flow_loss_ratio(data, flows, span)
    return loss / (1 - loss) if loss and loss < 1 else None


def _least_rtt_s(data: RunData, flow: int, span: Span) -> float | None:
    known_us = kernel_minima_us(data, flow, Span(0.0, span.to_s))
    return int(known_us.min()) / 1e6 if len(known_us) else None


def _segments_per_s(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    delivered = sent(data, flows, span, "delivered_segments")
    return delivered / span.length_s if delivered else None
