"""The sdist and the wheel: built from this tree, complete, and usable outside of it."""

from __future__ import annotations

import email
import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from orchestrator.execution.commit import RECORD, git_commit
from results.claims.claim_summaries import read_all
from tests.support.stores import restore

pytestmark = pytest.mark.build

ROOT = Path(__file__).parents[2]
PACKAGES = ("orchestrator", "topologies", "results", "web", "guest", "kmods")
LEFT_OUT = {"__pycache__", "build", "node_modules"}
PAPERS, PAPERS_IN_WHEEL = ROOT / "scenarios/papers", "results/claims/papers"
CLAIMS = PAPERS / "claims"
LICENCES = ROOT / "LICENSES"


def run(*words: str | Path, cwd: Path, ok: bool = True) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert not ok or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built only from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", f"--outdir={folder}", ROOT, cwd=folder)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment with the wheel, inside another project's repository."""
    folder = tmp_path_factory.mktemp("other")
    run("git", "init", "--quiet", cwd=folder)
    (folder / "pyproject.toml").write_text('[project]\nname = "other"\n')
    run("git", "add", "pyproject.toml", cwd=folder)
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    run("git", *who, "commit", "--quiet", "-m", "x", cwd=folder)
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv/bin/python"
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "--disable-pip-version-check",
    ]
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", built[1], cwd=folder)
    packages = run(
        python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder
    )
    # The locked dependencies; this tree is not among them, as a .pth file there is not followed.
    Path(packages.stdout.strip(), "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return python.parent


def test_the_wheel_has_every_file_of_the_packages(built: tuple[Path, Path]) -> None:
    there = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and not LEFT_OUT & set(path.relative_to(ROOT).parts)
    }
    ignored = subprocess.run(
        ["git", "check-ignore", "--stdin"], input="\n".join(sorted(there)),
        cwd=ROOT, capture_output=True, text=True, check=False,
    ).stdout.split()  # fmt: skip
    with zipfile.ZipFile(built[1]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    there |= {
        f"{PAPERS_IN_WHEEL}/{path.relative_to(PAPERS).as_posix()}"
        for path in PAPERS.rglob("*")
        if path.is_file()
    }
    assert names - {RECORD} == there - set(ignored)
    assert {
        "results/schema/migrations/0013_store.sql",
        "guest/kernel.config",
        "kmods/Kbuild",
    } <= names


def test_the_wheel_names_and_has_its_licences(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        about = email.message_from_bytes(wheel.read(metadata))
        texts = {
            name: wheel.read(f"{metadata.rpartition('/')[0]}/licenses/{name}")
            for name in about.get_all("License-File", [])
        }
    assert about["License-Expression"] == "Apache-2.0 AND GPL-2.0-only"
    assert texts == {f"LICENSES/{path.name}": path.read_bytes() for path in LICENCES.iterdir()}
    assert b"Apache License" in texts["LICENSES/Apache-2.0.txt"]
    assert b"GNU GENERAL PUBLIC LICENSE" in texts["LICENSES/GPL-2.0-only.txt"]


def test_the_sdist_can_be_tested(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    needed = {"Makefile", "requirements.lock", "requirements-dev.lock", "hatch_build.py",
              "REUSE.toml", "LICENSES/Apache-2.0.txt", "LICENSES/GPL-2.0-only.txt",
              "tools/setup", "scenarios/quickstart.yaml", "tests/conftest.py"}  # fmt: skip
    assert needed <= names


def test_both_record_the_commit_they_were_built_from(built: tuple[Path, Path]) -> None:
    commit = git_commit(ROOT)
    sdist, wheel = built
    with zipfile.ZipFile(wheel) as archive, tarfile.open(sdist) as source:
        in_wheel = archive.read(RECORD).decode().strip() if RECORD in archive.namelist() else None
        top = sdist.name.removesuffix(".tar.gz")
        found = f"{top}/{RECORD}" in source.getnames()
        member = source.extractfile(f"{top}/{RECORD}") if found else None
        assert (member.read().decode().strip() if member else None) == in_wheel == commit


@pytest.mark.long
def test_an_installed_wheel_records_its_own_commit(installed: Path) -> None:
    said = run(
        installed / "python", "-c",
        "import orchestrator.execution.commit as c; print(c.__file__); print(c.git_commit())",
        cwd=installed.parent.parent,
    )  # fmt: skip
    file, commit = said.stdout.split()
    assert Path(file).is_relative_to(installed.parent)
    assert commit == str(git_commit(ROOT))


def test_an_installed_wheel_works_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    program = installed / "orchestrator"
    scenario = ROOT / "scenarios/quickstart.yaml"
    assert "valid, 1 run" in run(program, "validate", scenario, cwd=tmp_path).stdout
    restore(tmp_path / "old.db")
    listed = run(program, "runs", "--json", "--db", "old.db", cwd=tmp_path)
    assert len(json.loads(listed.stdout)["runs"]) == 4
    run(program, "doctor", "--store", "--db", "old.db", cwd=tmp_path)
    looked = run(program, "doctor", "--json", "--backend", "guest", cwd=tmp_path, ok=False)
    assert looked.returncode in (0, 4), looked.stderr
    assert json.loads(looked.stdout)["backends"].keys() == {"guest"}
    page = (
        "import pathlib, web; page = web.create_app(pathlib.Path('old.db')).test_client(); "
        "assert page.get('/').status_code == page.get('/static/app.js').status_code == 200"
    )
    run(installed / "python", "-c", page, cwd=tmp_path)


@pytest.mark.long
def test_an_installed_wheel_shows_the_papers_claims(installed: Path, tmp_path: Path) -> None:
    program = (
        "import pathlib, web; client = web.create_app(pathlib.Path('none.db')).test_client(); "
        "print(client.get('/papers').text, client.get('/papers/tibet').text, "
        "client.get('/papers/tibet/T1.1.svg').status_code)"
    )
    shown = run(installed / "python", "-c", program, cwd=tmp_path).stdout
    papers = sorted(path.stem for path in CLAIMS.glob("*.yaml"))
    assert papers
    assert all(f'href="/papers/{name}"' in shown for name in papers)
    measured = read_all(CLAIMS / "measured")["tibet", "T2"].summaries[0]
    runs = len(measured.record.runs)
    assert f"Measured at the length {measured.length}: {runs} runs, kernel " in shown
    assert "checkout" not in shown
    assert "not installed" not in shown


@pytest.mark.long
def test_an_installed_wheel_plans_the_runs_of_a_claim(installed: Path, tmp_path: Path) -> None:
    words = ("reproduce", "westwoodplus:W3", "--plan", "--json")
    planned = run(installed / "orchestrator", *words, cwd=tmp_path)
    here = run(sys.executable, "-c", "from orchestrator.cli import main; main()", *words, cwd=ROOT)
    assert planned.stdout == here.stdout
    assert "westwoodplus/table1.yaml" in planned.stdout


@pytest.mark.long
def test_an_installed_wheel_hands_on_what_is_stored(installed: Path, tmp_path: Path) -> None:
    """Reports need templates and fonts, exports libraries: from the wheel, not the checkout."""
    program, db = installed / "orchestrator", ("--db", "old.db")
    restore(tmp_path / "old.db")
    listed = run(program, "experiments", "--json", *db, cwd=tmp_path)
    (name, *_others) = [
        experiment["name"] for experiment in json.loads(listed.stdout)["experiments"]
    ]
    assert "goodput_bps" in run(program, "summary", name, *db, cwd=tmp_path).stdout
    exported = {"parquet": "table.parquet", "rocrate": "crate.zip", "csv": "table.csv"}
    for form, file in exported.items():
        run(program, "export", name, "--format", form, "-o", file, *db, cwd=tmp_path)
        assert (tmp_path / file).stat().st_size > 100
    run(program, "report", name, "-o", "report", *db, cwd=tmp_path)
    assert (tmp_path / "report/report.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.guest
@pytest.mark.long
def test_an_installed_wheel_runs_a_scenario_a_module_and_a_claim(
    installed: Path, tmp_path: Path
) -> None:
    program = installed / "orchestrator"
    for file in ("quickstart.yaml", "own-module/own-module.yaml"):
        words = ("run", ROOT / "scenarios" / file, "--json", "--quiet")
        (one,) = json.loads(run(program, *words, cwd=tmp_path).stdout)["runs"]
        assert one["fidelity"]["verdict"] == "faithful"
    judged = run(program, "reproduce", "westwoodplus:W3", "--quick", "--json", cwd=tmp_path)
    document = json.loads(judged.stdout)
    assert document["claims"]
    assert {claim["length"] for claim in document["claims"]} == {"quick"}
    assert document["digests"]
    assert all(digest["equal"] and not digest["other"] for digest in document["digests"])
