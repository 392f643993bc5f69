"""Prints a run's document (the JSON of ``run`` and ``show``) as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from orchestrator import plaintext
from orchestrator.cli import _metrics, _output

if TYPE_CHECKING:
    from rich.console import Console

    from results.metrics.base import Table

Document = Mapping[str, Any]

_UNITS = {"_bps": "bit/s", "_s": "s", "_packets": "packets", "_segments": "segments",
          "_bytes": "bytes"}  # fmt: skip
"""Unit of a value by the end of its name in the documents."""

_EVENT_TIMES = ("time_s", "applied_s")
_DEPENDS_ON_SAMPLING = "digest: another sampling period may give another one"
_MOST_EVENTS = 20
_LEAST_DERIVED = 10**9
"""Seeds from here on are taken as drawn by the program: with `seeds: independent` all are."""

CHECK_MARKS = {True: "ok", False: "FAILED", None: "not measured"}


def quantity(name: str, value: object) -> str:
    """Return a value as text, in the unit that :func:`unit` returns."""
    return _metrics.quantity(value, _stored_unit(name))


def unit(name: str) -> str:
    """Return the unit in which :func:`quantity` gives a value of that name; may be empty."""
    return _metrics.unit(_stored_unit(name))


def _stored_unit(name: str) -> str:
    return next((stored for suffix, stored in _UNITS.items() if name.endswith(suffix)), "1")


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


def variant(values: Mapping[str, Any], labels: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the values of a matrix on one line; ``labels`` has short names of paths."""
    from results.axes import conditions

    return " ".join(conditions({labels.get(path, path): one for path, one in values.items()}))


def short_names(runs: Iterable[Document]) -> dict[str, str]:
    """Return the shortest name of each path of the runs' variants that no other one ends with."""
    from results.axes import labels

    return labels(list(dict.fromkeys(path for run in runs for path in run["variant"])))


def print_run(run: Document, out: Console, everything: bool = False) -> None:
    """Print one run: flows, bottlenecks, the main metrics, and the checks that did not pass.

    ``everything`` adds all other metrics and checks.
    """
    _line(headline(run), out)
    _remarks(run, out)
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
    if everything:
        out.print(_metrics.of_run(run["metrics"]))
        out.print()
        _further(run["flows"], bottlenecks, out)
    else:
        _line(_metrics.summary(run["metrics"]), out)
    _line(outcome(run), out)
    if run["digest_depends_on_sampling"]:
        _line(_DEPENDS_ON_SAMPLING, out)
    checks = [check for check in run["fidelity"]["checks"] if everything or check["ok"] is not True]
    if checks:
        out.print(_checks(checks))


def _remarks(run: Document, out: Console) -> None:
    """Print the tags and notes of a run."""
    if run["tags"]:
        _line(f"tags: {', '.join(run['tags'])}", out)
    for note in run["notes"]:
        moment = f"{note['noted_at'][:16].replace('T', ' ')} UTC"
        _line(f"note {note['number']} ({moment}): {note['text']}", out)


def congestion_controls(flows: Sequence[Document]) -> str:
    """Return the different congestion controls of flows, in their order; UDP has none."""
    controls = [flow["congestion_control"] for flow in flows]
    return ", ".join(dict.fromkeys(control for control in controls if control))


def seed(run: Document) -> str:
    """Return a run's seed as a short number for people.

    Repetition 0 has the scenario's own seed. Those of the others have up to 19 digits and follow
    from it, so they are shown as the number of the repetition.
    """
    derived = run["repetition"] or run["seed"] >= _LEAST_DERIVED
    return f"#{run['repetition']}" if derived else str(run["seed"])


def print_list(runs: Sequence[Document], out: Console, scenarios: bool = False) -> None:
    """Print one line for each run, with its scenario when scenarios may differ."""
    shown = _metrics.columns("runs", [run["metrics"] for run in runs])
    tagged = any(run["tags"] for run in runs)
    labels = short_names(runs)
    rows = [
        [
            run["id"],
            *([run["scenario"]] if scenarios else []),
            variant(run["variant"], labels) or _output.NO_VALUE,
            congestion_controls(run["flows"]) or _output.NO_VALUE,
            str(run["repetition"]),
            seed(run),
            run["status"],
            run["fidelity"]["verdict"] or _output.NO_VALUE,
            *([", ".join(run["tags"]) or _output.NO_VALUE] if tagged else []),
            *_metrics.cells(shown, run["metrics"]),
            _output.number(run["wall_s"], 1),
        ]
        for run in runs
    ]
    headings = ["run", *(["scenario"] if scenarios else []), "variant", "congestion controls"]
    headings += ["repetition", "seed", "status", "verdict", *(["tags"] if tagged else [])]
    headings += [*(heading for heading, _ in shown), "wall s"]
    words = {"run", "scenario", "variant", "congestion controls", "status", "verdict", "tags"}
    numbers = [index for index, heading in enumerate(headings) if heading not in words]
    out.print(_output.table(headings, rows, right=numbers))


def _flows(flows: Sequence[Document]) -> Iterable[Any]:
    """Yield the tables of TCP flows, UDP flows and transfers, each only if there are any."""
    tcp = [flow for flow in flows if flow.get("transport") != "udp"]
    udp = [flow for flow in flows if flow.get("transport") == "udp"]
    many = [flow for flow in flows if flow.get("transfers") is not None]
    if tcp:
        yield _of_flows(tcp, "congestion_control", "congestion control", "tcp")
    if udp:
        yield _of_flows(udp, "traffic", "UDP", "udp")
    if many:
        yield _of_flows(many, "traffic", "traffic", "transfers")


def _of_flows(flows: Sequence[Document], what: str, heading: str, table: Table) -> Any:
    shown = _metrics.columns(table, flows)
    headings = [heading for heading, _ in shown]
    rows = [[flow["name"], flow[what] or _output.NO_VALUE] for flow in flows]
    values = [_metrics.cells(shown, flow) for flow in flows]
    if table == "tcp":  # not a metric, but the reference for the RTTs
        headings.insert(1, "base RTT ms")
        for flow, row in zip(flows, values, strict=True):
            row.insert(1, quantity("base_rtt_s", flow["base_rtt_s"]))
    rows = [[*row, *more] for row, more in zip(rows, values, strict=True)]
    headings = ["flow", heading, *headings]
    return _output.table(headings, rows, right=range(2, len(headings)))


def _further(flows: Sequence[Document], links: Sequence[Document], out: Console) -> None:
    """Print the metrics of flows and bottlenecks that the short tables leave out."""
    by_name = {flow["name"]: flow for flow in flows}
    tcp = {name: flow for name, flow in by_name.items() if flow.get("transport") != "udp"}
    udp = {name: flow for name, flow in by_name.items() if name not in tcp}
    tables = [
        *_metrics.further("flow", tcp, ("tcp", "transfers")),
        *_metrics.further("flow", udp, ("udp", "transfers")),
        *_metrics.further("link", {_channel(link): link for link in links}, ("link",)),
    ]
    for table in tables:
        out.print(table)
        out.print()
    for subjects in (tcp, udp):
        if _metrics.left_out(subjects):
            _line(f"and {_metrics.left_out(subjects)} more flows, which --json lists", out)


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
    shown = _metrics.columns("link", links)
    rows = [[_channel(link), rate(link), *_metrics.cells(shown, link)] for link in links]
    headings = ["bottleneck", "rate Mbit/s", *(heading for heading, _ in shown)]
    return _output.table(headings, rows, right=range(1, len(headings)))


def _channel(link: Document) -> str:
    return f"{link['name']}:{link['direction']}"


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
