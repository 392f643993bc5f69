"""Which kernel a run has in the guest back end, and what a kernel lacks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from guest.choice import DEFAULT, KernelChoice
from orchestrator.backends import guest
from orchestrator.backends.contract import BackendOptions
from orchestrator.backends.guest.features import require_features, without_absent
from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.errors import UsageError
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario.loader import load_stored
from tests.support.run import KERNEL, SCENARIO, FakeRunner, fake, orchestrator

__all__ = ["fake"]

LOSSY = "events: [{at: 1s, link: bottleneck, loss: 1%}]"
DOWN = (
    "events: [{at: 1s, link: bottleneck, state: down}, {at: 1500ms, link: bottleneck, state: up}]"
)
LISTED = "loss: {forward: {kind: list, packets: [1-3]}, reverse: 0}"
OLD = replace(KERNEL, key="old", release="6.1.2")


def spec(text: str = SCENARIO) -> RunSpec:
    return plan(load_stored(text, {})).runs[0]


def test_only_the_kernels_that_runs_name_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[KernelChoice | None] = []

    def ensure(_confine: object, _progress: object, choice: KernelChoice) -> object:
        asked.append(choice)
        return KERNEL if choice == DEFAULT else OLD

    monkeypatch.setattr("guest.build.ensure", ensure)
    old = KernelChoice("6.1")
    made = guest.make(BackendOptions(lambda *_: None, kernels=(old, DEFAULT)))
    assert asked == [old, DEFAULT]
    plain = spec()
    assert made.kernel_of(plain) is KERNEL
    assert made.kernel_of(replace(plain, kernel=old)) is OLD
    assert made.machine(replace(plain, kernel=old)).provenance["guest_kernel"] == {
        **OLD.manifest,
        "check": "not checked",
    }
    asked.clear()
    only = guest.make(BackendOptions(lambda *_: None, kernels=(old,)))
    assert asked == [old]
    with pytest.raises(KeyError):
        only.kernel_of(replace(plain, kernel=KernelChoice("7.3")))


@pytest.mark.parametrize(
    ("release", "more", "lack"),
    [
        ("6.12.1", "tcp: {recovery: dupack}", None),
        ("6.16.9", "tcp: {recovery: dupack}", None),
        ("6.17.0", "tcp: {recovery: dupack}", "has no recovery by duplicate ACKs .* before 6.17"),
        ("7.3.4", "tcp: {profile: newreno}", "has no recovery by duplicate ACKs"),
        ("7.3.4", "tcp: {recovery: rack}", None),
        ("unknown", "tcp: {recovery: dupack}", None),
        ("6.1.9", LOSSY, "cannot seed the random losses.* from 6.6 on"),
        ("6.6.0", LOSSY, None),
        ("6.1.9", DOWN, None),
        ("6.1.9", "tcp: {defer_acks: true}", "no setting for deferred ACKs .* from 6.7 on"),
        ("6.1.9", "tcp: {defer_acks: false}", None),
        ("6.12.1", "tcp: {ecn: accurate}", "no Accurate ECN .* from 7.0 on"),
        ("6.12.1", "tcp: {ecn: accept}", None),
        ("6.12.1", "tcp: {ecn_option: 1}", "no Accurate ECN"),
        ("7.3.4", "tcp: {ecn: accurate, ecn_receiver: true}", None),
    ],
)
def test_a_kernel_that_lacks_what_a_run_wants_is_refused(
    release: str, more: str, lack: str | None
) -> None:
    wants = spec(f"{SCENARIO}{more}\n")
    if lack is None:
        require_features(wants, release)
        return
    with pytest.raises(UsageError, match=rf"Linux {release} .*{lack}"):
        require_features(wants, release)


def test_a_kernel_on_which_a_module_does_not_work_is_refused() -> None:
    wants = spec(SCENARIO.replace("congestion: reno", "congestion: prague"))
    require_features(wants, "7.0.1")
    lack = (
        r"(?s)has no Accurate ECN, which .*`prague` needs: kernels from 7\.0 on do.*--kernel 7\.3"
    )
    with pytest.raises(UsageError, match=lack):
        require_features(wants, "6.19.9")
    mine = replace(wants.flows[0], module=cast(Any, object()))
    require_features(replace(wants, flows=(mine,)), "6.19.9")  # a user's own, which we do not know


def test_a_kernel_without_a_queue_is_refused() -> None:
    wants = spec(SCENARIO.replace("{kind: droptail, limit: 100p}", "{kind: dualpi2}"))
    require_features(wants, "6.17.0")
    with pytest.raises(UsageError, match=r"(?s)has no queue `dualpi2`: .* --kernel 7\.3"):
        require_features(wants, "6.12.1")


@pytest.mark.parametrize(("release", "stays"), [("6.1.9", False), ("6.12.1", True)])
def test_a_setting_that_a_kernel_cannot_but_have_is_left_out(release: str, stays: bool) -> None:
    document = bed_spec(spec(f"{SCENARIO}tcp: {{defer_acks: false}}\n"), 2**30)
    without_absent(document, release)
    names = {name for settings in document["namespaces"].values() for name in settings}
    assert ("net.ipv4.tcp_backlog_ack_defer" in names) is stays


@pytest.mark.parametrize(("release", "stays"), [("6.1.9", False), ("6.6.0", True)])
def test_losses_by_number_and_outages_need_no_seed_of_netem(release: str, stays: bool) -> None:
    listed = SCENARIO.replace("delay: 10ms, queue", f"delay: 10ms, {LISTED}, queue")
    assert listed != SCENARIO
    for wants in (spec(listed), spec(f"{SCENARIO}{DOWN}\n")):
        require_features(wants, release)
        document = bed_spec(wants, 2**30)
        without_absent(document, release)
        netem = document["links"][0]["forward"]["netem"]
        assert netem is not None
        names = [setting["name"] for setting in netem["settings"]]
        assert ("seed" in names) is stays
        assert "loss" in " ".join(names)


def test_a_default_kernel_without_it_is_refused_only_where_it_is_asked_for() -> None:
    require_features(spec(), "7.3.4")


def test_another_back_end_refuses_a_kernel(fake: FakeRunner) -> None:
    result = orchestrator("run", "pair.yaml", "--backend", "local", "--kernel", "7.3")
    assert result.exit_code == 2
    assert "--backend local: it has the kernel of its machines, and not 7.3" in result.stderr
    assert not fake.asked


def test_kernels_of_the_command_line_are_an_axis(fake: FakeRunner) -> None:
    assert orchestrator("run", "pair.yaml", "--kernel", "5.10").exit_code == 0
    assert [run.kernel.source for run in fake.asked[-1][0].runs] == ["5.10"]
    words = ("--kernel", "6.1", "--kernel", "7.3+fix.patch")
    Path("fix.patch").write_text("--- a/x\n+++ b/x\n")
    assert orchestrator("run", "pair.yaml", *words).exit_code == 0
    runs = fake.asked[-1][0].runs
    assert [run.kernel.text for run in runs] == ["6.1", "7.3+fix.patch"]
    assert [run.variant["kernel"] for run in runs] == ["6.1", "7.3+fix.patch"]


@pytest.mark.parametrize("command", ["validate", "plan", "run"])
def test_what_a_named_series_lacks_is_refused_before_anything_is_built(
    fake: FakeRunner, command: str
) -> None:
    words = ("--kernel", "7.3", "--set", "tcp={profile: newreno}")
    result = orchestrator(command, "pair.yaml", *words)
    assert result.exit_code == 2
    assert "Linux 7.3 has no recovery by duplicate ACKs" in result.stderr
    assert "fix: name such a kernel (`kernel: 6.12`" in result.stderr
    assert not fake.asked
