"""Tests of a kernel's own, and how they ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from orchestrator.backends.guest.kernel_tests import GuestTest
from results.contract import kernels as contract
from results.contract.base import SCHEMA


class Outcome(StrEnum):
    """How a test ended."""

    OK = "ok"
    FAILED = "failed"
    TIMEOUT = "timeout"
    KNOWN = "known"
    LACKING = "lacking"


@dataclass(frozen=True)
class KernelTest:
    """A test: its name, such as "net/tls", what a guest runs, and what is missing for that."""

    name: str
    guest: GuestTest
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """How a test ended.

    Attributes:
        name: the test's.
        outcome: "lacking" where it was not tried, or says itself that something is missing.
        reason: what failed, why that is known, or what the test says that it lacks.
        lacks: programs, options and files that are missing, such as "nft" and "CONFIG_TLS".
        wall_s: wall time with the guest's boot; 0 for a test that was not tried.
        simulated_s: the guest's time that it took.
        output: what it printed, bounded.
    """

    name: str
    outcome: Outcome
    reason: str = ""
    lacks: tuple[str, ...] = ()
    wall_s: float = 0.0
    simulated_s: float = 0.0
    output: str = ""

    @property
    def why(self) -> str:
        """The reason in words, with what is missing."""
        missing = f"lacks {', '.join(self.lacks)}" if self.lacks else ""
        return "; ".join(filter(None, (missing, self.reason)))


@dataclass(frozen=True)
class OwnResults:
    """The results of a kernel's own tests, in their order; ``not_there`` has absent folders."""

    release: str
    key: str
    results: Sequence[Result]
    not_there: Sequence[str] = ()

    @property
    def unexpected(self) -> list[Result]:
        """Results that nobody expects: failures that are not known, and timeouts."""
        return self.of(Outcome.FAILED, Outcome.TIMEOUT)

    @property
    def ran_nothing(self) -> bool:
        """Whether no test could be tried."""
        return all(one.outcome is Outcome.LACKING for one in self.results)

    def of(self, *outcomes: Outcome) -> list[Result]:
        """Return the results with one of these outcomes."""
        return [one for one in self.results if one.outcome in outcomes]

    @property
    def lacking(self) -> list[tuple[str, int]]:
        """What is missing, and for how many tests, the most frequent first."""
        counts = Counter(lack for one in self.results for lack in one.lacks)
        return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))

    def document(self) -> dict[str, Any]:
        """Return the JSON contract of ``guest test``."""
        tests = [
            contract.KernelTest.model_construct(
                None,
                name=one.name,
                outcome=one.outcome.value,
                reason=one.reason,
                lacks=list(one.lacks),
                wall_s=round(one.wall_s, 3),
                simulated_s=one.simulated_s,
                output=one.output,
            )
            for one in self.results
        ]
        return contract.KernelTests.model_construct(
            schema_=SCHEMA,
            release=self.release,
            key=self.key,
            ok=not self.unexpected,
            counts={outcome.value: len(self.of(outcome)) for outcome in Outcome},
            lacking=[name for name, _tests in self.lacking],
            not_there=list(self.not_there),
            tests=tests,
        ).document()
