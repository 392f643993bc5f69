"""Runs: the list of them, one, and what its page shows beside its document."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from orchestrator.recording.model import Verdict
from results.contract.base import (
    Number,
    ResponseModel,
    Variant,
    Versioned,
    WithValues,
)
from results.contract.traces import Trace
from results.records.model import Status

Outcome = Literal[
    "ended",
    "timed_out",
    "reset",
    "unreachable",
    "never_connected",
    "exit_status",
    "signal",
    "not_ready",
    "out_of_time",
    "output",
    "stopped",
]
"""How a flow ended."""

LeftOut = Literal["missing", "kind", "name", "size", "number", "run", "entries", "more"]
"""Why a file is not kept."""


class Note(ResponseModel):
    """A note of a run."""

    number: int = Field(description="number within the run, from 1")
    noted_at: str = Field(description="ISO 8601, UTC")
    text: str


class Metrics(WithValues):
    """Values by the name of the metric; `/api/metrics` has units and definitions."""

    __pydantic_extra__: dict[str, Number] = Field(init=False)


class RunFields(ResponseModel):
    """The fields of a run that every document of it has."""

    id: str
    variant: Variant = Field(
        description="values of the scenario's matrix by path, or by the name of the axis"
    )
    variant_sets: dict[str, Variant] = Field(
        description="what the values of axes with named values set, by axis and path"
    )
    repetition: int = Field(description="from 0")
    seed: int
    backend: str = Field(description="where it ran, such as `guest`")
    link_model: int = Field(description="version of the emulated links")
    digest_version: int = Field(description="digests of different versions cannot be compared")
    digest_depends_on_sampling: bool | None = Field(
        description="whether another sampling period may give another digest"
    )
    metrics_grid_s: Number = Field(
        description="period at which TCP senders were read for metrics, in seconds"
    )
    status: Status
    error: str | None = Field(description="why it failed")
    kernel: str | None = Field(description="release of the kernel")
    wall_s: Number = Field(description="wall time in seconds")
    simulated_s: Number = Field(description="simulated time with traffic in seconds")
    digest: str | None = Field(description="SHA-256 over what was measured, in hexadecimal")
    kernel_warnings: int | None = Field(
        description="warnings of a guest's kernel while traffic ran; null: a real machine"
    )


class ListedFidelity(ResponseModel):
    """How far to trust a run."""

    verdict: Verdict | None


class ListedFlow(ResponseModel):
    """A flow in the list of runs."""

    name: str
    entry: str = Field(description="the scenario's flow entry")
    congestion_control: str | None


class ListedWindow(ResponseModel):
    """A window of `measure` in the list of runs."""

    metrics: Metrics


class ListedRun(RunFields):
    """A run in the list."""

    experiment: str
    scenario: str
    started_utc: str = Field(description="ISO 8601")
    fidelity: ListedFidelity
    metrics: Metrics = Field(description="over the whole run without the warm-up")
    windows: dict[str, ListedWindow] = Field(description="by name")
    flows: list[ListedFlow]
    tags: list[str]
    notes: list[Note]


class Count(ResponseModel):
    """How many runs have a value."""

    value: str
    runs: int
    condition: str | None = Field(description="what keeps these runs; null if nothing can")


class Runs(Versioned):
    """Runs, oldest first; or a page of those that fit, with the number of all."""

    runs: list[ListedRun]
    first: int | None = Field(default=None, description="of a page: place of its first run")
    found: int | None = Field(default=None, description="of a page: number of runs that fit")
    total: int | None = Field(default=None, description="of a page: number of all runs")
    counts: dict[str, list[Count]] | None = Field(
        default=None, description="with `counts=yes`: by status, verdict, congestion and others"
    )


class Check(ResponseModel):
    """A property of the emulation, as expected and as measured."""

    name: str
    unit: str
    expected: float | str | None
    measured: float | str | None
    tolerance: Number = Field(description="absolute, in the unit")
    ok: bool | None = Field(description="null: too few data, see `detail`")
    detail: str


class Judgement(ResponseModel):
    """An earlier verdict on a run."""

    verdict: Verdict | None
    checks_version: str | None
    judged_at: str | None = Field(description="ISO 8601, UTC")


class Fidelity(ListedFidelity):
    """How far to trust a run, and why."""

    checks: list[Check]
    checks_version: str | None
    judged_at: str | None = Field(description="ISO 8601, UTC")
    earlier: list[Judgement] = Field(description="oldest first")


class Flow(Metrics):
    """A flow of a run with its metrics."""

    name: str
    entry: str = Field(description="the scenario's flow entry")
    group: str
    source: str = Field(description="host that sends")
    sink: str = Field(description="host that receives")
    transport: Literal["tcp", "udp", "icmp"]
    traffic: str = Field(description="kind of traffic, such as `bulk`")
    engine: str = Field(description="program that sends")
    congestion_asked: str | None
    congestion_control: str | None = Field(description="as the kernel reported it")
    start_s: float = Field(description="seconds since the start of traffic")
    stop_s: Number = Field(description="null: to the end")
    outcome: Outcome = Field(
        description="how it ended; `ended`, too, if it went on until the end of the run. Of "
        "several connections that failed it is that of the first one"
    )
    ended_s: Number = Field(
        description="when it ended, or its first connection failed; null: at the end of the run"
    )
    errno: int | None = Field(description="with which the kernel ended the connection")
    begun_s: Number = Field(description="when a client program began; null for other traffic")
    exit_status: int | None = Field(description="of a client program that ended by itself")
    base_rtt_s: Number = Field(description="round-trip time without queues, as configured")
    base_rtt_measured_s: Number = Field(description="the same as measured before traffic")


class Window(ResponseModel):
    """The metrics of a window of `measure`."""

    metrics: Metrics
    flows: list[Flow]


class Link(Metrics):
    """A channel of a link with its metrics."""

    name: str
    direction: Literal["forward", "reverse"]
    bottleneck: bool
    rate_bps: Number = Field(description="bit/s; null: not limited")
    rate_min_bps: Number
    rate_max_bps: Number
    rate_end_bps: Number
    rate_changes: int


class Event(WithValues):
    """An event of a run: its times, and what the scenario asked for."""

    time_s: float = Field(description="asked for, in seconds since the start of traffic")
    applied_s: float = Field(description="when it took place")


class Program(ResponseModel):
    """A program of a flow of kind `program`, and how it ended."""

    flow: str
    role: Literal["server", "client"]
    begun_s: float = Field(description="seconds since the start of traffic")
    ended_s: float
    ended_by: Literal["ended", "killed", "not_ready", "out_of_time", "output", "stopped"] = Field(
        description="`ended` by itself, with an exit status or by a signal; `killed` by the "
        "kernel; a server that was `not_ready` in time; `out_of_time`; it printed too much "
        "(`output`); `stopped` at the end of its flow"
    )
    status: int | None = Field(description="exit status of one that ended by itself")
    signal: int | None = Field(description="number of the signal that ended it")
    stdout: str = Field(description="begin and end of what it printed")
    stderr: str = Field(description="the same of standard error")
    stdout_bytes: int = Field(description="all that it printed")
    stderr_bytes: int


class ExtractedNumber(ResponseModel):
    """A number that a scenario takes from what a flow's client prints."""

    flow: str
    metric: str = Field(description="the metric of the flow that it is")
    unit: str
    value: Number = Field(description="null: there was no number")
    matches: int = Field(description="how often the pattern matched")
    numbers: int = Field(description="how many of these matches were a number")


class KeptFile(ResponseModel):
    """A file that a program of a flow has left, of those that the scenario keeps."""

    flow: str
    role: Literal["server", "client"]
    name: str = Field(description="path in the program's folder; with escapes if left out")
    size_bytes: int | None
    sha256: str | None = Field(description="of its content, in hexadecimal; null: left out")
    left_out: LeftOut | None = Field(
        description="why it is not stored: nothing has the name (`missing`), it is no regular file "
        "(`kind`), or a limit of names, sizes, numbers or entries; null: it is stored"
    )


class RunDocument(RunFields):
    """A run with all that is computed from its samples."""

    fidelity: Fidelity
    metrics: Metrics = Field(description="over the whole run without the warm-up")
    windows: dict[str, Window] = Field(description="by name")
    tags: list[str]
    notes: list[Note]
    events: list[Event]
    links: list[Link]
    flows: list[Flow]
    traces: list[Trace] = Field(description="stored traces, oldest first, and what they have lost")
    programs: list[Program] = Field(description="of flows of kind `program`")
    extracted: list[ExtractedNumber] = Field(description="of what programs printed")
    kept_files: list[KeptFile] = Field(description="of what programs have left in their folders")


class Run(Versioned):
    """The document of one run, as `orchestrator show --json` prints it."""

    experiment: str | None
    scenario: str | None
    runs: list[RunDocument] = Field(min_length=1, max_length=1)


class NamedWindow(ResponseModel):
    """A part of the simulated time."""

    name: str
    from_s: float
    to_s: float


class Provenance(Versioned):
    """Where a run comes from: its scenario, versions, kernel settings and modules."""

    run: str
    description: str
    experiment: str
    scenario: str
    started_utc: str = Field(description="ISO 8601")
    finished_utc: str | None = Field(description="ISO 8601")
    duration_s: float = Field(description="simulated time with traffic, as planned")
    warmup_s: float = Field(description="seconds left out of the metrics")
    windows: list[NamedWindow] = Field(description="parts of the time with metrics of their own")
    git_commit: str | None = Field(description="of the program")
    unconfined: bool = Field(description="true: the guest ran without a sandbox")
    scenario_text: str = Field(description="the file, as it was")
    scenario_sha256: str = Field(description="in hexadecimal")
    provenance: dict[str, Any] = Field(description="what the test bed read back, by name")


class Said(Versioned):
    """What the guest and the test bed said; empty where nothing was kept."""

    run: str
    console: str
    log: str
