"""Mitogen's linear strategy, but for its pinning of processes to processors.

On a machine with two of them, all that its tasks begin would share one: apt, and the compilation of
the congestion-control modules.
"""

from __future__ import annotations

import ansible_mitogen.affinity
from ansible_mitogen.plugins.strategy.mitogen_linear import StrategyModule

ansible_mitogen.affinity.policy = ansible_mitogen.affinity.Policy()

__all__ = ["StrategyModule"]
