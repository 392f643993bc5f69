"""The command line of a scenario's network, without its flows: ``orchestrator shell``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator import backends
from orchestrator.application.events import Listener, Preparing
from orchestrator.backends.contract import BackendOptions
from orchestrator.backends.guest import Guest, network_shell
from orchestrator.errors import UsageError
from orchestrator.planning.plan import plan
from orchestrator.protocol.numbering import CHANNEL_ENDS, host_address
from orchestrator.scenario import load
from orchestrator.suggestions import suggest
from orchestrator.units import format_rate, format_time, listed

if TYPE_CHECKING:
    from orchestrator.network import Channel, Network
    from orchestrator.protocol.commands import Command

HELP = """\
nodes                  hosts with their addresses, and switches
links                  links, with rate, delay and queue of each direction
ping HOST HOST [N]     N round trips from the first host to the second one, 3 by default
pingall                a round trip between each two hosts
tc [LINK]              counters of the queues, as `tc -s qdisc` has them
HOST COMMAND           run a line of bash in that host, such as: {first} ss -tin
HOST                   run all further lines in that host, until `exit`
exit                   leave; Ctrl-D does the same, and Ctrl-C ends a command
"""
MOST_ECHOES = 10_000
_WRONG = 2

Say = Callable[[str], None]
"""Takes text as programs have printed it, which may be hostile."""


@dataclass(frozen=True)
class ShellRequest:
    """A scenario whose network is wanted, ``overrides`` as of ``--set``, and its form.

    ``host`` is where commands run from the start on; None: those of the network.
    """

    file: Path
    overrides: Sequence[str] = ()
    reduced: bool = False
    host: str | None = None


@contextlib.contextmanager
def opened(request: ShellRequest, listener: Listener, say: Say) -> Iterator[CommandLine]:
    """Build the network in a guest in virtual time, and yield its command line.

    It is the network of the scenario's first variant at the start: nothing that the scenario plans
    happens. ``say`` takes what commands print.

    Raises:
        GuestError: the network cannot be built, or its guest ended.
        MachineError: this machine cannot run a guest.
        ScenarioError: the scenario is not valid.
        UsageError: there is no such host, or the network is a real one.
    """
    planned = plan(load(request.file, request.overrides, request.reduced))
    spec = planned.runs[0]
    if spec.network.live:
        raise UsageError("the topology live-path is a real network: nothing of it can be built")
    if request.host is not None:
        _require_host(request.host, spec.network.hosts)

    def preparing(step: str, fraction: float | None) -> None:
        listener(Preparing(step, fraction))

    options = BackendOptions(preparing, kernels=(spec.kernel,))
    guest = backends.make(backends.DEFAULT, options)
    assert isinstance(guest, Guest)
    guest.prepare(replace(planned, runs=[spec]))
    preparing("building the network", None)
    with network_shell.opened(guest, spec, say) as shell:
        yield CommandLine(spec.network, shell.run, say, request.host)


def _require_host(name: str, hosts: Sequence[str]) -> None:
    if name not in hosts:
        raise UsageError(f"there is no host {name}{suggest(name, hosts)}; hosts: {listed(hosts)}")


@dataclass
class CommandLine:
    """Executes lines that a user types.

    ``run`` executes a command in the network and returns its exit status; ``host`` is where lines
    run, None for the commands of the network.
    """

    network: Network
    run: Callable[[Command], int]
    say: Say
    host: str | None = None
    has_ended: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._began_in_host = self.host is not None
        self._commands: dict[str, Callable[[list[str]], int]] = {
            "help": self._help,
            "nodes": self._nodes,
            "links": self._links,
            "ping": self._ping,
            "pingall": self._ping_all,
            "tc": self._queues,
        }

    @property
    def names(self) -> Sequence[str]:
        """What a line may begin with."""
        return sorted((*self._commands, "exit", *self.network.hosts))

    def execute(self, line: str) -> int:
        """Execute a line; return its exit status, 2 for a line that is no command."""
        words = line.split()
        if not words or words[0].startswith("#"):
            return 0
        if words == ["exit"]:
            self.has_ended = self.host is None or self._began_in_host
            self.host = None
            return 0
        if self.host is not None:
            return self._in(self.host, line)
        name, rest = words[0], words[1:]
        try:
            if name in self.network.hosts:
                if not rest:
                    self.host = name
                    return 0
                return self._in(name, line.strip()[len(name) :].strip())
            if name not in self._commands:
                raise UsageError(f"unknown command {name}{suggest(name, self.names)}; try `help`")
            return self._commands[name](rest)
        except UsageError as error:
            self.say(f"error: {error}\n")
            return _WRONG

    def _in(self, host: str, line: str) -> int:
        return self.run({"kind": "run", "host": host, "line": line})

    def _help(self, words: list[str]) -> int:
        _require(not words, "help")
        self.say(HELP.format(first=self.network.hosts[0]))
        return 0

    def _nodes(self, words: list[str]) -> int:
        _require(not words, "nodes")
        for number, host in enumerate(self.network.hosts, start=1):
            self.say(f"{host}  {host_address(number)}\n")
        for switch in self.network.switches:
            self.say(f"{switch}  switch\n")
        return 0

    def _links(self, words: list[str]) -> int:
        _require(not words, "links")
        for link in self.network.links:
            for channel, (source, sink) in (
                (link.forward, (link.a, link.b)),
                (link.reverse, (link.b, link.a)),
            ):
                self.say(f"{link.name}: {source} -> {sink}: {_described(channel)}\n")
        return 0

    def _ping(self, words: list[str]) -> int:
        _require(len(words) in (2, 3), "ping HOST HOST [N]")
        source, sink = words[:2]
        for host in (source, sink):
            _require_host(host, self.network.hosts)
        _require(source != sink, "ping HOST HOST [N], with two hosts")
        count = words[2] if len(words) == 3 else "3"
        if not count.isdecimal() or not 1 <= int(count) <= MOST_ECHOES:
            raise UsageError(f"N is {count}: give a whole number from 1 to {MOST_ECHOES}")
        return self.run({"kind": "ping", "source": source, "sink": sink, "echoes": int(count)})

    def _ping_all(self, words: list[str]) -> int:
        _require(not words, "pingall")
        status = 0
        for source, sink in permutations(self.network.hosts, 2):
            self.say(f"{source} -> ")
            status |= self.run({"kind": "ping", "source": source, "sink": sink, "echoes": 1})
        return status

    def _queues(self, words: list[str]) -> int:
        _require(len(words) <= 1, "tc [LINK]")
        names = [link.name for link in self.network.links]
        if words and words[0] not in names:
            raise UsageError(
                f"there is no link {words[0]}{suggest(words[0], names)}; links: {listed(names)}"
            )
        status = 0
        for number, link in enumerate(self.network.links):
            if words and words[0] != link.name:
                continue
            for direction, (_source, sink) in CHANNEL_ENDS.items():
                self.say(f"{link.name}, {direction}:\n")
                # A device of the namespace of the wires; see WireLink of the test bed.
                line = f"tc -s qdisc show dev w{number}{sink}"
                status |= self.run({"kind": "run", "host": None, "line": line})
        return status


def _require(fits: bool, usage: str) -> None:
    if not fits:
        raise UsageError(f"write: {usage}")


def _described(channel: Channel) -> str:
    """Return rate, delay, queue and loss of one direction of a link."""
    parts = ["no limit of rate" if channel.rate_bps is None else format_rate(channel.rate_bps)]
    parts.append(f"delay {format_time(channel.delay_s)}")
    queue = channel.queue
    if queue is not None:
        limit = ""
        if queue.limit_packets is not None:
            limit = f" of {queue.limit_packets} packets"
        elif queue.limit_bytes is not None:
            limit = f" of {queue.limit_bytes} bytes"
        parts.append(f"{queue.kind}{limit}")
    if channel.mean_loss:
        parts.append(f"mean loss {channel.mean_loss:.3g}")
    return ", ".join(parts)
