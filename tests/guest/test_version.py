"""A guest refuses a specification of another version before it builds anything."""

from __future__ import annotations

import pytest

from orchestrator.compile import testbed_spec
from orchestrator.protocol.version import SPECIFICATION_VERSION
from tests.guest.conftest import Run

pytestmark = pytest.mark.guest


@pytest.mark.parametrize("version", [SPECIFICATION_VERSION - 1, SPECIFICATION_VERSION + 1])
def test_a_specification_of_another_version_ends_the_run(
    run: Run, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    monkeypatch.setattr(testbed_spec, "SPECIFICATION_VERSION", version)
    document = run("duration=20s")
    assert document["status"] == "failed"
    assert document["error"].splitlines()[0] == (
        f"the test bed failed: VersionError: the specification has version {version}, "
        f"and this test bed knows version {SPECIFICATION_VERSION}; "
        "use the controller and the test bed of one version"
    )
