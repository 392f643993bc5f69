"""What is known of a run in progress: one small file beside the store, until the run ends.

The process that executes the run replaces the file in one step. So a reader always finds a whole
one. No digest, metric or stored run depends on it. A file whose process was killed is removed when
the store is next opened for writing.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results.contract import live as contract

MOST_BYTES = 256 * 1024
"""Limit of a file. One that would be larger is not written."""

Values = Sequence[float | None]
"""One value for each bin of time; None where there is no sample."""


@dataclass(frozen=True)
class LiveFlow:
    """A flow with one TCP connection. The base RTT of a live path is None."""

    name: str
    base_rtt_s: float | None
    cwnd_segments: Values
    rtt_ms: Values
    goodput_bps: Values


@dataclass(frozen=True)
class LiveQueue:
    """The queue of a bottleneck, with the largest backlog of each bin."""

    name: str
    backlog_packets: Values


@dataclass(frozen=True)
class LiveRun:
    """A run in progress.

    ``phase`` is as in ``orchestrator.execution.runner.Progress``. ``speed`` is simulated time over
    wall time, ``left_s`` the wall time that is left; None before traffic. ``problem`` is what is
    malformed in the samples, or empty. ``time_s`` has the ends of the bins so far.
    """

    phase: str
    simulated_s: float
    duration_s: float
    wall_s: float
    speed: float | None
    left_s: float | None
    problem: str
    time_s: Sequence[float]
    flows: Sequence[LiveFlow]
    queues: Sequence[LiveQueue]

    def document(self) -> dict[str, Any]:
        """Return what the file and the API have of it."""
        return contract.State.model_construct(
            phase=self.phase,
            simulated_s=self.simulated_s,
            duration_s=self.duration_s,
            wall_s=self.wall_s,
            speed=self.speed,
            left_s=self.left_s,
            problem=self.problem,
            time_s=list(self.time_s),
            flows=[_flow(flow) for flow in self.flows],
            queues=[_queue(queue) for queue in self.queues],
        ).document()


def _flow(flow: LiveFlow) -> contract.RunningFlow:
    return contract.RunningFlow.model_construct(
        name=flow.name,
        base_rtt_s=flow.base_rtt_s,
        cwnd_segments=list(flow.cwnd_segments),
        rtt_ms=list(flow.rtt_ms),
        goodput_bps=list(flow.goodput_bps),
    )


def _queue(queue: LiveQueue) -> contract.RunningQueue:
    return contract.RunningQueue.model_construct(
        name=queue.name, backlog_packets=list(queue.backlog_packets)
    )


_SUFFIX = "-live"
_KIND = ".json"


def folder(db: Path) -> Path:
    """Return the folder of the runs in progress of a store. It exists only while there are any."""
    return db.with_name(db.name + _SUFFIX)


def write(db: Path, run_id: str, run: LiveRun) -> None:
    """Replace what is known of a run; nothing happens when it cannot be written.

    Raises:
        ValueError: a number is not finite.
    """
    text = json.dumps(run.document(), allow_nan=False, separators=(",", ":")).encode()
    if len(text) > MOST_BYTES:
        return
    file = _file(db, run_id)
    new = file.with_suffix(".new")
    with contextlib.suppress(OSError):  # a full disk must not end the run
        file.parent.mkdir(exist_ok=True)
        new.write_bytes(text)
        new.replace(file)


def read(db: Path, run_id: str) -> str | None:
    """Return what is known of a run, as JSON; None when there is nothing valid."""
    try:
        descriptor = os.open(
            _file(db, run_id), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        try:
            text = file.read(MOST_BYTES + 1)
            document = json.loads(text) if len(text) <= MOST_BYTES else None
        except (OSError, ValueError, RecursionError):
            return None
    return json.dumps(document) if isinstance(document, dict) else None


def remove(db: Path, run_id: str) -> None:
    """Remove what is known of a run that has ended."""
    _remove(db, [_file(db, run_id), _file(db, run_id).with_suffix(".new")])


def stale(db: Path, running: Iterable[str]) -> list[Path]:
    """Return the files of runs that are not running.

    Call it in a transaction that lists the running ones, so that no run begins meanwhile.
    """
    try:
        present = list(folder(db).iterdir())
    except OSError:
        return []
    kept = set(running)
    return [file for file in present if file.name.partition(".")[0] not in kept]


def remove_stale(db: Path, stale_files: Iterable[Path]) -> None:
    """Remove the files that ``stale`` has returned."""
    _remove(db, stale_files)


def _file(db: Path, run_id: str) -> Path:
    return folder(db) / (run_id + _KIND)


def _remove(db: Path, files: Iterable[Path]) -> None:
    for file in files:
        with contextlib.suppress(OSError):
            file.unlink()
    with contextlib.suppress(OSError):  # it still has files of other runs, or is not there
        folder(db).rmdir()
