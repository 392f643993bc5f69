"""The page of metrics and columns agrees with the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.recording.column_definitions import TABLES as DEFINITIONS
from results.documents.reference import markdown, unit_of
from results.metrics import METRICS
from results.samples.sample_tables import TABLES

WRITTEN = Path(__file__).parents[4] / "docs" / "metrics.md"


def test_the_page_is_up_to_date() -> None:
    text = WRITTEN.read_text(encoding="utf-8")
    assert text == markdown(), "run: orchestrator schema --metrics > docs/metrics.md"


def test_every_metric_is_on_the_page_with_its_unit() -> None:
    text = markdown()
    for metric in METRICS.values():
        assert f"### `{metric.name}`\n\n{metric.unit}; " in text, metric.name


def test_every_column_has_a_definition_and_no_other_has() -> None:
    assert set(DEFINITIONS) == set(TABLES)
    for table, definitions in DEFINITIONS.items():
        assert set(definitions) == set(TABLES[table].dtype.names or ()), table


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("rtt_us", "us"), ("delay_squares_us2", "us²"), ("rcv_space_bytes", "bytes"),
        ("pacing_rate_bytes_per_s", "bytes/s"), ("bytes", "bytes"), ("state", ""),
    ],
)  # fmt: skip
def test_the_unit_is_the_end_of_the_name(name: str, unit: str) -> None:
    assert unit_of(name) == unit
