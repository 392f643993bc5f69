"""Questions about the sockets of many namespaces in one system call, on this machine's kernel."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from orchestrator.testbed.kernel import io_ring, netlink, tcpdiag
from orchestrator.testbed.kernel.diag_batch import DiagBatch, DiagSequence
from orchestrator.testbed.kernel.tcpdiag import TcpDiag

LOOPBACK = "127.0.0.1"
CONNECTIONS = 100
"""Their answers fill several datagrams."""


def permitted() -> bool:
    try:
        io_ring.Ring(2)
    except OSError:
        return False
    return True


pytestmark = pytest.mark.skipif(
    not permitted(), reason="this machine's kernel permits no io_uring; the guest's always does"
)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def probe(stack: ExitStack) -> Callable[..., TcpDiag]:
    """Return what makes a probe that is closed in the end."""

    def make(*arguments: Any, **keywords: Any) -> TcpDiag:
        made = TcpDiag(*arguments, **keywords)
        stack.callback(made.close)
        return made

    return make


@pytest.fixture
def ports(stack: ExitStack) -> tuple[int, int]:
    """The client's and the server's port of one of many connections."""
    server = stack.enter_context(socket.create_server((LOOPBACK, 0), backlog=CONNECTIONS))
    for _connection in range(CONNECTIONS):
        client = stack.enter_context(socket.create_connection(server.getsockname()))
        stack.enter_context(server.accept()[0])
    return client.getsockname()[1], server.getsockname()[1]


def seen(answers: bytes, port: int) -> list[bytes]:
    """Return the kind, the ports and the cookie of each socket of that server, in their order.

    Other processes of this machine have sockets, too, and some values change with time.
    """
    return [
        answers[start : start + 2] + answers[start + 4 : start + 8] + answers[start + 44 : end][:8]
        for kind, _flags, _sequence, start, end in netlink.messages(answers)
        if kind == tcpdiag.SOCK_DIAG_BY_FAMILY
        and port.to_bytes(2, "big")
        in (answers[start + 4 : start + 6], answers[start + 6 : start + 8])
    ]


@pytest.mark.parametrize("brief", [False, True])
def test_a_batch_gives_what_single_questions_give(
    ports: tuple[int, int], probe: Callable[..., TcpDiag], brief: bool
) -> None:
    local, remote = ports
    one = (local, remote, LOOPBACK, LOOPBACK)
    gone = (1, 2, LOOPBACK, LOOPBACK)
    probes = [probe(one), probe(), probe(gone), probe(listening=(remote, remote))]
    batch = DiagBatch(probes, brief)
    expected = seen(DiagSequence(probes, brief).answers(), remote)
    assert len(expected) == 1 + 2 * 2 * CONNECTIONS
    for _time in range(3):
        assert seen(batch.answers(), remote) == expected


def test_nothing_is_asked_of_nobody() -> None:
    assert DiagBatch([]).answers() == b""


def test_more_than_one_ring_holds_are_asked_in_several(
    ports: tuple[int, int], probe: Callable[..., TcpDiag], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.testbed.kernel.diag_batch._GROUP", 2)
    local, remote = ports
    probes = [probe((local, remote, LOOPBACK, LOOPBACK)) for _number in range(5)]
    assert len(seen(DiagBatch(probes).answers(), remote)) == 5


def test_a_question_that_the_kernel_refuses_is_an_error(probe: Callable[..., TcpDiag]) -> None:
    closed = TcpDiag()
    batch = DiagBatch([closed, probe()])
    closed.close()
    with pytest.raises(OSError, match="INET_DIAG: Bad file descriptor"):
        batch.answers()
