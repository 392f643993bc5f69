"""How users' programs ended and what they printed, from what the test bed reports."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any

from orchestrator.decode.output import malformed
from orchestrator.planning.runspec import PlannedFlow
from orchestrator.protocol.programs import PROGRAM
from orchestrator.protocol.reports import facts as protocol
from orchestrator.protocol.reports.facts import Fact
from orchestrator.recording.extracted import UNITS, ExtractedNumber, metric_name


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


def extracted_numbers(
    flows: Iterable[PlannedFlow], facts: Collection[Fact]
) -> dict[str, list[ExtractedNumber]]:
    """Return the numbers that flows ask for of their clients' output, by the name of the flow.

    Of a client that was never started they have no values. Flows that ask for none are left out.

    Raises:
        BedError: the test bed reports other numbers than a flow asks for, or reports them twice.
    """
    reported: dict[str, protocol.Extracted] = {}
    for fact in protocol.of(facts, protocol.Extracted):
        if fact["flow"] in reported:
            raise malformed(f"flow {fact['flow']} has the fact extracted twice")
        reported[fact["flow"]] = fact
    numbers = {}
    for flow in flows:
        wanted = flow.traffic_parameters.get("extract", {}) if flow.engine == PROGRAM else {}
        values = dict.fromkeys(wanted, _NOTHING)
        if flow.name in reported:
            values = reported[flow.name]["values"]
        if values.keys() != wanted.keys():
            raise malformed(f"flow {flow.name} did not ask for the numbers of its fact extracted")
        if wanted:
            numbers[flow.name] = [
                _number(name, one["unit"], values[name]) for name, one in wanted.items()
            ]
    return numbers


_NOTHING: protocol.ExtractedValue = {"value": None, "matches": 0, "numbers": 0}


def _number(name: str, unit: str, taken: protocol.ExtractedValue) -> ExtractedNumber:
    """Return a number in the unit of its metric; one that is not finite there has no value."""
    value = None if taken["value"] is None else taken["value"] * UNITS[unit][1]
    if value is not None and not math.isfinite(value):
        value = None
    return ExtractedNumber(metric_name(name, unit), value, taken["matches"], taken["numbers"])
