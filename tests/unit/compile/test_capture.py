"""A run with a capture: its specification, its bounds, its module and its guest's memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kmods.build import BuiltModules
from orchestrator.backends import modules
from orchestrator.backends.guest.memory import boot_memory_bytes, memory_bytes
from orchestrator.backends.modules import ModuleBuilds
from orchestrator.compile import bounds
from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.kinds.tcp import HostTcp
from orchestrator.recording.trace import Capture
from tests.support import traces

PLAIN = traces.planned()
CAPTURE = Capture(10**9, 2 * 10**9, frozenset({"acks", "tcp"}), 2**21, 0)
TRACED = replace(PLAIN, capture=CAPTURE)


def test_the_specification_differs_by_the_capture_alone() -> None:
    plain, traced = bed_spec(PLAIN, 2**30), bed_spec(TRACED, 2**30)
    assert "capture" not in plain
    assert traced == plain | {
        "capture": {"wanted": 2 + 8, "from_ns": 10**9, "to_ns": 2 * 10**9, "limit_bytes": 2**21,
                    "snap_bytes": 0}
    }  # fmt: skip


def test_the_file_may_be_as_large_as_the_limit() -> None:
    plain, traced = bounds.of(PLAIN), bounds.of(TRACED)
    assert dict(traced.file_bytes) == dict(plain.file_bytes) | {"trace.bin": 2**21}
    assert traced.total_bytes == plain.total_bytes + 2**21
    assert traced.wall_s == plain.wall_s


def test_the_guest_has_room_for_the_trace_beside_the_memory_that_the_run_sees() -> None:
    assert memory_bytes(TRACED) == memory_bytes(PLAIN) == boot_memory_bytes(PLAIN)
    assert boot_memory_bytes(TRACED) == memory_bytes(PLAIN) + 2**21


def test_the_module_that_traces_is_loaded_for_a_capture_alone(tmp_path: Path) -> None:
    builds = ModuleBuilds(BuiltModules(tmp_path))
    assert modules.needed(TRACED, builds).keys() - modules.needed(PLAIN, builds) == {"run_trace"}


def test_the_module_that_counts_is_loaded_where_ecn_may_be_negotiated_and_for_programs(
    tmp_path: Path,
) -> None:
    builds = ModuleBuilds(BuiltModules(tmp_path))
    flow = PLAIN.flows[0]
    with_ecn = replace(PLAIN, hosts={flow.sink: HostTcp({"net.ipv4.tcp_ecn": 1})})
    with_dctcp = replace(PLAIN, flows=(replace(flow, congestion="dctcp"),))
    assert "run_counts" not in modules.needed(PLAIN, builds)
    of_programs = replace(PLAIN, flows=(replace(flow, engine="program"),))
    for run in (with_ecn, with_dctcp, of_programs):
        assert "run_counts" in modules.needed(run, builds)
