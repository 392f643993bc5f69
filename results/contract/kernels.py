"""Guest kernels: those that are built, their checks, and what runs on several of them show."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from results.contract.base import Number, ResponseModel, Variant, Versioned
from results.contract.outcomes import Expectation


class Tried(ResponseModel):
    """Something that was tried in short runs."""

    about: str = Field(description="digests, impairment, queue or congestion control")
    name: str
    problem: str = Field(description="what is wrong; empty when its runs are faithful and equal")
    is_absent: bool = Field(description="whether the kernel does not have it")


class CheckedKernel(Versioned):
    """A checked kernel, as `orchestrator guest check --json` prints it."""

    release: str
    key: str = Field(description="its name in the cache")
    checked_utc: str
    ok: bool = Field(description="whether all that it has is deterministic and faithful")
    problems: list[str] = Field(description="what it has and does not do well")
    absent: list[str] = Field(description="what it does not have")
    stubs: Literal["ptrace", "seccomp"] = Field(
        description="how it can hold its processes, the faster of its ways"
    )
    tried: list[Tried]


class KernelTest(ResponseModel):
    """A test of a kernel's own."""

    name: str = Field(description="its folder and file below tools/testing/selftests")
    outcome: Literal["ok", "failed", "timeout", "known", "lacking"] = Field(
        description="known: it failed for a reason that is listed; lacking: it was not tried, or "
        "says itself that something is missing"
    )
    reason: str
    lacks: list[str] = Field(description="missing programs, options of the kernel, and files")
    wall_s: float = Field(description="with the boot of its guest; 0 of a test that was not tried")
    simulated_s: float = Field(description="the guest's time that it took")
    output: str = Field(description="what it printed: the first and the last lines")


class KernelTests(Versioned):
    """A kernel's own tests, as `orchestrator guest test --json` prints them."""

    release: str
    key: str = Field(description="its name in the cache")
    ok: bool = Field(description="whether no test failed or took too long without a known reason")
    counts: dict[str, int] = Field(description="tests by outcome")
    lacking: list[str] = Field(description="what is missing, the most frequent first")
    not_there: list[str] = Field(description="folders of tests that the kernel's tree has not")
    tests: list[KernelTest]


class BuiltKernel(ResponseModel):
    """A kernel of the cache, as `orchestrator guest info --json` prints it.

    All but the first two keys and the last one are of its manifest.
    """

    key: str = Field(description="its name in the cache")
    linux: str = Field(description="path of the program that it is")
    release: str
    linux_sha256: str
    modules_sha256: dict[str, str] = Field(description="by the name of the module")
    source: str = Field(description="what it was built from, in words")
    patches: dict[str, str | None] | None = Field(
        default=None,
        description="this program's patches, with the series that each was made for; null: left "
        "out. Kernels of the first versions lack the key",
    )
    added: list[str] | None = Field(default=None, description="names of the user's patches, if any")
    taken_out: list[str] | None = Field(
        default=None, description="names of patches that the user took out, if any"
    )
    options: dict[str, str] | None = Field(
        default=None, description="the user's options of the configuration, if any"
    )
    build_s: float
    compiler: str
    inputs: dict[str, Any] = Field(description="what its key is the hash of")
    stubs: Literal["ptrace", "seccomp"] = Field(
        description="how it can hold its processes, the faster of its ways"
    )


class BuiltKernels(Versioned):
    """All kernels of the cache, as `orchestrator guest list --json` prints them."""

    kernels: list[BuiltKernel] = Field(description="the newest first")


class KernelChange(ResponseModel):
    """The difference of a metric to the kernel before, in the unit of the metric."""

    mean: float
    low: Number = Field(description="end of the interval that holds with 95% for all changes")
    high: Number
    method: Literal["paired", "welch"]
    known: bool = Field(description="whether the interval is above or below zero")


class TrackedKernel(ResponseModel):
    """A metric on a kernel: a mean over repetitions with its 95% interval."""

    kernel: str
    variant: Variant = Field(description="values of the scenario's other axes")
    n: int = Field(description="number of runs with a value")
    mean: Number
    low: Number
    high: Number
    change: KernelChange | None = Field(description="null: there is no kernel before it")


class KernelTrack(Versioned):
    """A metric over kernels, as `orchestrator track --json` prints it."""

    experiment: str
    metric: str
    flow: str | None = Field(description="flow entry; null: a metric of the run")
    unit: str
    kernels: list[TrackedKernel]


class BisectStep(ResponseModel):
    """A commit that was tested."""

    commit: str
    subject: str
    verdict: Literal["good", "bad", "skip"]
    suspects: int = Field(description="number of commits that could be the first bad one before")
    runs: list[str] = Field(description="ids")
    reason: str = Field(description="why it is bad or was skipped; empty of a good one")
    wall_s: float
    results: list[Expectation] = Field(description="none of a commit whose runs do not count")


class Bisection(Versioned):
    """Which commit changed what a scenario does, as `orchestrator bisect --json` prints it."""

    first_bad: str | None = Field(description="commit; null: skipped ones hide it")
    author: str = Field(description="of the first bad commit; empty where it is not known")
    subject: str
    suspects: list[str] = Field(description="commits of which one is the first bad one")
    good_run: str | None = Field(description="id of a run of the last good commit")
    bad_run: str | None = Field(
        description="that of the first bad commit with an equal seed; null: it is not known"
    )
    steps: list[BisectStep] = Field(description="in the order of the tests")
