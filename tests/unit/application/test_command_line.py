"""Lines that a user types in the network of a scenario; what runs them is a fake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.application import command_line
from orchestrator.application.command_line import CommandLine, ShellRequest
from orchestrator.errors import UsageError
from orchestrator.planning.plan import plan
from orchestrator.scenario import load

QUICKSTART = Path("scenarios/quickstart.yaml")
LIVE = Path("scenarios/lab/live-campaign.yaml")


class Typed:
    """A command line with what it printed and ran; each command ends with ``status``."""

    def __init__(self, host: str | None = None) -> None:
        self.said, self.ran, self.status = "", [], 0  # type: str, list[Any], int
        network = plan(load(QUICKSTART, (), False)).runs[0].network
        self.line = CommandLine(network, self._run, self._say, host)

    def _run(self, command: Any) -> int:
        self.ran.append(command)
        return self.status

    def _say(self, text: str) -> None:
        self.said += text

    def __call__(self, *lines: str) -> int:
        self.said, self.ran = "", []
        return [self.line.execute(line) for line in lines][-1]


@pytest.fixture
def typed() -> Typed:
    return Typed()


def in_host(host: str | None, line: str) -> dict[str, object]:
    return {"kind": "run", "host": host, "line": line}


def test_the_network_is_described(typed: Typed) -> None:
    assert typed("nodes", "links") == 0
    assert "a_src0  10.0.0.1\n" in typed.said
    assert "s1  switch\n" in typed.said
    assert "bottleneck: s1 -> s2: 10mbit, delay 10ms, droptail of 100 packets\n" in typed.said
    assert typed.ran == []


def test_a_line_that_begins_with_a_host_runs_there_as_it_was_typed(typed: Typed) -> None:
    typed.status = 7
    assert typed("a_src0 echo 'two  blanks' | cat; false") == 7
    assert typed.ran == [in_host("a_src0", "echo 'two  blanks' | cat; false")]


def test_a_host_alone_takes_all_lines_until_exit(typed: Typed) -> None:
    typed("a_src0", "nodes", "b_dst0 ls", "exit", "nodes")
    assert typed.ran == [in_host("a_src0", "nodes"), in_host("a_src0", "b_dst0 ls")]
    assert "a_src0  10.0.0.1" in typed.said
    assert not typed.line.has_ended
    typed("exit")
    assert typed.line.has_ended


def test_exit_leaves_a_host_that_the_command_named() -> None:
    typed = Typed("a_src0")
    typed("ip address", "exit")
    assert typed.ran == [in_host("a_src0", "ip address")]
    assert typed.line.has_ended


def test_pings_are_the_beds_own(typed: Typed) -> None:
    assert typed("ping a_src0 b_dst0", "ping a_src0 a_dst0 10000") == 0
    assert [(each["source"], each["sink"], each["echoes"]) for each in typed.ran] == [
        ("a_src0", "b_dst0", 3), ("a_src0", "a_dst0", 10000)
    ]  # fmt: skip
    typed.status = 1
    assert typed("pingall") == 1
    assert len(typed.ran) == 4 * 3


def test_queues_are_those_of_both_directions(typed: Typed) -> None:
    typed("tc bottleneck")
    assert typed.ran == [
        in_host(None, "tc -s qdisc show dev w0b"), in_host(None, "tc -s qdisc show dev w0a")
    ]  # fmt: skip
    typed("tc")
    assert len(typed.ran) == 2 * 5


def test_empty_lines_and_comments_are_nothing(typed: Typed) -> None:
    assert typed("", "   ", "# ping") == 0
    assert (typed.ran, typed.said) == ([], "")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("pin", "unknown command pin (did you mean `ping`?); try `help`"),
        ("a_scr0 ls", "unknown command a_scr0 (did you mean `a_src0`?)"),
        ("ping a_src0", "write: ping HOST HOST [N]"),
        ("ping a_src0 x", "there is no host x; hosts: a_src0, a_dst0, b_src0, b_dst0"),
        ("ping a_src0 a_src0", "with two hosts"),
        ("ping a_src0 a_dst0 0", "N is 0: give a whole number from 1 to 10000"),
        ("ping a_src0 a_dst0 -1", "N is -1"),
        ("tc botleneck", "there is no link botleneck (did you mean `bottleneck`?); links: "),
        ("tc a b", "write: tc [LINK]"),
        ("nodes all", "write: nodes"),
    ],
)
def test_what_is_no_command_is_an_error_and_nothing_runs(
    typed: Typed, line: str, said: str
) -> None:
    assert typed(line) == 2
    assert typed.said.startswith("error: ")
    assert said in typed.said
    assert typed.ran == []


def test_help_has_every_command_and_a_host_of_this_network(typed: Typed) -> None:
    typed("help")
    for name in ("nodes", "links", "ping", "pingall", "tc", "exit", "a_src0 ss -tin"):
        assert name in typed.said
    assert {"ping", "exit", "b_dst0"} <= set(typed.line.names)


def test_an_unknown_host_is_refused_before_anything_is_built() -> None:
    request = ShellRequest(QUICKSTART, host="a_scr0")
    with (
        pytest.raises(UsageError, match="there is no host a_scr0"),
        command_line.opened(request, lambda _event: None, print),
    ):
        pass


def test_a_real_network_is_refused() -> None:
    with (
        pytest.raises(UsageError, match="live-path is a real network"),
        command_line.opened(ShellRequest(LIVE), lambda _event: None, print),
    ):
        pass
