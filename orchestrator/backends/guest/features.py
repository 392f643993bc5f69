"""What some kernels lack that a run may want, with the kernels that have it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from guest import source
from guest.choice import KernelChoice
from guest.patch_series import Series, series_of
from kmods import catalogue
from orchestrator.errors import MachineError, UsageError
from orchestrator.network import Channel
from orchestrator.planning.randomness import impairs_by_chance
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.specification import TestbedSpec

_RACK = 1
"""The bit of net.ipv4.tcp_recovery by which Linux finds losses by time."""
_DEFER_ACKS = "net.ipv4.tcp_backlog_ack_defer"
_DEFERS_ACKS_SINCE: Series = (6, 7)
"""Commit 133c4c0d3717. An earlier kernel defers none, as this one does with 0."""
_SEEDS_NETEM_SINCE: Series = (6, 6)
_NETEM_SEED = "seed"
_MOST_CLASSIC_ECN = 2
"""Larger values of net.ipv4.tcp_ecn are those of Accurate ECN."""


_EXAMPLES = ("6.12", "7.3", "6.1")


@dataclass(frozen=True)
class Feature:
    """Something that a run may want, and the kernels that have it.

    ``since`` is the first series that has it and ``until`` the first one without it. ``lack`` says
    what a kernel lacks, and ``fix`` what to write instead, beside naming another kernel. A guest's
    kernel has ``option`` in its configuration, unless a scenario's ``config`` takes it away.
    """

    lack: str
    fix: str
    wants: Callable[[RunSpec], bool]
    since: Series | None = None
    until: Series | None = None
    option: str = ""

    def is_in(self, series: Series) -> bool:
        """Whether a kernel has it."""
        return (self.since is None or series >= self.since) and (
            self.until is None or series < self.until
        )

    @property
    def example(self) -> str:
        """A series that has it, of which Debian has the source."""
        return next(text for text in _EXAMPLES if self.is_in(_series(text) or (0, 0)))

    @property
    def kernels(self) -> str:
        """The kernels that have it, in words."""
        first = "" if self.since is None else f"from {_text(self.since)} on"
        last = "" if self.until is None else f"before {_text(self.until)}"
        option = f"with CONFIG_{self.option}=y" if self.option else ""
        return " and ".join(filter(None, (first, last, option)))

    @property
    def named(self) -> str:
        """How to name such a kernel."""
        return f"name such a kernel (`kernel: {self.example}`, --kernel {self.example})"


def _sysctls(spec: RunSpec, name: str) -> list[int]:
    return [int(host.sysctls[name]) for host in spec.hosts.values() if name in host.sysctls]


def _channels(spec: RunSpec) -> Iterator[Channel]:
    """Yield the channels as the run begins, and as they are after events."""
    yield from (hop.channel for link in spec.network.links for hop in link.hops)
    yield from (state.channel for event in spec.events for state in event.channels.values())


def _has_queue(spec: RunSpec, kind: str) -> bool:
    return any(
        channel.queue is not None and channel.queue.kind == kind for channel in _channels(spec)
    )


def _runs(spec: RunSpec, congestion: str) -> bool:
    """Tell whether a flow has this congestion control of ours, and not one of the user's folder."""
    return any(flow.congestion == congestion and flow.module is None for flow in spec.flows)


def _of_modules() -> Iterable[Feature]:
    """Yield what each of our modules needs that some kernels lack."""
    for name, module in catalogue.modules().items():
        if module.since is not None:
            yield Feature(
                f"has no {module.since.what}, which the congestion control `{name}` needs",
                "another congestion control",
                functools.partial(_runs, congestion=name),
                since=module.since.series,
            )


FEATURES = (
    Feature(
        # ip-sysctl.rst of Linux 7.3 says that the bit has no effect any more.
        "has no recovery by duplicate ACKs (`tcp.recovery: dupack`, which the profiles newreno, "
        "reno and sack have)",
        "`tcp.recovery: rack`",
        lambda spec: any(not value & _RACK for value in _sysctls(spec, "net.ipv4.tcp_recovery")),
        until=(6, 17),
    ),
    Feature(
        # TCA_NETEM_PRNG_SEED, commit 4072d97ddc44. Without it netem draws from the kernel's own
        # generator, which other parts of the kernel also draw from.
        "cannot seed the random losses, delays and orders of a link (netem)",
        "links without `loss` by chance, `jitter`, `reordering`, `duplication` and `corruption`",
        lambda spec: any(map(impairs_by_chance, _channels(spec))),
        since=_SEEDS_NETEM_SINCE,
    ),
    Feature(
        "has no setting for deferred ACKs (`tcp.defer_acks: true`)",
        "`tcp.defer_acks: false`",
        lambda spec: any(_sysctls(spec, _DEFER_ACKS)),
        since=_DEFERS_ACKS_SINCE,
    ),
    Feature(
        "has no queue `dualpi2`",
        "another kind of queue",
        lambda spec: _has_queue(spec, "dualpi2"),
        since=(6, 17),
    ),
    Feature(
        "has no Accurate ECN (`tcp.ecn: accurate`, `tcp.ecn_option`)",
        "`tcp.ecn: true`",
        lambda spec: (
            any(value > _MOST_CLASSIC_ECN for value in _sysctls(spec, "net.ipv4.tcp_ecn"))
            or bool(_sysctls(spec, "net.ipv4.tcp_ecn_option"))
        ),
        since=(7, 0),
    ),
    Feature(
        # The counters of a connection, mptcpi_bytes_sent and the following ones, came with 6.5, and
        # mptcpi_subflows_total with 6.8.
        "has no Multipath TCP (`mptcp`)",
        "plain flows (`group`)",
        lambda spec: any(flow.subflow is not None for flow in spec.flows),
        since=(6, 8),
        option="MPTCP",
    ),
    *_of_modules(),
)


def lack_of(spec: RunSpec, release: str) -> str | None:
    """Return what a kernel lacks of what a run wants, and which kernels have it; None if nothing.

    It is the rest of a sentence about the kernel.
    """
    series = _series(release)
    if series is None:
        return None
    for feature in FEATURES:
        built = (feature.option, "n") not in spec.kernel.config
        if not (built and feature.is_in(series)) and feature.wants(spec):
            return f"{feature.lack}: kernels {feature.kernels} do"
    return None


def absent_features(release: str) -> list[str]:
    """Return what a kernel lacks of what a scenario can want, each the rest of a sentence."""
    series = _series(release)
    if series is None:
        return []
    return [
        f"{feature.lack}: kernels {feature.kernels} do"
        for feature in FEATURES
        if not feature.is_in(series)
    ]


def require_features(spec: RunSpec, release: str) -> None:
    """Raise UsageError where a kernel lacks what a run wants, with the kernels that have it."""
    if (problem := _problem(spec, release)) is not None:
        raise UsageError(problem)


def lack_of_named(specs: Iterable[RunSpec]) -> str | None:
    """Return what a run wants and the series that it names lacks, with a fix; None if nothing.

    No kernel has to be there for that.
    """
    for spec in specs:
        named = spec.kernel.source
        if named is None or series_of(named) is None:
            continue
        if (problem := _problem(spec, named)) is not None:
            return problem
    return None


def lack_of_kernel(specs: Iterable[RunSpec]) -> str | None:
    """Return what the kernel of some runs lacks of what one of them wants; None if nothing.

    It is a sentence without an end. Nothing is built: the series is that of the kernel's source.
    Of a source that is not here nothing is known, which making the runs says.
    """
    known: dict[KernelChoice, str | None] = {}
    for spec in specs:
        if spec.kernel not in known:
            known[spec.kernel] = _release_of(spec.kernel)
        release = known[spec.kernel]
        if release is not None and (lack := lack_of(spec, release)) is not None:
            return f"Linux {release} {lack}"
    return None


def _release_of(choice: KernelChoice) -> str | None:
    """Return the series of a kernel's source as text; None where it is not known."""
    try:
        series = source.locate(choice).series()
    except MachineError:
        series = None if choice.source is None else series_of(choice.source)
    return None if series is None else _text(series)


def _problem(spec: RunSpec, release: str) -> str | None:
    if (lack := lack_of(spec, release)) is None:
        return None
    (feature,) = [each for each in FEATURES if lack.startswith(each.lack)]
    return f"Linux {release} {lack}\n  fix: {feature.named}, or write {feature.fix}"


def without_absent(document: TestbedSpec, release: str) -> None:
    """Remove settings that a kernel lacks, and that change nothing there.

    These are a value that it cannot but have, and the seed of a netem that draws nothing.
    """
    series = _series(release)
    if series is None:
        return
    if series < _DEFERS_ACKS_SINCE:
        for settings in document["namespaces"].values():
            if settings.get(_DEFER_ACKS) == 0:
                del settings[_DEFER_ACKS]
    if series < _SEEDS_NETEM_SINCE:
        for link in document["links"]:
            for channel in (link["forward"], link["reverse"]):
                if channel["netem"] is not None:
                    kept = [
                        one for one in channel["netem"]["settings"] if one["name"] != _NETEM_SEED
                    ]
                    channel["netem"]["settings"] = kept


def _series(release: str) -> Series | None:
    match = re.match(r"(\d+)\.(\d+)", release)
    return None if match is None else (int(match[1]), int(match[2]))


def _text(series: Series) -> str:
    return ".".join(map(str, series))
