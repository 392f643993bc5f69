"""Prints a run's document (the JSON of ``run`` and ``show``) as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from orchestrator import plaintext
from orchestrator.cli import _output

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]

_UNITS = (("_bps", 1e6, 3, "Mbit/s"), ("_s", 1e-3, 3, "ms"))
_COUNTS = ("_packets", "_segments", "_bytes")

_Columns = tuple[tuple[str, str], ...]

_TCP_COLUMNS: _Columns = (
    ("goodput_bps", "goodput Mbit/s"),
    ("base_rtt_s", "base RTT ms"),
    ("rtt_mean_s", "RTT mean ms"),
    ("rtt_p95_s", "RTT p95 ms"),
    ("rtt_max_s", "RTT max ms"),
    ("retransmitted_segments", "retransmits"),
)
_UDP_COLUMNS: _Columns = (
    ("goodput_bps", "goodput Mbit/s"),
    ("sent_packets", "sent"),
    ("received_packets", "received"),
    ("loss_ratio", "loss ratio"),
    ("one_way_delay_min_s", "delay min ms"),
    ("one_way_delay_mean_s", "mean ms"),
    ("one_way_delay_max_s", "max ms"),
    ("jitter_s", "jitter ms"),
)
_TRANSFER_COLUMNS: _Columns = (
    ("transfers", "transfers"),
    ("transfers_completed", "completed"),
    ("fct_mean_s", "FCT mean ms"),
    ("fct_p50_s", "median ms"),
    ("fct_p95_s", "p95 ms"),
    ("fct_p99_s", "p99 ms"),
    ("transfer_goodput_bps", "goodput Mbit/s"),
)
_MAIN_METRICS: tuple[tuple[str, str], ...] = (
    ("utilisation", "utilisation"),
    ("jain_index", "Jain's index"),
    ("loss_ratio", "loss ratio"),
)
_LINK_COLUMNS: tuple[tuple[str, str], ...] = (
    ("utilisation", "utilisation"),
    ("drops_packets", "drops"),
    ("queue_delay_mean_s", "queue mean ms"),
    ("queue_delay_p95_s", "queue p95 ms"),
)

_MARKS = ("marks_packets", "marks")
_EVENT_TIMES = ("time_s", "applied_s")
_MOST_EVENTS = 20

CHECK_MARKS = {True: "ok", False: "FAILED", None: "not measured"}


def quantity(name: str, value: object) -> str:
    """Return a value for people, in the unit of :func:`unit`."""
    if value is None:
        return _output.NO_VALUE
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    for suffix, scale, digits, _ in _UNITS:
        if name.endswith(suffix):
            return _output.number(value, digits, scale)
    whole = name.endswith(_COUNTS) or isinstance(value, int)
    return _output.integer(value) if whole else f"{value:#.4g}"


def unit(name: str) -> str:
    """Return the unit in which :func:`quantity` gives a value of that name; may be empty."""
    for suffix, _, _, shown in _UNITS:
        if name.endswith(suffix):
            return shown
    return next((suffix[1:] for suffix in _COUNTS if name.endswith(suffix)), "")


def rate(link: Document) -> str:
    """Return a link's rate in Mbit/s.

    One change is shown as ``10.000 -> 5.000``, several as the range. A rate that follows a trace or
    a model is shown in a plan as ``~`` and its mean.
    """
    first = quantity("rate_bps", link["rate_bps"])
    if link["rate_changes"] is None:
        return f"~{first}"
    if not link["rate_changes"]:
        return first
    if link["rate_changes"] == 1:
        return f"{first} -> {quantity('rate_bps', link['rate_end_bps'])}"
    least, most = (quantity("rate_bps", link[f"rate_{end}_bps"]) for end in ("min", "max"))
    return f"{least}..{most}"


def events(listed_events: Sequence[Document], out: Console) -> None:
    """Print a table of the first events, with the applied times where they are known."""
    rows = [
        [
            f"{event['time_s']:.6g}",
            *([f"{event['applied_s']:.9f}"] if "applied_s" in event else []),
            _output.pairs({key: value for key, value in event.items() if key not in _EVENT_TIMES}),
        ]
        for event in listed_events[:_MOST_EVENTS]
    ]
    applied = ["applied at s"] if listed_events and "applied_s" in listed_events[0] else []
    right = range(1 + len(applied))
    out.print(_output.table(["event at s", *applied, "what"], rows, right=right))
    if len(listed_events) > _MOST_EVENTS:
        _line(f"and {len(listed_events) - _MOST_EVENTS} more; --json lists all", out)


def headline(run: Document) -> str:
    """Return a run's id, variant, seed and times on one line."""
    words = [variant(run["variant"])] if run["variant"] else []
    words.append(f"repetition {run['repetition']}, seed {run['seed']}")
    if run["status"] == "ok":
        words.append(f"{run['simulated_s']:.4g} s simulated in {run['wall_s']:.1f} s")
    return f"{run['id']}: {', '.join(words)}"


def outcome(run: Document) -> str:
    """Return the status, or the verdict and the number of checks that passed."""
    if run["status"] != "ok":
        return f"{run['status']}: {run['error']}" if run["error"] else str(run["status"])
    checks = run["fidelity"]["checks"]
    passed = sum(check["ok"] is True for check in checks)
    return f"{run['fidelity']['verdict']}: {passed} of {_output.plural(len(checks), 'check')}"


def variant(values: Mapping[str, Any]) -> str:
    """Return the values of a matrix on one line."""
    return " ".join(f"{path}={value}" for path, value in values.items())


def print_run(run: Document, out: Console, everything: bool = False) -> None:
    """Print one run: flows, bottlenecks, the main metrics, and the checks that did not pass.

    ``everything`` adds all other metrics and checks.
    """
    _line(headline(run), out)
    if run["status"] != "ok":
        _line(outcome(run), out)
        return
    for table in _flows(run["flows"]):
        out.print()
        out.print(table)
    if run["windows"]:
        out.print()
        out.print(_windows(run))
    bottlenecks = [
        link for link in run["links"] if link["bottleneck"] and link["utilisation"] is not None
    ]
    if bottlenecks:
        out.print()
        out.print(_links(bottlenecks))
    if everything and run["events"]:
        out.print()
        events(run["events"], out)
    out.print()
    metrics = run["metrics"]
    if everything:
        rows = [[name, quantity(name, value), unit(name)] for name, value in metrics.items()]
        out.print(_output.table(["metric", "value", "unit"], rows, right=(1,)))
        out.print()
    else:
        shown = [f"{words} {quantity(name, metrics.get(name))}" for name, words in _MAIN_METRICS]
        _line(", ".join(shown), out)
    _line(outcome(run), out)
    checks = [check for check in run["fidelity"]["checks"] if everything or check["ok"] is not True]
    if checks:
        out.print(_checks(checks))


def print_list(runs: Sequence[Document], out: Console, scenarios: bool = False) -> None:
    """Print a table with a row for each run, with ``scenarios`` also the runs' scenarios."""
    names = ("goodput_bps", "utilisation", "jain_index")
    rows = [
        [
            run["id"],
            *([run["scenario"]] if scenarios else []),
            variant(run["variant"]) or _output.NO_VALUE,
            str(run["repetition"]),
            str(run["seed"]),
            run["status"],
            run["fidelity"]["verdict"] or _output.NO_VALUE,
            *(quantity(name, run["metrics"].get(name)) for name in names),
            _output.number(run["wall_s"], 1),
        ]
        for run in runs
    ]
    headings = ["run", *(["scenario"] if scenarios else []), "variant", "repetition", "seed"]
    headings += ["status", "verdict", "goodput Mbit/s", "utilisation", "Jain's index", "wall s"]
    words = {"run", "scenario", "variant", "status", "verdict"}
    numbers = [index for index, heading in enumerate(headings) if heading not in words]
    out.print(_output.table(headings, rows, right=numbers))


def _flows(flows: Sequence[Document]) -> Iterable[Any]:
    """Yield the tables of TCP flows, UDP flows and transfers, each only if there are any."""
    tcp = [flow for flow in flows if flow.get("transport") != "udp"]
    udp = [flow for flow in flows if flow.get("transport") == "udp"]
    many = [flow for flow in flows if flow.get("transfers") is not None]
    if tcp:
        yield _of_flows(tcp, "congestion_control", "congestion control", _TCP_COLUMNS)
    if udp:
        yield _of_flows(udp, "traffic", "UDP", _UDP_COLUMNS)
    if many:
        yield _of_flows(many, "traffic", "traffic", _TRANSFER_COLUMNS)


def _of_flows(flows: Sequence[Document], what: str, heading: str, columns: _Columns) -> Any:
    rows = [
        [
            flow["name"],
            flow[what] or _output.NO_VALUE,
            *(quantity(name, flow.get(name)) for name, _ in columns),
        ]
        for flow in flows
    ]
    headings = ["flow", heading, *(heading for _, heading in columns)]
    return _output.table(headings, rows, right=range(2, len(headings)))


def _windows(run: Document) -> Any:
    """Return a table of every flow's goodput in each window, in Mbit/s."""
    windows = run["windows"]
    rows = [
        [
            flow["name"],
            *(
                quantity("goodput_bps", each["flows"][i]["goodput_bps"])
                for each in windows.values()
            ),
        ]
        for i, flow in enumerate(run["flows"])
    ]
    return _output.table(["goodput Mbit/s of", *windows], rows, right=range(1, len(windows) + 1))


def _links(links: Sequence[Document]) -> Any:
    columns = [*_LINK_COLUMNS]
    if any(link.get(_MARKS[0]) for link in links):  # of ECN
        columns.insert(2, _MARKS)
    rows = [
        [
            f"{link['name']}:{link['direction']}",
            rate(link),
            *(quantity(name, link.get(name)) for name, _ in columns),
        ]
        for link in links
    ]
    headings = ["bottleneck", "rate Mbit/s", *(heading for _, heading in columns)]
    return _output.table(headings, rows, right=range(1, len(headings)))


def _checks(checks: Iterable[Document]) -> Any:
    rows = [
        [
            CHECK_MARKS[check["ok"]],
            check["name"],
            *(_plain(check[part]) for part in ("expected", "measured", "tolerance")),
            check["unit"],
            check["detail"],
        ]
        for check in checks
    ]
    headings = ["check", "of", "expected", "measured", "tolerance", "unit", ""]
    return _output.table(headings, rows, right=(2, 3, 4))


def _line(text: str, out: Console) -> None:
    out.print(plaintext.visible(text), markup=False, soft_wrap=True)


def _plain(value: object) -> str:
    if value is None:
        return _output.NO_VALUE
    return f"{value:.6g}" if isinstance(value, float) else str(value)
