"""``run --resume`` and ``run --verify`` on stored runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from guest.build import BuildInputs, GuestKernel
from orchestrator.application import stored_plans
from orchestrator.protocol import version as program
from results.store.store import Store
from tests.support.run import KERNEL, FakeRunner, fake, orchestrator
from tests.support.stores import TINY, restore

__all__ = ["fake"]


@pytest.mark.slow
def test_resume_and_verify_know_what_a_guest_stored(
    tmp_path: Path, fake: FakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = restore(tmp_path / "runs.db")
    Path("tiny.yaml").write_text(TINY)
    with Store.open_read_only(path) as store:
        first = store.list_runs()[0]
    monkeypatch.setattr(stored_plans, "LINK_MODEL", first.link_model)
    monkeypatch.setattr(stored_plans, "DIGEST_VERSION", first.digest_version)
    with Store.open_read_only(path) as store:
        manifest = store.load(first.id).provenance["guest_kernel"]
    inputs = BuildInputs(**manifest["inputs"])
    monkeypatch.setattr("guest.build.current_inputs", lambda choice: inputs)
    resumed = orchestrator("run", "tiny.yaml", "--resume", "--db", str(path))
    assert "2 of 2 runs are stored already" in resumed.stderr
    assert resumed.exit_code == 0
    assert not fake.asked
    fake.digest = lambda spec: str(first.digest)
    verified = orchestrator("run", "--verify", first.id, "--db", str(path))
    assert (verified.exit_code, f"the kernel {first.kernel}, and" in verified.stderr) == (2, True)
    built = replace(KERNEL, release=str(first.kernel), manifest=manifest)
    monkeypatch.setattr("guest.build.ensure", lambda confine, progress, choice=None: built)
    verified = orchestrator("run", "--verify", first.id, "--db", str(path))
    assert (verified.exit_code, "the same digest as" in verified.stderr) == (0, True)
    newer = replace(inputs, source="sha256:newer")
    monkeypatch.setattr("guest.build.current_inputs", lambda choice: newer)
    ran = len(fake.asked)
    resumed = orchestrator("run", "tiny.yaml", "--resume", "--db", str(path))
    assert len(fake.asked) == ran + 1, "runs of another kernel are not the same"


@pytest.mark.slow
def test_verify_names_another_kernel_before_anything_runs(
    fake: FakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("tiny.yaml").write_text(TINY)
    inputs = {"source": "6.12.7", "patches": "1", "compiler": "gcc 12"}
    for release, change, said in (
        ("6.12.7", {"compiler": "gcc 14"}, None),
        ("6.12.7", {"patches": "2"}, "guest has 6.12.7 of other patches: "),
        ("6.1.0", {"source": "6.1"}, "guest has 6.1.0 of other source: "),
    ):
        first = with_inputs("6.12.7", inputs)
        monkeypatch.setattr("guest.build.ensure", lambda *_words, first=first: first)
        assert orchestrator("run", "tiny.yaml", "--db", "runs.db").exit_code == 0
        ran = len(fake.asked)
        other = with_inputs(release, {**inputs, **change})
        monkeypatch.setattr("guest.build.ensure", lambda *_words, other=other: other)
        for what in ("last", "tiny"):
            verified = orchestrator("run", "--verify", what, "--db", "runs.db", "--json")
            if said is None:
                assert verified.exit_code == 0, verified.stderr
                continue
            assert verified.exit_code == 2
            assert "has the kernel 6.12.7, and this machine's" in verified.stderr
            assert said in verified.stderr
            assert "fix: use the program of its time" in verified.stderr
            assert (verified.stdout, len(fake.asked)) == ("", ran)


def with_inputs(release: str, inputs: dict[str, str]) -> GuestKernel:
    """A kernel that was built from these."""
    return replace(KERNEL, release=release, manifest={"release": release, "inputs": inputs})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["LINK_MODEL", "DIGEST_VERSION"])
def test_runs_of_other_versions_are_neither_resumed_nor_verified(
    tmp_path: Path, fake: FakeRunner, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("tiny.yaml").write_text(TINY)
    words = ("run", "tiny.yaml", "--db", "runs.db")
    assert orchestrator(*words).exit_code == 0
    stored = getattr(program, name)
    this = {"LINK_MODEL": program.LINK_MODEL} | {name: stored + 1}
    monkeypatch.setattr(stored_plans, name, stored + 1)
    what = "link model" if name == "LINK_MODEL" else "digest version"
    with Store.open_read_only(Path("runs.db")) as store:
        first, last = (row.id for row in store.list_runs())
    for run_id, refused in (
        (first, orchestrator(*words, "--resume")),
        (last, orchestrator("run", "--verify", "last", "--db", "runs.db")),
    ):
        assert refused.exit_code == 2
        assert f"run {run_id} has " in refused.stderr
        assert f"{what} {stored}" in refused.stderr
        assert f"this program has link model {this['LINK_MODEL']} and digest" in refused.stderr
        assert f"{what} {stored + 1}" in refused.stderr
        assert "fix: run " in refused.stderr
    assert len(fake.asked) == 1

    # Run again as new runs, both kinds are there, and only the new ones count.
    monkeypatch.setattr(program, name, stored + 1)
    assert orchestrator(*words).exit_code == 0
    resumed = orchestrator(*words, "--resume")
    assert (resumed.exit_code, len(fake.asked)) == (0, 2)
    assert "2 of 2 runs are stored already" in resumed.stderr
    with Store.open_read_only(Path("runs.db")) as store:
        shown = [row.id for row in store.list_runs()][2:]
    resumed = orchestrator(*words, "--resume", "--json")
    assert [run["id"] for run in json.loads(resumed.stdout)["runs"]] == shown


@pytest.mark.slow
def test_a_changed_scenario_is_no_stored_one(tmp_path: Path, fake: FakeRunner) -> None:
    path = restore(tmp_path / "runs.db")
    for change in ("--set=duration=2s", "--set=tcp={sack: false}", "--set=flows.one.stagger=1ms"):
        Path("tiny.yaml").write_text(TINY)
        resumed = orchestrator("run", "tiny.yaml", "--resume", change, "--db", str(path))
        assert "0 of 2 runs are stored already" in resumed.stderr, change


@pytest.mark.parametrize("words", [["run", "tiny.yaml", "--resume"], ["run", "--verify", "last"]])
def test_a_store_that_is_not_there(fake: FakeRunner, words: list[str]) -> None:
    Path("tiny.yaml").write_text(TINY)
    result = orchestrator(*words, "--db", "none.db")
    if "--verify" in words:
        assert result.exit_code == 2
        assert "there is no results database" in result.stderr
        assert not Path("none.db").exists()
    else:
        assert len(fake.asked) == 1
