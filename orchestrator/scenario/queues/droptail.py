"""Drop-tail: first in, first out; what finds the queue full is dropped."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.scenario.queues import QueueSpec


class DropTail(QueueSpec):
    """First in, first out; what finds the queue full is dropped."""

    kind: Literal["droptail"] = Field(default="droptail", description="first in, first out")
