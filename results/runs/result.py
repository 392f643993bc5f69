"""Reads a stored run with its metrics."""

from __future__ import annotations

from collections.abc import Sequence

from results import metrics
from results.records.model import WHOLE, WindowMetrics
from results.runs import captures, programs
from results.runs.model import FlowResult, LinkResult, RunResult, TraceResult, WindowResult
from results.store.parts.traces import TraceHead
from results.store.store import Store
from results.store.stored import StoredRun


def of_ids(store: Store, run_ids: Sequence[str]) -> list[RunResult]:
    """Return the runs of these ids in the order given.

    Raises:
        UsageError: there is no run of an id.
        StoreError: a run cannot be read.
    """
    return [of_run(store.load(run_id)) for run_id in run_ids]


def of_run(run: StoredRun) -> RunResult:
    """Return one run; StoreError when it cannot be read."""
    by_window = run.metrics()
    whole = by_window[WHOLE]
    return RunResult(
        run.row,
        whole.run,
        {
            window.name: WindowResult(
                by_window[window.name].run, _flows(run, by_window[window.name])
            )
            for window in run.windows
        },
        _flows(run, whole),
        [
            LinkResult(run.queues[index], whole.links[name])
            for name, index in metrics.link_indices(run).items()
        ],
        run.events,
        run.judgements,
        run.remarks,
        [_trace(run, head) for head in run.traces],
        programs.of_run(run),
        programs.numbers_of(run),
        programs.files_of(run),
    )


def _trace(run: StoredRun, head: TraceHead) -> TraceResult:
    hosts = captures.captured_hosts(run, head)
    clocks = captures.host_clocks(run, hosts)
    return TraceResult(head, hosts, captures.incomplete(head, hosts), clocks)


def _flows(run: StoredRun, window: WindowMetrics) -> list[FlowResult]:
    return [
        FlowResult(flow, entry, values)
        for flow, entry, values in zip(run.flows, run.entries, window.flows, strict=True)
    ]
