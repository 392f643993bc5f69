"""Prints runs as text for people: one with all its tables, or a list."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from orchestrator import plaintext
from orchestrator.cli.render import metric_tables, terminal
from orchestrator.units import listed
from orchestrator.windows import window_text
from results.wording import quantities, variant_names
from results.wording.check_words import outcome_words
from results.wording.endings import ended_early, ending

if TYPE_CHECKING:
    from rich.console import Console

    from orchestrator.recording.model import Check
    from results.metrics.base import Table
    from results.records.model import RunEvent, RunRow
    from results.runs.model import (
        FlowResult,
        LinkRates,
        LinkResult,
        ListedFlow,
        ListedRun,
        RunResult,
        TraceResult,
    )
    from results.runs.programs import FlowFile, FlowNumber, ProgramEnd
    from results.store.parts.notes import Remarks

_UNITS = {"_bps": "bit/s", "_s": "s", "_packets": "packets", "_segments": "segments",
          "_bytes": "bytes"}  # fmt: skip
"""Unit of a value by the end of its name."""

_DEPENDS_ON_SAMPLING = "digest: another sampling period may give another one"
_MOST_EVENTS = 20
_LONGEST_DETAIL = 80
"""Characters of a check's detail in a table."""
_LEAST_DERIVED = 10**9
"""Seeds from here on are taken as drawn by the program: with `seeds: independent` all are."""


def quantity(name: str, value: object) -> str:
    """Return a value as text, in the unit that :func:`unit` returns."""
    return quantities.quantity(value, _stored_unit(name))


def unit(name: str) -> str:
    """Return the unit in which :func:`quantity` gives a value of that name; may be empty."""
    return quantities.unit(_stored_unit(name))


def _stored_unit(name: str) -> str:
    return next((stored for suffix, stored in _UNITS.items() if name.endswith(suffix)), "1")


def rate(rates: LinkRates) -> str:
    """Return a link's rate in Mbit/s.

    One change is shown as ``10.000 -> 5.000``, several as the range. A rate that follows a trace or
    a model is shown in a plan as ``~`` and its mean.
    """
    first = quantity("rate_bps", rates.first_bps)
    if rates.changes is None:
        return f"~{first}"
    if not rates.changes:
        return first
    if rates.changes == 1:
        return f"{first} -> {quantity('rate_bps', rates.end_bps)}"
    return f"{quantity('rate_bps', rates.min_bps)}..{quantity('rate_bps', rates.max_bps)}"


def events(listed_events: Sequence[RunEvent], out: Console) -> None:
    """Print a table of the first events, with the applied times where they are known."""
    rows = [
        [
            f"{event.time_s:.6g}",
            *([] if event.applied_s is None else [f"{event.applied_s:.9f}"]),
            terminal.pairs(event.requested),
        ]
        for event in listed_events[:_MOST_EVENTS]
    ]
    known = any(event.applied_s is not None for event in listed_events[:1])
    applied = ["applied at s"] if known else []
    right = range(1 + len(applied))
    out.print(terminal.table(["event at s", *applied, "what"], rows, right=right))
    if len(listed_events) > _MOST_EVENTS:
        _line(f"and {len(listed_events) - _MOST_EVENTS} more; --json lists all", out)


def headline(row: RunRow) -> str:
    """Return a run's id, variant, seed and times on one line."""
    words = [variant_names.one_line(row.variant)] if row.variant else []
    words.append(f"repetition {row.repetition}, seed {row.seed}")
    if row.status == "ok":
        words.append(f"{row.simulated_s:.4g} s simulated in {row.wall_s:.1f} s")
    return f"{row.id}: {', '.join(words)}"


def outcome(run: RunResult) -> str:
    """Return the status, or the verdict and the number of checks that passed."""
    row = run.row
    if row.status != "ok":
        return f"{row.status}: {row.error}" if row.error else row.status
    passed = sum(check.ok is True for check in run.checks)
    return f"{row.verdict}: {passed} of {quantities.plural(len(run.checks), 'check')}"


def _print_failure(run: RunResult, out: Console) -> None:
    """Print why a run has no result; the lines of a test bed's console are indented."""
    first, *others = outcome(run).split("\n")
    _line(first, out)
    for line in filter(None, map(str.strip, others)):
        _line(f"  {line}", out)


def print_run(
    run: RunResult, out: Console, everything: bool = False, machines: Iterable[str] = ()
) -> None:
    """Print one run: flows, bottlenecks, the main metrics, and the checks that did not pass.

    ``everything`` adds all other metrics and checks. ``machines`` has lines about the kernel and
    the hosts of the run.
    """
    _line(headline(run.row), out)
    for line in machines:
        _line(line, out)
    _remarks(run.remarks, out)
    if run.row.status != "ok":
        _print_failure(run, out)
        return
    for table in _flows(run.flows):
        out.print()
        out.print(table)
    if run.programs:
        out.print()
        out.print(_programs(run.programs))
    if run.extracted:
        out.print()
        out.print(_numbers(run.extracted))
    if run.windows:
        out.print()
        out.print(_windows(run))
    bottlenecks = [
        link
        for link in run.links
        if link.queue.bottleneck and link.metrics["utilisation"] is not None
    ]
    if bottlenecks:
        out.print()
        out.print(_links(bottlenecks))
    if everything and run.events:
        out.print()
        events(run.events, out)
    out.print()
    if everything:
        out.print(metric_tables.of_run(run.metrics))
        out.print()
        _further(run.flows, bottlenecks, out)
    else:
        _line(metric_tables.summary(run.metrics), out)
    _line(outcome(run), out)
    if run.row.digest_depends_on_sampling:
        _line(_DEPENDS_ON_SAMPLING, out)
    _traces(run.traces, out)
    shown = [check for check in run.checks if everything or check.ok is not True]
    if shown:
        _print_checks(shown, out)


def _traces(traces: Sequence[TraceResult], out: Console) -> None:
    """Print what the traces of a run are of, and what is missing of each."""
    for trace in traces:
        capture = trace.head.capture
        window = window_text(capture.from_ns, capture.to_ns)
        _line(f"trace {trace.head.number} of {window}: {', '.join(sorted(capture.kinds))}", out)
        for text in trace.missing:
            _line(f"  incomplete: {text}", out)
        for clock in trace.clocks:
            _line(f"  times at {listed(clock.hosts)} are by {clock.text}", out)


def _remarks(remarks: Remarks, out: Console) -> None:
    """Print the tags and notes of a run."""
    if remarks.tags:
        _line(f"tags: {', '.join(remarks.tags)}", out)
    for note in remarks.notes:
        moment = f"{note.noted_utc[:16].replace('T', ' ')} UTC"
        _line(f"note {note.number} ({moment}): {note.text}", out)


def congestion_controls(flows: Sequence[ListedFlow]) -> str:
    """Return the different congestion controls of flows, in their order; UDP has none."""
    controls = [flow.congestion_control for flow in flows]
    return ", ".join(dict.fromkeys(control for control in controls if control))


def seed(row: RunRow) -> str:
    """Return a run's seed as a short number for people.

    Repetition 0 has the scenario's own seed. Those of the others have up to 19 digits and follow
    from it, so they are shown as the number of the repetition.
    """
    derived = row.repetition or row.seed >= _LEAST_DERIVED
    return f"#{row.repetition}" if derived else str(row.seed)


def print_list(runs: Sequence[ListedRun], out: Console, scenarios: bool = False) -> None:
    """Print one line for each run, with its scenario when scenarios may differ."""
    shown = metric_tables.columns("runs", [run.metrics for run in runs])
    tagged = any(run.tags for run in runs)
    labels = variant_names.short_names(run.variant for run in runs)
    rows = [
        [
            run.row.id,
            *([run.row.scenario] if scenarios else []),
            variant_names.one_line(run.variant, labels) or quantities.NO_VALUE,
            congestion_controls(run.flows) or quantities.NO_VALUE,
            str(run.row.repetition),
            seed(run.row),
            run.row.status,
            run.row.verdict or quantities.NO_VALUE,
            *([", ".join(run.tags) or quantities.NO_VALUE] if tagged else []),
            *metric_tables.cells(shown, run.metrics),
            quantities.number(run.row.wall_s, 1),
        ]
        for run in runs
    ]
    headings = ["run", *(["scenario"] if scenarios else []), "variant", "congestion controls"]
    headings += ["repetition", "seed", "status", "verdict", *(["tags"] if tagged else [])]
    headings += [*(heading for heading, _ in shown), "wall s"]
    words = {"run", "scenario", "variant", "congestion controls", "status", "verdict", "tags"}
    numbers = [index for index, heading in enumerate(headings) if heading not in words]
    out.print(terminal.table(headings, rows, right=numbers))


def _flows(flows: Sequence[FlowResult]) -> Iterable[Any]:
    """Yield the tables of TCP, UDP and ICMP flows and of transfers, each if there are any."""
    tcp = [flow for flow in flows if flow.record.transport == "tcp"]
    icmp = [flow for flow in flows if flow.record.transport == "icmp"]
    udp = [flow for flow in flows if flow.record.transport == "udp"]
    many = [flow for flow in flows if flow.metrics.get("transfers") is not None]
    if tcp:
        controls = [flow.record.congestion_control for flow in tcp]
        yield _of_flows(tcp, controls, "congestion control", "tcp")
    if udp:
        yield _of_flows(udp, [flow.record.traffic for flow in udp], "UDP", "udp")
    if icmp:
        yield _of_flows(icmp, [flow.record.traffic for flow in icmp], "ICMP", "icmp")
    if many:
        yield _of_flows(many, [flow.record.traffic for flow in many], "traffic", "transfers")


def _of_flows(
    flows: Sequence[FlowResult], kinds: Sequence[str | None], heading: str, table: Table
) -> Any:
    shown = metric_tables.columns(table, [flow.metrics for flow in flows])
    headings = [heading for heading, _ in shown]
    rows = [
        [flow.name, kind or quantities.NO_VALUE] for flow, kind in zip(flows, kinds, strict=True)
    ]
    values = [metric_tables.cells(shown, flow.metrics) for flow in flows]
    if table == "tcp":  # not a metric, but the reference for the RTTs
        headings.insert(1, "base RTT ms")
        for flow, row in zip(flows, values, strict=True):
            row.insert(1, quantity("base_rtt_s", flow.record.base_rtt_s))
    rows = [[*row, *more] for row, more in zip(rows, values, strict=True)]
    headings = ["flow", heading, *headings]
    right = range(2, len(headings))
    if any(ended_early(flow.record) for flow in flows):
        headings.append("outcome")
        rows = [[*row, ending(flow.record)] for row, flow in zip(rows, flows, strict=True)]
    return terminal.table(headings, rows, right=right)


def _programs(programs: Sequence[ProgramEnd]) -> Any:
    """Return a table of programs and how they ended."""
    rows = [
        [one.flow, one.role, f"{one.begun_s:.6f}", f"{one.ended_s:.6f}", one.ending,
         str(one.stdout_bytes), str(one.stderr_bytes)]
        for one in programs
    ]  # fmt: skip
    headings = ["flow", "program", "from s", "to s", "ended by", "stdout bytes", "stderr bytes"]
    return terminal.table(headings, rows, right=(2, 3, 5, 6))


def _numbers(extracted: Sequence[FlowNumber]) -> Any:
    """Return a table of the numbers of programs' output."""
    rows = [
        [one.flow, one.number.metric, quantities.quantity(one.number.value, one.metric.unit),
         quantities.unit(one.metric.unit), one.found]
        for one in extracted
    ]  # fmt: skip
    return terminal.table(["flow", "number of its output", "value", "unit", "found"], rows, (2,))


def print_programs(programs: Sequence[ProgramEnd]) -> None:
    """Print each stream of each program under a line that names it.

    What they printed is a stranger's text: control characters are escaped.
    """
    if not programs:
        terminal.say("the run has no flow of kind program")
    for one in programs:
        for name, text in (("standard output", one.stdout), ("standard error", one.stderr)):
            if text:
                terminal.say(f"--- {one.flow}, {one.role}, {name}")
                for line in text.splitlines():
                    terminal.say(plaintext.one_line(line))
        terminal.say(f"--- {one.flow}, {one.role}: {one.ending} at {one.ended_s:.6f} s")


def print_files(files: Sequence[FlowFile], out: Console) -> None:
    """Print a table of the files that programs have left: those that are kept, and the others."""
    rows = [
        [one.flow, one.file.role, one.file.name,
         quantities.NO_VALUE if one.file.size_bytes is None else str(one.file.size_bytes),
         one.file.sha256 or f"not kept: {one.file.reason}"]
        for one in files
    ]  # fmt: skip
    if rows:
        out.print(terminal.table(["flow", "program", "file", "bytes", "SHA-256"], rows, right=(3,)))


def _further(flows: Sequence[FlowResult], links: Sequence[LinkResult], out: Console) -> None:
    """Print the metrics of flows and bottlenecks that the short tables leave out."""
    tcp = {flow.name: flow.metrics for flow in flows if flow.record.transport == "tcp"}
    udp = {flow.name: flow.metrics for flow in flows if flow.record.transport == "udp"}
    tables = [
        *metric_tables.further("flow", tcp, ("tcp", "transfers")),
        *metric_tables.further("flow", udp, ("udp", "transfers")),
        *metric_tables.further("link", {link.name: link.metrics for link in links}, ("link",)),
    ]
    for table in tables:
        out.print(table)
        out.print()
    for subjects in (tcp, udp):
        if metric_tables.left_out(subjects):
            _line(f"and {metric_tables.left_out(subjects)} more flows, which --json lists", out)


def _windows(run: RunResult) -> Any:
    """Return a table of every flow's goodput in each window, in Mbit/s."""
    goodputs = [
        [quantity("goodput_bps", flow.metrics["goodput_bps"]) for flow in window.flows]
        for window in run.windows.values()
    ]
    rows = [[flow.name, *values] for flow, *values in zip(run.flows, *goodputs, strict=True)]
    headings = ["goodput Mbit/s of", *run.windows]
    return terminal.table(headings, rows, right=range(1, len(headings)))


def _links(links: Sequence[LinkResult]) -> Any:
    shown = metric_tables.columns("link", [link.metrics for link in links])
    rows = [
        [link.name, rate(link.rates), *metric_tables.cells(shown, link.metrics)] for link in links
    ]
    headings = ["bottleneck", "rate Mbit/s", *(heading for heading, _ in shown)]
    return terminal.table(headings, rows, right=range(1, len(headings)))


def _print_checks(checks: Sequence[Check], out: Console) -> None:
    """Print a table of the checks, and below it the details that are too long for a column."""
    rows = [
        [
            outcome_words(check.ok, check.measured),
            check.name,
            *map(_plain, (check.expected, check.measured, check.tolerance)),
            check.unit,
            check.detail if len(check.detail) <= _LONGEST_DETAIL else "see below",
        ]
        for check in checks
    ]
    headings = ["check", "of", "expected", "measured", "tolerance", "unit", ""]
    out.print(terminal.table(headings, rows, right=(2, 3, 4)))
    for check in checks:
        if len(check.detail) > _LONGEST_DETAIL:
            _line(f"{check.name}: {check.detail}", out)


def _line(text: str, out: Console) -> None:
    terminal.print_line(text, out)


def _plain(value: object) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return quantities.NO_VALUE
    return f"{value:.6g}" if isinstance(value, float) else str(value)
