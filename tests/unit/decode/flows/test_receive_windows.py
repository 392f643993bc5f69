"""Which samples of a sender show the largest window of a receiver with a limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orchestrator.decode.flows.receive_windows import receive_windows
from orchestrator.planning.plan import plan
from orchestrator.recording.model import SENDER, TCP_DTYPE
from orchestrator.scenario import load

SCENARIO = Path(__file__).resolve().parents[4] / "scenarios" / "tutorial" / "64-window-limited.yaml"
LIMIT_BYTES = 64 * 1448
BUFFER_BYTES = 4 * LIMIT_BYTES


def largest(
    windows: dict[int, int], *overrides: str, sacked: int = 0, resent: int = 0
) -> int | None:
    """Return the largest window of the first flow.

    ``windows`` has the advertised window by the number of acknowledged bytes.
    """
    (run,) = plan(load(SCENARIO, overrides)).runs
    rows = np.zeros(len(windows), TCP_DTYPE)
    rows["endpoint"], rows["time_ns"] = SENDER, 100_000_000 * np.arange(len(windows))
    rows["bytes_acked"], rows["snd_wnd_bytes"] = [*windows], [*windows.values()]
    rows["sacked_segments"][:1], rows["total_retrans_segments"] = sacked, resent
    found = dict(receive_windows(run, rows))
    if not found:
        return None
    ((requested, advertised),) = found.values()
    assert requested == LIMIT_BYTES
    return advertised


EARLY = {1: 2 * LIMIT_BYTES, BUFFER_BYTES + 1: LIMIT_BYTES}
LATE = {1: LIMIT_BYTES, BUFFER_BYTES + 1: 2 * LIMIT_BYTES}
DISORDER = (
    "topology.bottleneck.jitter={spread: 2ms, keep_order: true}",
    "topology.bottleneck.reordering={forward: 1%}",
    "events=[{at: 1s, link: bottleneck, jitter: 2ms}]",
)


def test_without_disorder_every_sample_counts() -> None:
    assert largest(EARLY) == largest(LATE) == 2 * LIMIT_BYTES


@pytest.mark.parametrize(("sacked", "resent"), [(1, 0), (0, 1)])
def test_after_disorder_at_its_start_a_connection_counts_from_a_buffer_on(
    sacked: int, resent: int
) -> None:
    assert largest(EARLY, sacked=sacked, resent=resent) == LIMIT_BYTES
    assert largest(LATE, sacked=sacked, resent=resent) == 2 * LIMIT_BYTES
    assert largest({1: 2 * LIMIT_BYTES}, sacked=sacked, resent=resent) is None


@pytest.mark.parametrize("setting", DISORDER)
def test_so_it_is_on_a_path_that_delivers_several_segments_at_a_time(setting: str) -> None:
    assert largest(EARLY, setting) == LIMIT_BYTES
    assert largest(LATE, setting) == 2 * LIMIT_BYTES


def test_jitter_of_the_acks_alone_excuses_nothing() -> None:
    assert largest(EARLY, "topology.bottleneck.jitter={reverse: 2ms}") == 2 * LIMIT_BYTES
