"""How users' programs ended, from what the test bed reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from orchestrator.protocol.reports import facts as protocol
from orchestrator.protocol.reports.facts import Fact


def program_reports(facts: Iterable[Fact]) -> dict[str, dict[str, Any]]:
    """Return the reports of programs, JSON-ready, by their flow and their role."""
    by_flow: dict[str, dict[str, Any]] = {}
    for fact in protocol.of(facts, protocol.Program):
        by_flow.setdefault(fact["flow"], {})[fact["role"]] = {
            "begun_s": fact["begun_ns"] / 1e9,
            "ended_s": fact["ended_ns"] / 1e9,
            "ended_by": fact["ended_by"],
            "status": fact["status"],
            "signal": fact["signal"],
            "stdout": fact["stdout"],
            "stderr": fact["stderr"],
            "stdout_bytes": fact["printed_bytes"][0],
            "stderr_bytes": fact["printed_bytes"][1],
        }
    return by_flow
