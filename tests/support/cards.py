"""Documents of report cards."""

from __future__ import annotations

from typing import Any


def measured(control: str, mean: float, half: float = 0.5) -> dict[str, Any]:
    """Return what a control gave: a mean in the middle of its interval."""
    return {
        "control": control, "mean": mean, "low": mean - half, "high": mean + half, "n": 3,
        "runs": [f"run-{control}"], "left_out": {"unfaithful": 0, "failed": 0, "identical": 0},
    }  # fmt: skip


def card(candidate: str, verdict: str, mean: float, **changes: Any) -> dict[str, Any]:
    """Return a card of one criterion with one row and one cell."""
    cell = {
        "variant": {"topology.bottleneck.queue.limit": "1bdp"}, "beside": "reno",
        "verdict": verdict, "reason": None, "candidate": measured(candidate, mean),
        "baseline": "reno", "others": [measured("reno", 9.0)], "command": "orchestrator run x",
    }  # fmt: skip
    row = {
        "id": "throughput", "asks": "As much arrives.", "metric": "goodput_bps", "unit": "bit/s",
        "flow": "incumbent", "window": None, "relation": "at least", "of": "reference",
        "bound": 0.8, "limit": 0.5, "allowance": 0.0, "level": "must", "reason": "It is fair.",
        "cells": [cell],
    }  # fmt: skip
    criterion = {
        "name": "harm", "title": "Harm", "asks": "No harm.", "grade": verdict, "why": "it is so",
        "sources": [], "left_out": None, "rows": [row], "scenarios": [], "command": "evaluate",
    }  # fmt: skip
    return {
        "schema": 1, "candidate": candidate, "module_sha256": None, "against": ["reno"],
        "length": "quick", "kernels": ["6.12.117"], "digest": "0" * 64, "runs": 6, "failed": 0,
        "unfaithful": 0, "criteria": [criterion], **changes,
    }  # fmt: skip


def matrix(first: str, second: str) -> dict[str, Any]:
    """Return a matrix of harm of two controls, with one metric in one variant."""
    cells = [
        {
            "variant": {"topology.bottleneck.queue.limit": "1bdp"}, "newcomer": newcomer,
            "incumbent": incumbent, "mean": 5e6, "low": 4e6, "high": 6e6, "n": 3,
            "runs": ["run-a"], "change": None if newcomer == incumbent else -0.5,
            "change_low": None if newcomer == incumbent else -0.6,
            "change_high": None if newcomer == incumbent else -0.4,
            "verdict": None if newcomer == incumbent else "does not meet",
        }
        for newcomer in (first, second) for incumbent in (first, second)
    ]  # fmt: skip
    return {
        "schema": 1, "version": "1", "controls": [first, second], "length": "quick",
        "kernels": ["6.12.117"], "digest": "0" * 64, "runs": 3, "failed": 0, "unfaithful": 0,
        "metrics": [{"metric": "goodput_bps", "unit": "bit/s", "harm_is": "less", "cells": cells}],
        "scenarios": [], "command": "orchestrator evaluate --matrix x",
    }  # fmt: skip
