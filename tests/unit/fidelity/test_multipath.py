"""Multipath TCP: fallbacks, subflows without a name, and bytes that no subflow has."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from orchestrator.fidelity.check_multipath import check
from orchestrator.fidelity.evidence import Columns, Evidence
from orchestrator.recording.model import QUEUE_DTYPE, Check


class Flow:
    def __init__(self, name: str) -> None:
        self.name = name


def judged(
    *reports: dict[str, list[int]],
    subflows: list[dict[str, int]],
    real_time: bool = False,
    flags: dict[str, int | None] | None = None,
    backup: bool = False,
) -> dict[str, Check]:
    """Judge a connection with these facts; each subflow has one sample with the given values.

    ``flags`` are what the kernel tells of subflows, and ``backup`` what the second one is to be.
    """
    facts: list[dict[str, Any]] = [
        {"fact": "multipath", "flow": "a", "time_ns": 10, "receiver": [0] * 6, **report}
        for report in reports
    ]
    facts += [
        {"fact": "subflow", "flow": name, "time_ns": 10, "flags": value}
        for name, value in (flags or {}).items()
    ]
    if real_time:
        facts.append({"fact": "host"})

    def columns(flow: int, names: Any) -> Columns:
        values = {"time_ns": 5, "state": 1, "bytes_retrans": 0, "notsent_bytes": 0}
        return {name: np.array([{**values, **subflows[flow]}[name]]) for name in names}

    evidence = Evidence(
        network=cast(Any, None), facts=facts, flows=cast(Any, [Flow("a"), Flow("b")]), queues=[],
        queue_samples=np.zeros(0, QUEUE_DTYPE), senders=columns,
        plan=cast(Any, {"flows": [{"subflow_of": 0}, {"subflow_of": 0, "backup": backup}]}),
    )  # fmt: skip
    evidence.__dict__["hosts"] = [None] if real_time else []
    return {one.name: one for one in check(evidence)}


def report(sent: int, again: int = 0, subflows: int = 2, fallback: int = 0) -> dict[str, list[int]]:
    return {"sender": [fallback, again, sent, 0, 0, subflows]}


SENT = [{"bytes_sent": 700, "bytes_retrans": 100, "notsent_bytes": 50}, {"bytes_sent": 350}]


def test_all_bytes_of_a_connection_are_in_its_subflows() -> None:
    checks = judged(report(1000), subflows=SENT)
    assert [one.ok for one in checks.values()] == [True] * 4
    assert judged(report(900, again=100), subflows=SENT)["multipath_bytes"].ok
    for off in (1, -1):
        wrong = judged(report(1000 + off), subflows=SENT)["multipath_bytes"]
        assert (wrong.ok, wrong.measured) == (False, off)
    # The kernel counts only a part of what it sends again, and never too much.
    more = judged(report(800, again=100), subflows=SENT)["multipath_bytes"]
    assert (more.ok, more.measured) == (True, -100)
    assert more.detail == "of a: 100 more, sent again over another subflow"
    assert not judged(report(950, again=100), subflows=SENT)["multipath_bytes"].ok
    ended = [SENT[0], {**SENT[1], "state": 7}]
    assert judged(report(800), subflows=ended)["multipath_bytes"].ok


def test_the_worst_of_all_edges_is_told() -> None:
    wrong = judged(report(1000), report(1007), report(1002), subflows=SENT)["multipath_bytes"]
    assert (wrong.ok, wrong.measured) == (False, 7)


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_a_fallback_at_either_end_is_a_fault(end: str) -> None:
    fallen = {**report(1000), end: [1, 0, 1000, 0, 0, 1]}
    checks = judged(report(1000), fallen, subflows=SENT)
    fallbacks = checks["multipath_fallbacks"]
    assert (fallbacks.ok, fallbacks.measured, fallbacks.detail) == (False, 1, "the first one: a")
    assert {"multipath_bytes", "multipath_subflows"}.isdisjoint(checks)


OPENED, JOINED, ASKED, ASKING = 0x1C3, 0x1CC, 0x10, 0x20
"""Flags of an established subflow: that opened the connection, that joined it; that the peer asked
for a backup, and that the own side did."""


@pytest.mark.parametrize(
    ("first", "second", "backup", "wrong"),
    [
        (OPENED, JOINED, False, []),
        (OPENED, JOINED | ASKED, True, []),
        (OPENED, JOINED | ASKING, True, []),
        (OPENED, JOINED, True, ["b"]),
        (OPENED | ASKED, JOINED, False, ["a"]),
        (OPENED, JOINED | ASKED, False, ["b"]),
        (OPENED, OPENED, False, ["b"]),
        (JOINED, JOINED, False, ["a"]),
        (OPENED, None, False, ["b"]),
        (None, None, False, ["a", "b"]),
    ],
)
def test_subflows_are_what_the_scenario_asks_for(
    first: int | None, second: int | None, backup: bool, wrong: list[str]
) -> None:
    told = judged(report(1000), subflows=SENT, flags={"a": first, "b": second}, backup=backup)
    check = told["multipath_subflows"]
    assert (check.ok, check.measured) == (not wrong, len(wrong))
    first_one = f"; the first one: {wrong[0]}" if wrong else ""
    assert check.detail == f"of 2 established{first_one}"


def test_more_subflows_than_have_a_name_are_a_fault() -> None:
    unnamed = judged(report(1000, subflows=3), subflows=SENT)["multipath_unnamed_subflows"]
    assert (unnamed.ok, unnamed.measured) == (False, 1)
    assert judged(report(1000, subflows=1), subflows=SENT)["multipath_unnamed_subflows"].ok


def test_a_real_machine_has_no_check_of_bytes_and_other_runs_none_at_all() -> None:
    assert "multipath_bytes" not in judged(report(1), subflows=SENT, real_time=True)
    assert judged(subflows=SENT) == {}
