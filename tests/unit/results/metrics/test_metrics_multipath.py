"""Metrics of Multipath TCP, counted by hand: a connection of two subflows beside a plain flow."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.protocol.reports.multipath_facts import COUNTERS
from orchestrator.recording.multipath import PROVENANCE, Connection, document
from results import metrics
from results.records.model import WHOLE
from tests.support.metrics_flows import Data, receiver, sender
from tests.support.recordings import PROVENANCE as OTHERS
from tests.support.recordings import flow


def counters(**values: int) -> tuple[int, ...]:
    return tuple(values.get(name, 0) for name in COUNTERS)


CONNECTION = Connection(
    ("phone-wifi", "phone-lte"),
    (0, 2_000_000_000, 5_000_000_000, 10_000_000_000),
    (
        counters(),
        counters(sent_bytes=1_000, subflows=2),
        counters(sent_bytes=4_000, subflows=2),
        counters(sent_bytes=9_000, subflows=1),
    ),
    (
        counters(),
        counters(received_bytes=800),
        counters(received_bytes=3_800),
        counters(received_bytes=8_800),
    ),
)


def rows(number: int, *sizes: int) -> list[dict[str, Any]]:
    """Return samples of both ends at 0, 2, 5 and 10 s; the senders have 100 bytes to send."""
    made = []
    for time_s, size in zip((0.0, 2.0, 5.0, 10.0), sizes, strict=True):
        sent = {"bytes_sent": size + 10, "bytes_retrans": 10, "notsent_bytes": 100 * (size > 0)}
        made += [
            {"flow": number, **sender(time_s, state=1, **sent)},
            {"flow": number, **receiver(time_s, size, state=1)},
        ]
    return made


def test_a_connection_is_summed_over_its_subflows() -> None:
    flows = [flow("phone-wifi"), flow("phone-lte"), flow("tcp")]
    samples = [*rows(0, 0, 600, 2_400, 7_400), *rows(1, 0, 200, 1_400, 3_000), *rows(2, 0, 1, 1, 1)]
    provenance = {**OTHERS, PROVENANCE: document({"phone": CONNECTION})}
    whole = metrics.compute(Data(samples, flows=flows, provenance=provenance))[WHOLE]
    wifi, lte, plain = whole.flows
    for each in (wifi, lte):
        assert each["mptcp_goodput_bps"] == (8_800 - 800) * 8 / 8
        assert each["mptcp_subflows"] == 1
        # 6800 and 2800 bytes are queued, and 8000 are new.
        assert each["mptcp_reinjected_bytes"] == 6_800 + 2_800 - 8_000
    assert wifi["mptcp_share"] == pytest.approx(6_800 / 9_600)
    assert lte["mptcp_share"] == pytest.approx(2_800 / 9_600)
    names = ("goodput_bps", "share", "subflows", "reinjected_bytes")
    assert [plain[f"mptcp_{name}"] for name in names] == [None] * 4
    # One connection of 9600 bytes, and a flow of none.
    assert whole.run["jain_index"] == pytest.approx(1 / 2)
    assert wifi["jain_index_entry"] is None


def test_a_time_at_whose_edges_nothing_was_read_has_no_value_of_the_connection() -> None:
    provenance = {**OTHERS, PROVENANCE: document({"phone": CONNECTION})}
    data = Data(rows(0, 0, 1, 2, 3), flows=[flow("phone-wifi")], provenance=provenance)
    whole = metrics.METRICS["mptcp_goodput_bps", "flow"].function
    assert whole(data, [0], metrics.Span(2.0, 5.0)) == 8_000
    assert whole(data, [0], metrics.Span(2.0, 4.0)) is None
