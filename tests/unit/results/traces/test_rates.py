"""What a flow achieved in a window, and how much of its time was pacing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from results.metrics import METRICS, Span, in_parts
from results.store.store import Store
from results.traces.stories.pacing import paced_share
from results.traces.stories.rates import rates
from results.traces.view import TraceView
from tests.support.recordings import head, whole
from tests.support.traced_senders import Row, acked, sender_trace

MS = 1_000_000
MSS_BYTES, SRTT_US, CWND = 1000, 20_000, 40
LINUX = CWND * MSS_BYTES * 1_000_000 // SRTT_US
"""cwnd / srtt in bytes/s, whose 1.2 and 2 times are Linux's own pacing rates."""
View = Callable[[Sequence[Row]], TraceView]


@pytest.fixture
def view(tmp_path: Path) -> Iterator[View]:
    with Store(tmp_path / "runs.db") as store:
        run_id = store.begin(head())
        recorded = whole()
        recorded.provenance["sysctls"] = {"every_host": {}, "hosts": {}}
        store.finish(run_id, recorded, 1.0)
        yield lambda rows: TraceView(store.load(run_id), sender_trace(rows))


def state(time_ms: int, **values: int) -> Row:
    """A state of a busy sender that has room for 20 segments, and has sent since the last one."""
    usual = {"mss_bytes": MSS_BYTES, "srtt_us": SRTT_US, "limited_by": 1, "snd_nxt": time_ms * 1000,
             "cwnd_segments": CWND, "packets_out_segments": CWND // 2,
             "pacing_rate_bytes_per_s": LINUX // 2}  # fmt: skip
    return acked(time_ms * MS, **(usual | values))


@pytest.mark.parametrize(
    ("changed", "share"),
    [
        ({}, 1.0),
        ({"pacing_rate_bytes_per_s": LINUX * 12 // 10}, 0.0),
        ({"pacing_rate_bytes_per_s": LINUX * 2}, 0.0),
        ({"pacing_rate_bytes_per_s": 2**64 - 1}, 0.0),
        ({"packets_out_segments": CWND - 2}, 0.0),
        ({"packets_out_segments": CWND - 3}, 1.0),
        ({"packets_out_segments": CWND, "sacked_segments": 2, "lost_out_segments": 2}, 1.0),
        ({"packets_out_segments": CWND, "sacked_segments": 3, "retrans_out_segments": 1}, 0.0),
        ({"snd_nxt": 7}, 0.0),
        ({"app_limited": 1}, 0.0),
        ({"limited_by": 2}, None),
    ],
)
def test_pacing_is_told_by_room_in_the_window_and_a_rate_of_its_own(
    view: View, changed: dict[str, int], share: float | None
) -> None:
    rows = [state(time, **changed) for time in range(0, 100, 10)]
    assert paced_share(view(rows), 0, (0, 10**9)) == share


def test_the_share_is_of_the_busy_time_in_the_window(view: View) -> None:
    full = {"packets_out_segments": CWND}
    rows = [state(0), state(10, **full), state(40, limited_by=0), state(80), state(100)]
    assert paced_share(view(rows), 0, (0, 10**9)) == pytest.approx(30 / 60)
    assert paced_share(view(rows), 0, (20 * MS, 90 * MS)) == pytest.approx(10 / 30)


def test_linux_s_ratios_are_those_of_the_run(view: View) -> None:
    of = view([state(time) for time in (0, 10)])
    assert paced_share(of, 0, (0, 10**9)) == 1.0
    of.run.provenance["sysctls"]["every_host"]["net.ipv4.tcp_pacing_ca_ratio"] = "50"
    assert paced_share(of, 0, (0, 10**9)) == 0.0


def test_the_window_is_a_mean_over_time(view: View) -> None:
    rows = [state(0, cwnd_segments=10), state(30, cwnd_segments=20), state(40, cwnd_segments=99)]
    of = view(rows)
    assert rates(of, 0, (0, 10**10)).cwnd_mean_segments == pytest.approx((30 * 10 + 10 * 20) / 40)
    assert rates(of, 0, (20 * MS, 40 * MS)).cwnd_mean_segments == pytest.approx(15)
    assert rates(of, 0, (50 * MS, 60 * MS)).cwnd_mean_segments is None


def test_goodput_is_that_of_the_metric_and_even_between_samples(view: View) -> None:
    of = view([])
    (whole_bps,) = in_parts(of.run, METRICS["goodput_bps", "flow"], 0, Span(0.0, 10.0), 1)
    whole = rates(of, 0, (0, 10**10))
    assert whole.goodput_bps == pytest.approx(whole_bps)
    assert whole.cwnd_mean_segments is None
    assert whole_bps > 0
    # It has read 1000 bytes at 2 s, and 1 MB more at 10 s.
    assert rates(of, 0, (2 * 10**9, 6 * 10**9)).goodput_bps == pytest.approx(1e6)
    assert rates(of, 0, (10**9, 2 * 10**9)).goodput_bps == pytest.approx(8000)
    assert rates(of, 0, (0, 10**9)).goodput_bps == 0
