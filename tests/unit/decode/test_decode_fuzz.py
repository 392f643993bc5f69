"""Decoders with damaged files: only a recording, or an error in words. See tests/fuzz."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.backends.guest import Guest
from orchestrator.errors import BedError
from orchestrator.execution.runner import _HeadMaker
from orchestrator.planning.runspec import RunSpec
from results.store.store import Store
from tests.fuzz.decoders import damaged, heads, try_out
from tests.support.hostile_texts import FILES, assembled, captured_files, captured_plan, fake_kernel

(SPEC,) = captured_plan().runs
QUICK = settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, _HeadMaker]]:
    folder = tmp_path_factory.mktemp("fuzz")
    with Store(folder / "runs.db") as store:
        yield store, heads(Guest(fake_kernel(folder)), folder / "runs.db")


@pytest.mark.slow
@QUICK
@given(seed=st.integers(0, 2**48))
def test_any_damage_is_survived(made: tuple[Store, _HeadMaker], seed: int) -> None:
    try_out(SPEC, damaged(seed), *made)


@pytest.mark.slow
@QUICK
@given(name=st.sampled_from(FILES), data=st.binary(max_size=2000))
def test_any_bytes_are_survived(name: str, data: bytes) -> None:
    refused_or_read(SPEC, {**captured_files(), name: data})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text(), below),
    max_leaves=8,
)


KINDS = ("channels", "timeline", "burst", "queues", "versions", "done")
KEYS = ("at", "channels", "events", "passed", "names", "kernel", "origin_ns", "channel", "x")


@pytest.mark.slow
@QUICK
@given(name=st.sampled_from(KINDS), values=st.dictionaries(st.sampled_from(KEYS), JSON, max_size=4))
def test_any_fact_is_survived(name: str, values: dict[str, object]) -> None:
    line = json.dumps({"fact": name, **values}).encode() + b"\n"
    files = captured_files()
    refused_or_read(SPEC, {**files, "facts.jsonl": line + files["facts.jsonl"]})


def refused_or_read(spec: RunSpec, files: dict[str, bytes]) -> None:
    try:
        assembled(spec, files)
    except BedError as error:
        assert str(error).isprintable()  # noqa: PT017 - either may happen


def test_the_captured_files_are_read_and_stored(made: tuple[Store, _HeadMaker]) -> None:
    assert try_out(SPEC, captured_files(), *made) == "ok"
