"""Files that are kept of programs, from what a test bed reports."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.decode import fact_schema
from orchestrator.decode.flows.kept_files import kept_files
from orchestrator.decode.output import OutputFolder
from orchestrator.errors import BedError
from orchestrator.protocol.kept_files import FILE, MOST_BYTES
from orchestrator.recording.kept import KeptFile, KeptFiles

KEEP = {"client": ["a"], "server": ["b"]}


def run(**keep: Any) -> Any:
    """Return a planned run whose flows of programs keep these files."""
    return SimpleNamespace(
        flows=[
            SimpleNamespace(
                name=name, engine="program", traffic_parameters={"keep": each} if each else {}
            )
            for name, each in keep.items()
        ]
    )


def fact(flow: str, role: str = "client", left_out: Any = (), **files: int) -> dict[str, Any]:
    """Return the fact of a program's files: their sizes by name."""
    listed = [{"name": name, "bytes": size_bytes} for name, size_bytes in files.items()]
    return {"fact": "kept", "flow": flow, "role": role, "files": listed, "left_out": [*left_out]}


def decoded(folder: Path, content: bytes, facts: Any, **keep: Any) -> KeptFiles:
    """Return what is decoded of these facts and contents."""
    if content:
        (folder / FILE).write_bytes(content)
    return kept_files(run(**keep), facts, OutputFolder(folder))


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_files_are_in_the_order_of_flows_and_roles(tmp_path: Path) -> None:
    left_out = [{"name": "z", "bytes": None, "reason": "missing"}]
    facts = [fact("q", a=1), fact("p", "client", left_out, a=2, c=0), fact("p", "server", b=3)]
    found = decoded(tmp_path, b"1223 3", facts, p=KEEP, q=KEEP)
    assert found.files == [
        KeptFile(0, "server", "b", 3, sha256(b"3 3"), None),
        KeptFile(0, "client", "a", 2, sha256(b"22"), None),
        KeptFile(0, "client", "c", 0, sha256(b""), None),
        KeptFile(0, "client", "z", None, None, "missing"),
        KeptFile(1, "client", "a", 1, sha256(b"1"), None),
    ]
    assert sorted(found.contents.values()) == [b"", b"1", b"22", b"3 3"]


def test_a_run_that_keeps_nothing_needs_no_file(tmp_path: Path) -> None:
    assert decoded(tmp_path, b"", [], p=None) == KeptFiles()
    assert list(decoded(tmp_path, b"", [], p=KEEP).files) == []


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (b"1", [fact("q", a=1)]),
        (b"1", [fact("p", "server", a=1)]),
        (b"12", [fact("p", a=1), fact("p", a=1)]),
        (b"12", [fact("p", a=1)]),
        (b"", [fact("p", a=1)]),
        (b"1", []),
        (b"", [fact("p", a=MOST_BYTES, b=1)]),
    ],
)
def test_files_that_nobody_asked_for_or_that_are_not_there_are_malformed(
    tmp_path: Path, content: bytes, facts: Any
) -> None:
    with pytest.raises(BedError, match="malformed output"):
        decoded(tmp_path, content, facts, p={"client": ["a"]}, q=None)


@pytest.mark.parametrize("name", ["../a", "/a", "a\n", "a\x1b", "", "a/../b", "\ud800", "a" * 300])
def test_a_fact_with_a_name_that_leads_elsewhere_is_refused(name: str) -> None:
    assert fact_schema.problem(fact("p", "client", (), **{"a/b": 1})) is None
    assert fact_schema.problem(fact("p", "client", (), **{name: 1})) is not None


@pytest.mark.parametrize("size_bytes", [-1, MOST_BYTES + 1, 1.0, None, True])
def test_a_fact_with_a_size_that_no_kept_file_has_is_refused(size_bytes: Any) -> None:
    assert fact_schema.problem(fact("p", a=size_bytes)) is not None
