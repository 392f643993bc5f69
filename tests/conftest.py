"""What every test starts from: nothing of the user's settings, and examples that repeat."""

from __future__ import annotations

import signal

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")

# A shell that started the tests in its background has left them, and what they start, without it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_user_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests never write to the user's store and never depend on the user's terminal."""
    for name in ("ORCHESTRATOR_DB", "ORCHESTRATOR_KERNEL_SOURCE", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
