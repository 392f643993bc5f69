"""Connections of Multipath TCP in a run's provenance."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from orchestrator.recording.multipath import PROVENANCE, Connection, document, of_provenance

ONE = Connection(
    ("a-wifi", "a-lte"), (0, 10), ((0,) * 6, (0, 1, 2, 3, 4, 5)), ((0,) * 6, (0, 6, 7, 8, 9, 2))
)


def test_a_connection_is_known_by_each_of_its_subflows() -> None:
    stored = {PROVENANCE: json.loads(json.dumps(document({"a": ONE})))}
    found = of_provenance(stored)
    assert found == {"a-wifi": ONE, "a-lte": ONE}
    assert of_provenance({}) == {}
    assert ONE.at("sender", "sent_bytes", 10) == 2
    assert ONE.at("receiver", "received_bytes", 10) == 8
    assert ONE.at("receiver", "received_bytes", 5) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("subflows", [1]), ("subflows", "ab"), ("times_ns", [0]), ("times_ns", [0, -1]),
        ("times_ns", [0, True]), ("sender", [[0] * 6]), ("sender", [[0] * 5, [0] * 6]),
        ("receiver", [[0] * 6, [0.5] * 6]), ("receiver", [0, 0]), ("more", []),
    ],
)  # fmt: skip
def test_another_form_is_refused(key: str, value: Any) -> None:
    form = copy.deepcopy(json.loads(json.dumps(document({"a": ONE}))))
    form["a"][key] = value
    with pytest.raises(ValueError, match="multipath: a connection has another form"):
        of_provenance({PROVENANCE: form})
    with pytest.raises(ValueError, match="another form"):
        of_provenance({PROVENANCE: [form]})
