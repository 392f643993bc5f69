"""Fuzzes the decoders of a test bed's files for FUZZ_SECONDS, 60 by default; `make fuzz`."""

from __future__ import annotations

import os
import random
import resource
import sys
import time
from collections import Counter
from pathlib import Path

from orchestrator.backends.guest import Guest
from results.store.store import Store
from tests.fuzz.decoders import damaged, heads, try_out
from tests.fuzz.traces import damaged_trace, read_or_refused
from tests.support.hostile_texts import captured_plan, fake_kernel

SECONDS = float(os.environ.get("FUZZ_SECONDS", "60"))
MOST_OF_ONE_S = 10.0
MOST_KIB = 2**20


def test_damaged_files_are_refused_with_a_message(tmp_path: Path) -> None:
    (spec,) = captured_plan().runs
    first = random.SystemRandom().randrange(2**48)
    sys.stderr.write(f"seeds from {first} on\n")
    makes = heads(Guest(fake_kernel(tmp_path)), tmp_path / "runs.db")
    found: Counter[str] = Counter()
    end_s = time.monotonic() + SECONDS
    number = 0
    with Store(tmp_path / "runs.db") as store:
        while time.monotonic() < end_s:
            seed = first + number
            number += 1
            began_s = time.monotonic()
            try:
                said = try_out(spec, damaged(seed), store, makes)
            except Exception as error:
                raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
            assert time.monotonic() - began_s < MOST_OF_ONE_S, f"seed {seed} takes long"
            found[" ".join(said.removeprefix("malformed output: ").split()[:3])] += 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < MOST_KIB
    sys.stderr.write(f"{number} runs; {found.most_common(30)}\n")
    assert found["ok"], "some damage does not matter"
    assert len(found) > 1


def test_damaged_traces_are_refused_with_a_message() -> None:
    first = random.SystemRandom().randrange(2**48)
    sys.stderr.write(f"seeds from {first} on\n")
    found: Counter[bool] = Counter()
    end_s = time.monotonic() + SECONDS / 4
    while time.monotonic() < end_s:
        seed = first + found.total()
        try:
            found[read_or_refused(damaged_trace(random.Random(seed)))] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
    assert found[True], "some damage does not matter"
    assert found[False]
