"""Users' programs on the hosts of a lab: five hosts inside the guest's kernel, in real time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from guest.build import GuestKernel
from tests.lab.in_guest import after
from tests.lab.inside import NEED_COUNTS

pytestmark = [pytest.mark.guest, pytest.mark.long]


@pytest.fixture(scope="module")
def results(kernel: GuestKernel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return after(kernel, tmp_path_factory.mktemp("lab"), *NEED_COUNTS)


def test_programs_run_at_both_ends_and_leave_nothing(results: dict[str, Any]) -> None:
    found = results["programs"]
    (run,) = found["runs"]
    assert run["status"] == "ok", run["error"]
    assert (found["left"], run["backend"]) == ([], "lab")
    assert [flow["name"] for flow in run["flows"]] == ["page[0]", "page[1]"]
    for flow in run["flows"]:
        assert (flow["outcome"], flow["exit_status"], flow["connections"]) == ("ended", 0, 1)
        # 600 kB of both at 5 Mbit/s.
        assert 0.4 < flow["completion_time_s"] < 30
        assert 0 < flow["program_page_s"] <= flow["completion_time_s"]
        assert flow["congestion_control"] == "cubic"
        assert (flow["udp_sent_packets"], flow["udp_received_packets"]) == (0, 0)
        assert flow["udp_reverse_sent_packets"] == flow["udp_reverse_received_packets"] == 20
        assert flow["udp_reverse_sent_bytes"] == 2000
    kept = [(one["flow"], one["role"], one["name"], one["size_bytes"]) for one in run["kept_files"]]
    assert kept == [(flow, "client", "page", 300_000) for flow in ("page[0]", "page[1]")]
    ended = [(one["flow"], one["role"], one["ended_by"]) for one in run["programs"]]
    assert ended == [
        (flow, *end)
        for flow in ("page[0]", "page[1]")
        for end in (("server", "stopped"), ("client", "ended"))
    ]


def test_programs_of_a_lab_have_to_be_allowed(results: dict[str, Any]) -> None:
    refused = results["programs"]["refused"]
    assert (refused["status"], refused["runs"], refused["left"]) == (2, [], [])
    assert "give --allow-programs if you trust the scenario" in refused["said"]
    assert "with lab they see the files of its hosts" in refused["said"]


def test_a_port_of_a_server_that_is_in_use_is_told_with_its_host(results: dict[str, Any]) -> None:
    busy = results["programs"]["busy"]
    assert (busy["status"], busy["runs"], busy["left"]) == (4, [], [])
    rows = [line for line in busy["said"].splitlines() if "in use" in line]
    assert [row.split()[0] for row in rows] == ["sender2"], busy["said"]
    assert "ports of flows are in use: 8000" in rows[0]


def test_programs_end_with_the_agent_that_started_them(results: dict[str, Any]) -> None:
    found = results["lost_programs"]
    assert found["left"] == [], json.dumps(found["left"])
    # The server's shell has become Python, beside its child; and a shell and curl at the other.
    assert found["users"] == [20_000, 20_000, 20_001, 20_001]
    (run,) = found["runs"]
    assert (found["status"], run["status"]) == (1, "failed")
    assert run["error"].startswith("lost host sender1 (root@10.231."), run["error"]
