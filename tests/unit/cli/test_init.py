"""``orchestrator init``: the scenario that it writes is valid, and it overwrites nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli import commands
from orchestrator.planning.plan import plan
from orchestrator.scenario import load


def init(*words: str) -> Result:
    return CliRunner().invoke(commands, ["init", *words])


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("option", "runs"), [((), 1), (("--sweep",), 15)])
def test_what_it_writes_is_a_valid_scenario_without_warnings(
    option: tuple[str, ...], runs: int
) -> None:
    written = init(*option)
    assert (written.exit_code, written.stdout) == (0, "scenario.yaml\n")
    assert "plan scenario.yaml" in written.stderr
    planned = plan(load(Path("scenario.yaml")))
    assert (len(planned.runs), planned.warnings) == (runs, [])
    assert planned.experiment == "scenario"
    text = Path("scenario.yaml").read_text()
    assert "orchestrator run scenario.yaml" in text
    assert "{" + "file}" not in text
    assert max(map(len, text.splitlines())) <= 100
    checked = CliRunner().invoke(commands, ["validate", "scenario.yaml"])
    assert (checked.exit_code, checked.stdout.startswith("scenario.yaml: valid")) == (0, True)


@pytest.mark.parametrize("option", [(), ("--sweep",)])
def test_a_hyphen_prints_the_scenario(option: tuple[str, ...]) -> None:
    init("scenario.yaml", *option)
    printed = init("-", *option)
    assert (printed.exit_code, printed.stderr) == (0, "")
    assert printed.stdout == Path("scenario.yaml").read_text()
    assert not Path("-").exists()


def test_what_is_commented_out_is_valid_too() -> None:
    """Each line with a key behind a `#` takes effect when it is uncommented."""
    init()
    lines = Path("scenario.yaml").read_text().splitlines()
    start = lines.index("version: 1")
    keys = ("loss:", "start:", "count:", "sample:", "measure:", "- {name: start", "events:",
            "- {at: 15s", "repetitions:")  # fmt: skip
    uncommented: list[str] = []
    seen = 0
    for line in lines[start:]:
        bare = line.lstrip()
        body = bare.removeprefix("#").lstrip()
        if bare.startswith("#") and body.startswith(keys):
            seen += 1
            line = line.replace("# ", "", 1)
        uncommented.append(line)
    assert seen == len(keys)
    Path("all.yaml").write_text("\n".join(uncommented))
    planned = plan(load(Path("all.yaml")))
    assert len(planned.runs) == 5
    assert [len(run.flows) for run in planned.runs] == [5] * 5
    assert planned.runs[0].windows[0].name == "start"
    assert len(planned.runs[0].events) == 1


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("my-study.yaml", "my-study"),
        ("my study.yaml", "scenario"),
        ("2fast.yaml", "scenario"),
        (f"{'x' * 41}.yaml", "scenario"),
        ("folder/deep.yml", "deep"),
    ],
)
def test_the_scenario_is_named_after_its_file(file: str, name: str) -> None:
    Path("folder").mkdir()
    assert init(file).exit_code == 0
    assert load(Path(file)).scenario.name == name


def test_a_file_name_cannot_add_to_the_scenario() -> None:
    init("a\nseed: 7\nb.yaml", "--sweep")
    (file,) = Path().iterdir()
    assert load(file).scenario.seed == 1
    assert "orchestrator run FILE" in file.read_text()


def test_nothing_is_overwritten() -> None:
    Path("mine.yaml").write_text("mine")
    Path("link.yaml").symlink_to("nowhere.yaml")
    for file in ("mine.yaml", "link.yaml"):
        refused = init(file)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert f"error: {file}: exists already and is not overwritten" in refused.stderr
    assert Path("mine.yaml").read_text() == "mine"
    assert not Path("nowhere.yaml").exists()


def test_a_file_that_cannot_be_written_is_named() -> None:
    refused = init("no/folder.yaml")
    assert refused.exit_code == 2
    assert refused.stderr == (
        "error: no/folder.yaml: cannot be written: No such file or directory\n"
        "  fix: make its folder first, or name another place\n"
    )
