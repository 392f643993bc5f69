"""Probes wait for answers also where a network's hosts need many descriptors."""

from __future__ import annotations

import fcntl
import resource
import socket
from collections.abc import Iterator

import pytest

from orchestrator.testbed.kernel import system
from orchestrator.testbed.sampling import probes

HIGH = 1500
"""Above what select() takes, 1023."""


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 2 * HIGH)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_descriptors")
def test_an_answer_on_a_high_descriptor_is_seen() -> None:
    here, there = socket.socketpair()
    high = socket.socket(fileno=fcntl.fcntl(here.fileno(), fcntl.F_DUPFD, HIGH))
    timer = system.Timer()
    with here, there, high:
        soon = system.monotonic_ns() + 20_000_000
        assert not probes._readable(high, timer, soon)
        there.send(b"answer")
        assert probes._readable(high, timer, system.monotonic_ns() + 10**10)
        assert high.recv(10) == b"answer"
