"""Shares of sprayed packets in the provenance of runs, which may be a stranger's."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.recording.spraying import of_provenance, share_of


def test_a_flow_without_shares_has_all_its_packets_on_its_path() -> None:
    shares = of_provenance({"spraying": {"f": {"a-b:forward": 0.25}}})
    assert share_of(shares, "f", "a-b:forward") == 0.25
    assert share_of(shares, "f", "b-c:forward") == share_of(shares, "g", "a-b:forward") == 1.0
    assert of_provenance({}) == {}


@pytest.mark.parametrize(
    "listed",
    [[], {"f": None}, {"f": [0.5]}, *({"f": {"a": share}} for share in (0.0, -1.0, 1.5, 1, "1",
     None, True, float("nan"), float("inf")))],
)  # fmt: skip
def test_what_has_another_form_is_refused(listed: Any) -> None:
    with pytest.raises(ValueError, match=r"^spraying: "):
        of_provenance({"spraying": listed})
