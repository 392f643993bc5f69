"""Checks that involve several values of a scenario.

They read the tree instead of the model, and skip values that are not valid by themselves. So one
validation reports their faults together with all others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from kmods.catalogue import Module
from orchestrator import units
from orchestrator.errors import Fault
from orchestrator.kinds.congestion import MAINLINE, Modules, whole
from orchestrator.kinds.fields import Path
from orchestrator.kinds.traffic import TRAFFIC
from orchestrator.protocol.units import NS_PER_S
from orchestrator.scenario.document import Node, Scalar, Sequence, find, nearest, plain
from orchestrator.suggestions import suggest
from orchestrator.units import format_time, listed, shown
from topologies import TOPOLOGIES


def check(tree: Node, modules: Modules) -> list[Fault]:
    """Return the faults between the values of a scenario."""
    rules = (_times, _samples, _windows, _flows, _events, _names)
    findings = [fault for rule in rules for fault in rule(tree)]
    findings += _kernel_wide(tree, modules)
    return [nearest(tree, path).fault(message) for path, message in findings]


Finding = tuple[Path, str]


def _time_ns(tree: Node, path: Path, default: int | None = None) -> int | None:
    """Return a time in ns, the default when it is missing, None when it is not valid."""
    node = find(tree, path)
    if node is None or (isinstance(node, Scalar) and node.value is None):
        return default
    try:
        return units.parse_time_ns(plain(node))
    except units.UnitError:
        return None


def _text(tree: Node, path: Path) -> str | None:
    node = find(tree, path)
    return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else None


def _items(tree: Node, path: Path) -> list[Path]:
    """Return the path of each item of a list; empty when there is no list."""
    node = find(tree, path)
    return (
        [(*path, index) for index in range(len(node.items))] if isinstance(node, Sequence) else []
    )


def _shown_ns(time_ns: int) -> str:
    return format_time(time_ns / NS_PER_S)


def _times(tree: Node) -> Iterator[Finding]:
    duration = _time_ns(tree, ("duration",))
    if not duration:
        return
    for key in ("warmup", "start_jitter"):
        time = _time_ns(tree, (key,), 0)
        if time is not None and time >= duration:
            yield (key,), f"{key} must be shorter than the duration of {_shown_ns(duration)}"


def _samples(tree: Node) -> Iterator[Finding]:
    duration = _time_ns(tree, ("duration",))
    for key, default_ns in (("tcp", 100_000_000), ("queue", 100_000_000), ("counters", None)):
        period = _time_ns(tree, ("sample", key), default_ns)
        if duration and period and period > duration:
            yield (
                ("sample", key) if find(tree, ("sample", key)) else ("duration",),
                f"the sampling period of {_shown_ns(period)} ({key}) is longer than the "
                f"duration of {_shown_ns(duration)}",
            )


def _windows(tree: Node) -> Iterator[Finding]:
    duration = _time_ns(tree, ("duration",))
    for item in _items(tree, ("measure",)):
        begin, end = _time_ns(tree, (*item, "from")), _time_ns(tree, (*item, "to"))
        if duration and end is not None and end > duration:
            yield (*item, "to"), f"a window must end by the duration of {_shown_ns(duration)}"
        if begin is not None and end is not None and begin >= end > 0:
            yield (*item, "from"), f"a window must begin before it ends at {_shown_ns(end)}"


def _flows(tree: Node) -> Iterator[Finding]:
    groups = _groups(tree)
    known = set(groups or ())
    for item in _items(tree, ("flows",)):
        multipath = find(tree, (*item, "mptcp")) is not None
        if find(tree, (*item, "group")) is None:
            if not multipath and not _names_hosts(tree, item):
                yield item, "`group` is missing"
        elif multipath:
            yield (*item, "group"), "the paths of `mptcp` are its groups: leave `group` out"
        for place in ((*item, "group"), *_items(tree, (*item, "mptcp", "paths"))):
            name = _text(tree, place)
            if groups is not None and name is not None and name not in known:
                yield (
                    place,
                    f"there is no group {shown(name)}{suggest(name, groups)}; "
                    f"defined: {listed(groups) or 'none'}",
                )
        yield from _schedule(tree, item)


def _names_hosts(tree: Node, flow: Path) -> bool:
    """Tell whether the traffic of a flow entry names its own hosts."""
    node = find(tree, (*flow, "traffic"))
    kind = None if node is None else TRAFFIC.of(plain(node))
    return kind is not None and kind.names_hosts


def _schedule(tree: Node, flow: Path) -> Iterator[Finding]:
    """Check that a flow starts, with all its jitter, before it stops, and stops by the end."""
    duration = _time_ns(tree, ("duration",))
    jitter = _time_ns(tree, ("start_jitter",), 0)
    start = _time_ns(tree, (*flow, "start"), 0)
    stop = _time_ns(tree, (*flow, "stop"), duration)
    if duration and stop is not None and stop > duration:
        yield (*flow, "stop"), f"a flow must stop by the duration of {_shown_ns(duration)}"
        return
    if start is None or not stop or jitter is None or (duration and jitter >= duration):
        return
    if start + jitter >= stop:
        key = "start" if find(tree, (*flow, "start")) else "stop"
        extra = f" plus start_jitter ({_shown_ns(jitter)})" if jitter else ""
        yield (
            (*flow, key),
            f"the start ({_shown_ns(start)}){extra} must be before the flow's end "
            f"({_shown_ns(stop)})",
        )


def _events(tree: Node) -> Iterator[Finding]:
    """Check that events are within the traffic's time, and that ``until`` comes with ``every``."""
    duration = _time_ns(tree, ("duration",))
    for item in _items(tree, ("events",)):
        begin, end = _time_ns(tree, (*item, "at")), _time_ns(tree, (*item, "until"))
        if duration and begin is not None and begin >= duration:
            yield (*item, "at"), f"must be before the end at {_shown_ns(duration)}"
        if find(tree, (*item, "until")) is None:
            continue
        if find(tree, (*item, "every")) is None:
            yield (*item, "until"), "`until` ends a repetition, so it needs `every`"
        elif duration and end is not None and end > duration:
            yield (*item, "until"), f"must not be after the end at {_shown_ns(duration)}"
        elif begin is not None and end is not None and end <= begin:
            yield (*item, "until"), f"must be after the first time, {_shown_ns(begin)}"


def _groups(tree: Node) -> list[str] | None:
    """Return the names of the topology's groups, None when they cannot be known."""
    node = find(tree, ("topology",))
    data = plain(node) if node else None
    kind = TOPOLOGIES.of(data)
    if kind is None or not isinstance(data, dict):
        return None
    names = kind.group_names(data)
    if not all(isinstance(name, str) for name in names):
        return None
    return list(dict.fromkeys(map(str, names)))


def _kernel_wide(tree: Node, modules: Modules) -> Iterator[Finding]:
    """Check that a name means one congestion control, with one set of parameters of the kernel.

    The plan compares settings of a namespace, because it knows the hosts.
    """
    sources: dict[str, tuple[Path, object]] = {}
    parameters: dict[object, tuple[Path, object]] = {}
    for control_path in _controls(tree):
        path, node = control_path[:2], find(tree, control_path)
        given = None if node is None else plain(node)
        control = given if isinstance(given, dict) else {"name": given}
        name, folder = control.get("name"), control.get("module")
        module = modules.find(name, folder)
        if not isinstance(name, str) or (module is None and folder is not None):
            continue
        linux = folder is None and name in MAINLINE
        source = "Linux" if linux or module is None else module.source
        first, other = sources.setdefault(name, (path, source))
        if other != source:
            yield (
                control_path,
                f"a kernel has only one {name}, and {_flow(tree, first)} uses that of {other}, not "
                f"of {source}",
            )
        elif module is not None:
            mine = _of_kernel(module, control.get("parameters"))
            first, other = parameters.setdefault(module.source, (path, mine))
            if other != mine:
                yield (
                    control_path,
                    f"parameters of {name} hold for the whole kernel, and {_flow(tree, first)} "
                    f"sets {_given(other)}, not {_given(mine)}",
                )


def _flow(tree: Node, path: Path) -> str:
    """Return the words of a message for the flow entry at that path."""
    name = _text(tree, (*path, "name"))
    return f"flow entry {path[-1]}" if name is None else f"flow {shown(name)}"


def _given(parameters: object) -> str:
    """Return parameters of the kernel as a message shows them."""
    known = parameters.items() if isinstance(parameters, dict) else ()
    return " ".join(f"{key}={value}" for key, value in known) or "none"


def _controls(tree: Node) -> Iterator[Path]:
    """Yield the path of each congestion control of the flows and of their traffic."""
    for path in _items(tree, ("flows",)):
        yield (*path, "congestion")
        yield from _items(tree, (*path, "traffic", "controls"))


def _of_kernel(module: Module, given: object) -> dict[str, object]:
    """Return the valid parameters that hold for the kernel, as numbers."""
    numbers: dict[str, object] = {}
    for key, value in given.items() if isinstance(given, dict) else ():
        parameter = module.parameters.get(key)
        if parameter is not None and parameter.scope == "kernel":
            with contextlib.suppress(ValueError):
                number = whole(parameter, value)
                if parameter.fault(number) is None:
                    numbers[key] = number
    return numbers


def _names(tree: Node) -> Iterator[Finding]:
    for path, what in (
        (("flows",), "flow"),
        (("topology", "groups"), "group"),
        (("measure",), "window"),
    ):
        first: dict[str, Path] = {}
        for item in _items(tree, path):
            name = _text(tree, (*item, "name"))
            if name is not None and name in first:
                mark = nearest(tree, first[name])
                yield (
                    (*item, "name"),
                    f"{what} {shown(name)} is given twice; first at line {mark.line}, "
                    f"column {mark.column}",
                )
            elif name is not None:
                first[name] = (*item, "name")
