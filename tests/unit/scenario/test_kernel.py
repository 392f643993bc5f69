"""The kernel of a scenario: a text as written, or a source with what is changed in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from guest.choice import DEFAULT, KernelChoice, PatchFile
from orchestrator.errors import ScenarioError
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from orchestrator.scenario.loader import LoadedScenario, load_values

TEXT = """\
version: 1
name: k
duration: 5s
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 10ms, queue: {limit: 50p}}
  groups: [{name: a, rtt: 40ms}]
flows: [{name: f, group: a}]
"""
PATCH = "--- a/x\n+++ b/x\n"


def loaded(folder: Path, more: str, *overrides: str) -> LoadedScenario:
    file = folder / "k.yaml"
    file.write_text(TEXT + more)
    return load(file, overrides)


def choices(scenario: LoadedScenario) -> list[KernelChoice]:
    return [run.kernel for run in plan(scenario).runs]


def test_no_kernel_is_the_default_and_nothing_new_is_stored(tmp_path: Path) -> None:
    scenario = loaded(tmp_path, "")
    assert choices(scenario) == [DEFAULT]
    assert "kernel" not in plan(scenario).runs[0].resolved


@pytest.mark.parametrize(
    ("more", "overrides", "series"),
    [
        ("kernel: 5.10\n", (), ["5.10"]),
        ("kernel: {source: 5.10}\n", (), ["5.10"]),
        ("", ("kernel=5.10",), ["5.10"]),
        ("matrix: {kernel: [5.1, 5.10]}\n", (), ["5.1", "5.10"]),
        ("", ("matrix.kernel=[6.1, 6.10]",), ["6.1", "6.10"]),
        ("matrix: {kernel.source: [6.1, 6.10]}\nkernel: 7.0\n", (), ["6.1", "6.10"]),
        ("matrix: {k: {old: {kernel: 6.10}, new: {kernel: 7.10}}}\n", (), ["6.10", "7.10"]),
        ("kernel: 6.10\nmatrix: {seed: [1], include: [{seed: 2, kernel: 6.20}]}\n", (),
         ["6.10", "6.20"]),
    ],
)  # fmt: skip
def test_a_series_is_text_as_written(
    tmp_path: Path, more: str, overrides: tuple[str, ...], series: list[str]
) -> None:
    scenario = loaded(tmp_path, more, *overrides)
    assert [choice.source for choice in choices(scenario)] == series
    assert plan(scenario).runs[0].resolved["kernel"] == series[0]


def test_a_path_shows_no_folder_and_patches_are_kept(tmp_path: Path) -> None:
    tree = tmp_path / "linux"
    tree.mkdir()
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "fix.patch").write_text(PATCH)
    scenario = loaded(folder, f"kernel: {tree}@v6.15+fix.patch\n")
    (choice,) = choices(scenario)
    assert (choice.path, choice.revision) == (tree, "v6.15")
    assert choice.patches == (PatchFile("fix.patch", PATCH.encode()),)
    assert choice.patches[0].content == PATCH.encode()
    (run,) = plan(scenario).runs
    assert str(tmp_path) not in str(run.resolved)
    assert run.resolved["kernel"]["source"] == "outside-here/linux"
    assert run.files["fix.patch"].content == PATCH.encode()

    again = load_values(run.resolved, {"fix.patch": PATCH.encode()})
    (stored,) = plan(again).runs
    assert stored.resolved == run.resolved
    assert (stored.kernel.path, stored.kernel.is_foreign) == (None, True)
    assert stored.kernel.patches == choice.patches


def test_axes_of_paths_show_no_folder(tmp_path: Path) -> None:
    (tmp_path / "linux").mkdir()
    (tmp_path / "mine").mkdir()
    kernels = f"[{tmp_path}/linux, {{source: {tmp_path}/linux, config: {{HZ: 100}}}}]"
    scenario = loaded(tmp_path / "mine", f"matrix: {{kernel: {kernels}}}\n")
    assert [variant.values for variant in scenario.variants] == [
        {"kernel": "outside-here/linux"},
        {"kernel": {"source": "outside-here/linux", "config": {"HZ": 100}}},
    ]


def test_options_have_the_form_of_a_configuration(tmp_path: Path) -> None:
    more = "kernel: {source: 6.12, config: {HZ: 1000, TCP_CONG_BBR: true, IPV6: false, NAME: a}}\n"
    (choice,) = choices(loaded(tmp_path, more))
    assert choice.options.splitlines() == [
        "CONFIG_HZ=1000", "CONFIG_TCP_CONG_BBR=y", "# CONFIG_IPV6 is not set", 'CONFIG_NAME="a"',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("kernel: [6.1]\n", "must be a mapping"),
        ("kernel: {source: 6.12, revision: v6.15}\n", "needs the path of a git repository"),
        ("kernel: {source: ., revision: --all}\n", "is no revision of git"),
        ("kernel: {source: 6.12, config: {CONFIG_HZ: 1}}\n", "write it without CONFIG_"),
        ("kernel: {source: 6.12, config: {HZ: 1.5}}\n", "is no value of an option"),
        ("kernel: {source: 6.12, config: {A: 'x\"\\nCONFIG_B=y'}}\n", "is no value of an option"),
        ("kernel: {source: 6.12, patches: [none.patch]}\n", "cannot be read"),
        ("kernel: {source: 6.12, patch: a}\n", "unknown key `patch`"),
        ("kernel: {revision: v1}\n", "`source` is missing"),
        ("kernel: true\n", "must be a mapping"),
        ('kernel: ""\n', "must name a series"),
        ("matrix: {kernel: [6.1, 6.1]}\n", "has `6.1` twice"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, more: str, said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        plan(loaded(tmp_path, more))
    assert said in str(refused.value)
    assert refused.value.faults[0].line == len(TEXT.splitlines()) + 1


def test_a_patch_that_changed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fix.patch").write_text(PATCH)
    more = f"kernel: {{source: 6.12, patches: [{{patch: fix.patch, sha256: {'a' * 64}}}]}}\n"
    with pytest.raises(ScenarioError, match="has the SHA-256"):
        loaded(tmp_path, more)


@pytest.mark.parametrize(
    "more",
    ["matrix: {kernel: [6.1, 6.12]}\n", "matrix: {k: {old: {kernel: 6.1}, new: {kernel: 6.12}}}\n"],
)
def test_a_kernel_that_is_set_beside_an_axis_of_kernels_is_refused(
    tmp_path: Path, more: str
) -> None:
    with pytest.raises(ScenarioError, match="has no effect: the matrix names the kernel"):
        loaded(tmp_path, more, "kernel=7.3")
    assert choices(loaded(tmp_path, more, "matrix={}", "kernel=7.3"))[0].source == "7.3"
