"""The base class of topologies whose routers form a row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Self

from pydantic import model_validator

from orchestrator.kinds.fields import Path, located
from topologies.base import Layout, Multihoming
from topologies.chain import Chain


class RowTopology(Multihoming):
    """A topology whose routers form a row (chain.py); ``_chain()`` returns that row."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if problems := list(self._span_problems()) or list(self._chain().problems()):
            raise located(problems)
        return self

    def layout(self, seed: int) -> Layout:
        """Return the network; links between routers come first, then the link of each host."""
        return self._chain().layout(seed)

    @abstractmethod
    def _chain(self) -> Chain:
        """Return the row with its groups."""

    def _span_problems(self) -> Iterable[tuple[Path, str]]:
        """Return (path in the topology, message) of groups for which no row can be built."""
        return ()
