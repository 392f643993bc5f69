"""Finds the largest receive windows of flows whose windows the scenario limits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from orchestrator.planning.runspec import PlannedFlow, RunSpec
from orchestrator.protocol.sampling_schedule import DIGEST_NS
from orchestrator.recording.model import SENDER

_BUFFER_WINDOWS = 4
"""Size of the receive buffer of a flow with a limited window, in such windows; see limit_window()
of testbed/traffic/sockets.py. The kernel doubles the value that is set there."""


def receive_windows(
    spec: RunSpec, tcp: npt.NDArray[np.void]
) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield (name, (requested, largest advertised window in bytes)) of each flow with a limit.

    Samples of the digest's times count, so the windows do not depend on the sampling period.
    """
    regular = tcp["time_ns"] % DIGEST_NS == 0
    for number, flow in enumerate(spec.flows):
        limit_bytes = flow.traffic_parameters.get("window_bytes")
        if limit_bytes is not None:
            samples = tcp[(tcp["flow"] == number) & (tcp["endpoint"] == SENDER) & regular]
            if flow.connections == "one":
                samples = _limited(samples, limit_bytes, _delivers_at_once(spec, flow))
            windows = samples["snd_wnd_bytes"]
            if windows.any():
                yield flow.name, (limit_bytes, int(windows.max()))


def _limited(
    samples: npt.NDArray[np.void], limit_bytes: int, at_once: bool
) -> npt.NDArray[np.void]:
    """Return the samples of one connection in which its window has to be within the limit.

    At the first full segment the kernel drops the limit. The receiver sets it again when it reads
    (testbed/traffic/sockets.py). It reads too late if more segments come ``at_once``, or if the
    first one is lost or late. The window then grows, up to the receive buffer at most. When as many
    bytes have been acknowledged, nothing of that is left.
    """
    begins = samples["bytes_acked"] <= _BUFFER_WINDOWS * limit_bytes
    early = samples[begins]
    if at_once or early["sacked_segments"].any() or early["total_retrans_segments"].any():
        settled: npt.NDArray[np.void] = samples[~begins]
        return settled
    return samples


def _delivers_at_once(spec: RunSpec, flow: PlannedFlow) -> bool:
    """Tell whether a channel of the flow may deliver several segments at a time, or reorders."""
    if spec.network.spray:
        return True
    changed = [state for event in spec.events for state in event.channels.items()]
    states = [(hop.name, hop.channel) for hop in spec.network.path(flow.source, flow.sink)]
    states += [(name, state.channel) for name, state in changed if name in flow.path]
    return any(
        channel.jitter is not None or channel.reordering is not None or channel.rate_varies
        for _name, channel in states
    )
