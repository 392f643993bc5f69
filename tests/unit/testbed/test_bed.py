"""The interfaces between the parts of a test bed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.lab.bed import LabBed
from orchestrator.testbed.lab.undo_log import UndoLog, undo_all

if TYPE_CHECKING:
    from orchestrator.protocol.specification import AgentSpec
    from orchestrator.testbed.bed import Bed
    from orchestrator.testbed.network import build

    def _both_are_beds(whole: build.Bed, part: LabBed) -> tuple[Bed, Bed]:
        """Let mypy compare both classes with the protocol; build.py needs Mininet when it runs."""
        return whole, part


class _NoFacts:
    def fact(self, name: str, **values: object) -> None:
        raise AssertionError(f"{name}: {values}")


@pytest.fixture
def lab_bed(tmp_path: Path) -> Iterator[LabBed]:
    spec: dict[str, Any] = {
        "nodes": ["a", "b"],
        "ports": [5001, 5999],
        "addresses": {"c": "10.0.0.3"},
    }
    bed = LabBed(cast("AgentSpec", spec), _NoFacts(), UndoLog(str(tmp_path / "undo_log")))
    yield bed
    bed.wires.close()


def test_a_lab_host_has_no_rules_to_change(lab_bed: LabBed) -> None:
    rule = {"switch": "s", "source": "a", "sink": "c", "link": None}
    with pytest.raises(BuildError, match="no switches"):
        lab_bed.set_rules([cast("Any", rule)])


def test_a_lab_host_holds_the_hosts_that_it_plays(lab_bed: LabBed) -> None:
    assert [lab_bed.holds(name) for name in "abc"] == [True, True, False]
    assert [lab_bed.place(name) for name in "abc"] == ["a", "a", "c"]
    assert lab_bed.address("c") == "10.0.0.3"
    with pytest.raises(LookupError, match="c is not played by this machine"):
        lab_bed.host("c")


def test_the_undo_log_is_undone_from_its_end(tmp_path: Path) -> None:
    parameter, log = tmp_path / "parameter", tmp_path / "undo_log"
    parameter.write_text("changed twice", encoding="utf-8")
    undo_log = UndoLog(str(log))
    for before in ("at first", "changed once"):
        undo_log.note("parameter", file=str(parameter), value=before)
    with log.open("a", encoding="utf-8") as file:
        file.write('{"undo": "parameter"')  # the process was killed while it wrote
    assert undo_all(str(log)) == []
    assert parameter.read_text(encoding="utf-8") == "at first"
    assert undo_all(str(tmp_path / "no log")) == []
