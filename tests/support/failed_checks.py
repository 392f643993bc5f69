"""Which checks of a run failed, and which of them a late machine explains."""

from __future__ import annotations

from typing import Any

_RATES = {"backlogged_rate", "rate_window"}


def failed_checks(document: dict[str, Any]) -> set[str]:
    """Return the first words of the names of the checks that failed."""
    return {_kind(check) for check in document["fidelity"]["checks"] if check["ok"] is False}


def failed_of_themselves(document: dict[str, Any]) -> set[str]:
    """Return the failed checks of a run in real time that a late machine does not explain.

    If the machine wakes the run up late, a link sends late, too, and carries less than its rate
    while packets wait. 0.3 s of acknowledgements are enough to fail a rate then. A link that
    carries more than its rate, or less on a punctual machine, is at fault itself.
    """
    failed = failed_checks(document)
    if "scheduling_delay" not in failed:
        return failed
    return {
        _kind(check)
        for check in document["fidelity"]["checks"]
        if check["ok"] is False and not _of_lateness(check)
    }


def _of_lateness(check: dict[str, Any]) -> bool:
    if _kind(check) == "scheduling_delay":
        return True
    return _kind(check) in _RATES and bool(check["measured"] < check["expected"])


def _kind(check: dict[str, Any]) -> str:
    name: str = check["name"]
    return name.split()[0]
