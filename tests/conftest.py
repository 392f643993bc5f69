"""Settings of all tests: no settings of the user, and repeatable examples."""

from __future__ import annotations

import gc
import os
import re
import signal
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")

# A shell that started the tests in its background has left them, and what they start, without it.
signal.signal(signal.SIGINT, signal.default_int_handler)

_CPUS = frozenset(os.sched_getaffinity(0))
"""Those that this process may use."""
_LONGEST_FIRST = (
    "tests/guest/test_lab.py", "tests/guest/test_local.py", "tests/kmods/", "kmods/tests/",
    "tests/guest/test_traffic.py", "tests/guest/test_losses.py", "tests/guest/test_own_module.py",
    "tests/guest/test_closed_forms.py", "tests/guest/test_events.py",
    "tests/unit/test_package.py", "tests/unit/results/store/test_soundness.py",
    "tests/unit/application/report/", "tests/unit/backends/", "tests/unit/results/store/",
)  # fmt: skip
"""Files that take long, in the order in which they are started."""
_LAST = "tests/guest/test_scenarios.py"
"""Many short tests that share nothing: whichever worker is free takes the next."""
_APART = (_LAST, "tests/kmods/test_kmods.py", "tests/unit/scenario/test_shipped.py")
"""Files whose tests share nothing and go to different workers; those of others stay together."""


_MARKERS_OF_FOLDERS = {
    "tests/guest/": {"guest"},
    "tests/hostile/": {"guest", "real_time"},
    "tests/kmods/": {"kmods"},
    "tests/lab/": {"lab_hosts", "real_time"},
    "tests/web/": {"browser", "guest"},
}
"""Each command of the Makefile collects the folders of its markers alone. Any other test would be
run by none."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--own-cpu", action="store_true", help="keep each worker on a CPU of its own")


def pytest_configure(config: pytest.Config) -> None:
    """Keep a worker on one CPU.

    A run's guest stays on the CPU on which it was started. Workers without CPUs of their own often
    put two guests on one CPU while another is idle. It also gives a test in real time its own CPU.
    """
    worker = re.fullmatch(r"gw(\d+)", os.environ.get("PYTEST_XDIST_WORKER", ""))
    if config.getoption("own_cpu") and worker:
        os.sched_setaffinity(0, {sorted(_CPUS)[int(worker[1]) % len(_CPUS)]})


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from modules and collected tests, which stay until the end.

    Its repeated passes over these objects take an eighth of the unit tests' processor time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest tests first and short ones last, so that all workers end together.

    Raises:
        pytest.UsageError: no command of the Makefile would run one of the tests
    """
    for item in items:
        _require_marker(item)
    many = len(_LONGEST_FIRST)

    def rank(item: pytest.Item) -> int:
        if item.nodeid.startswith(_LAST):
            return many + 1
        ranks = (n for n, start in enumerate(_LONGEST_FIRST) if item.nodeid.startswith(start))
        return next(ranks, many)

    items.sort(key=rank)


def _require_marker(item: pytest.Item) -> None:
    """Require a marker by which a command of the Makefile takes the tests of this folder."""
    markers = {mark.name for mark in item.iter_markers()}
    if "long" in markers:
        return
    placed = set().union(*_MARKERS_OF_FOLDERS.values())
    for folder, wanted in _MARKERS_OF_FOLDERS.items():
        if item.nodeid.startswith(folder):
            if not markers & wanted:
                marks = " or ".join(sorted(wanted))
                raise pytest.UsageError(f"{item.nodeid}: tests of {folder} are marked {marks}")
            return
    if markers & placed:
        marks = ", ".join(sorted(markers & placed))
        raise pytest.UsageError(f"{item.nodeid}: no folder of tests that are marked {marks}")


class FileScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Keep the tests of a file on one worker, so that fixtures of a module are made once."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if nodeid.startswith(_APART) else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileScheduling | None:
    """Schedule by file with --dist=loadscope.

    Marks and --dist=loadgroup do not work here. pytest-xdist 3.8 passes groups in node identifiers,
    which pytest 9.2 no longer lets it change, so groups are ignored without a message.
    """
    return FileScheduling(config, log) if config.getoption("dist") == "loadscope" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let a test marked ``all_cpus`` use every CPU."""
    before = os.sched_getaffinity(0)
    if item.get_closest_marker("all_cpus"):
        os.sched_setaffinity(0, _CPUS)
    try:
        return (yield)
    finally:
        os.sched_setaffinity(0, before)


@pytest.fixture(autouse=True)
def no_user_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests never write to the user's store and never depend on the user's terminal."""
    for name in ("ORCHESTRATOR_DB", "ORCHESTRATOR_KERNEL_SOURCE", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
