"""Connections of Multipath TCP from what a test bed reports, which may be anything."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.decode import fact_schema
from orchestrator.decode.flows.multipath_reports import multipath_connections
from orchestrator.errors import BedError
from orchestrator.planning.runspec import Subflow
from orchestrator.recording.multipath import Connection

EDGES_NS = (0, 2_000_000_000, 5_000_000_000)


def run() -> Any:
    """Return a planned run of 5 s with 2 s of warm-up, a connection of two subflows, and a flow."""
    names = ("phone-wifi", "phone-lte")
    flows = [
        SimpleNamespace(name=name, subflow=Subflow("phone", number, 5001, False, {}))
        for number, name in enumerate(names)
    ]
    return SimpleNamespace(
        flows=[*flows, SimpleNamespace(name="tcp", subflow=None)],
        warmup_s=2.0,
        windows=(SimpleNamespace(from_s=2.0, to_s=5.0),),
        duration_s=5.0,
    )


def counters(time_ns: int, flow: str = "phone-wifi", **more: Any) -> dict[str, Any]:
    """Return the fact of a connection's counters at a time."""
    values = [0, 0, time_ns // 1000, time_ns // 1000, 0, 2]
    ends = {"sender": values, "receiver": values}
    return {"fact": "multipath", "flow": flow, "time_ns": time_ns, **ends, **more}


def state(flow: str = "phone-lte", flags: object = 0x1CC) -> dict[str, Any]:
    """Return the fact of a subflow's flags."""
    return {"fact": "subflow", "flow": flow, "time_ns": 0, "flags": flags}


WHOLE = [counters(time_ns) for time_ns in EDGES_NS]


def test_counters_of_all_edges_make_a_connection() -> None:
    rows = tuple((0, 0, time_ns // 1000, time_ns // 1000, 0, 2) for time_ns in EDGES_NS)
    made = multipath_connections(run(), [*WHOLE, state(), state(flags=None)])
    assert made == {"phone": Connection(("phone-wifi", "phone-lte"), EDGES_NS, rows, rows)}
    assert all(fact_schema.problem(fact) is None for fact in [*WHOLE, state(), state(flags=None)])


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ([], "the facts multipath of phone are not those of all edges"),
        (WHOLE[:2], "not those of all edges"),
        ([*WHOLE, WHOLE[2]], "not those of all edges"),
        (WHOLE[::-1], "not those of all edges"),
        ([*WHOLE[:2], counters(4_999_999_999)], "not those of all edges"),
        ([*WHOLE, counters(0, "phone-lte")], "flow phone-lte is no connection with the fact"),
        ([*WHOLE, counters(0, "tcp")], "flow tcp is no connection with the fact multipath"),
        ([*WHOLE, state("tcp")], "flow tcp is no subflow with the fact subflow"),
    ],
)
def test_facts_of_other_flows_or_times_are_refused(facts: list[Any], text: str) -> None:
    with pytest.raises(BedError, match=text):
        multipath_connections(run(), facts)


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (counters(0, sender=[0] * 5), "fact multipath, sender"),
        (counters(0, sender=[0] * 7), "fact multipath, sender"),
        (counters(0, receiver=[0, 0, -1, 0, 0, 0]), r"fact multipath, receiver\.2"),
        (counters(0, receiver=[0, 0, 2**53 + 1, 0, 0, 0]), r"fact multipath, receiver\.2"),
        (counters(0, receiver=[0, 0, 1.5, 0, 0, 0]), r"fact multipath, receiver\.2"),
        (counters(0, receiver=[0, 0, True, 0, 0, 0]), r"fact multipath, receiver\.2"),
        ({**counters(0), "time_ns": "0"}, "fact multipath, time_ns"),
        ({"fact": "multipath", "flow": "phone-wifi", "time_ns": 0}, "fact multipath, sender"),
        (state(flags=2**32), "fact subflow, flags"),
        (state(flags=-1), "fact subflow, flags"),
        (state(flags="4"), "fact subflow, flags"),
        ({"fact": "subflow", "flow": "phone-lte", "time_ns": 0}, "fact subflow, flags"),
    ],
)
def test_another_form_is_a_problem(fact: dict[str, Any], text: str) -> None:
    problem = fact_schema.problem(fact)
    assert problem is not None
    assert re.match(text, problem), problem
