"""Files that users' programs leave in the guest and that runs keep, of hostile programs, too."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from guest.build import GuestKernel
from orchestrator.protocol import kept_files
from results.store.store import Store
from tests.guest.hostile_program import leaving
from tests.support.guest_programs import runs, scenario

pytestmark = pytest.mark.guest

WRITES_ON = "(setsid sh -c 'while :; do echo x >> log/late; sleep 0.02; done' &)"
LEAVES = f"""\
#!/bin/sh
mkdir log
echo $1 > page
echo 1 > log/b.json
echo 2 > log/a.json
echo 3 > log/c.txt
{WRITES_ON}
sleep 0.1005
exec $2 $3
"""


def kept(run: dict[str, Any]) -> dict[tuple[str, str, str], str]:
    """Return the SHA-256 of each file, or why it is left out, by flow, program and name."""
    return {
        (one["flow"], one["role"], one["name"]): one["sha256"] or one["left_out"]
        for one in run["kept_files"]
    }


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_files_that_programs_leave_are_kept_and_in_the_digest(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "leave.sh").write_text(LEAVES)
    flows = {
        "ends": "kind: program, files: own, client: [./leave.sh, one], "
        "keep: [page, 'log/*.json', log/late, 'log/*.xml']",
        "stays": "kind: program, files: own, server: [sh, -c, 'cd /tmp; exec $FILES/leave.sh a "
        "sleep 9'], client: [./leave.sh, two, sleep, '9'], "
        "keep: {client: ['l*/late'], server: [page]}, timeout: 500ms",
        "never": "kind: program, server: ['false'], client: ['true'], ready: {port: 8000}, "
        "keep: [page]",
    }
    one, two = runs(kernel, tmp_path, scenario("3s", **flows), times=2)
    assert one["digest"] == two["digest"]
    assert one["fidelity"]["verdict"] == "faithful"
    found = kept(one)
    late = [found.pop((flow, "client", "log/late")) for flow in ("ends", "stays")]
    assert found == {
        ("ends", "client", "page"): sha256(b"one\n"),
        ("ends", "client", "log/a.json"): sha256(b"2\n"),
        ("ends", "client", "log/b.json"): sha256(b"1\n"),
        ("ends", "client", "log/*.xml"): "missing",
        ("stays", "server", "page"): sha256(b"a\n"),
    }
    with Store.open_read_only(tmp_path / "runs.db") as store:
        run = store.load(one["id"])
        files = {file.sha256: file for file in run.kept_files}
        contents = [run.kept_content(files[each]) for each in late]
    # A child wrote a line each 20 ms until the program ended, or was ended.
    assert [set(content) for content in contents] == [set(b"x\n")] * 2
    assert len(contents[0]) == pytest.approx(2 * 5, abs=4)
    assert len(contents[1]) == pytest.approx(2 * 25, abs=8)


PATTERNS = (
    "own", "a-*", "a-link-to-the-root/etc/passwd", "a-relative-link/*", "folder/*",
    "folder/a-link/passwd", "b-*", "c-*", "d-*", "e-*", "many/*", "/".join(["deep"] * 39),
)  # fmt: skip


def test_what_a_hostile_program_leaves_is_bounded_and_leads_nowhere(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    (tmp_path / "own").mkdir()
    shutil.copy(leaving.__file__, tmp_path / "own" / "leaving.py")
    text = scenario(
        "3s",
        hostile="kind: program, files: own, client: [python3, /run/files/leaving.py], "
        f"keep: {list(PATTERNS)}",
    )
    (run,) = runs(kernel, tmp_path, text)
    assert run["status"] == "ok", run["error"]
    assert run["fidelity"]["verdict"] == "faithful"
    assert run["programs"][0]["stdout"] == "left\n"
    found = {name: what for (_flow, _role, name), what in kept(run).items()}
    own, letter = sha256(b"own\n"), sha256(b"x")
    listed = {name: what for name, what in found.items() if not name.startswith("many/")}
    assert listed.pop("e-written")  # whatever it wrote last
    listed.pop(next(name for name in listed if name.endswith(" more")))
    long = next(name for name in listed if name.startswith("c-long"))
    assert listed.pop(long) == "name"
    assert listed == {
        "own": own, "a-hard-link": own, "a-link-to-a-file": "kind", "a-link-to-the-root": "kind",
        "a-relative-link": "kind", "a-loop": "kind", "folder/a-link": "kind",
        "a-link-to-the-root/etc/passwd": "missing", "a-relative-link/*": "missing",
        "folder/a-link/passwd": "missing", "b-fifo": "kind", "b-socket": "kind",
        "b-folder": "kind", "c-line\\nend": "name", "c-escape\\x1b[2J": "name",
        "c-not-utf8-\\xff\\xfe": "name", "c-backwards-\\u202egpj": "name",
        **dict.fromkeys(("c-..", "c-back\\slash", "c-$(id)", "c-<script>", "c-sp ace"), letter),
        "d-sparse": "size", "d-largest": "size", "d-whole": "size", "d-little": sha256(b"1"),
        "d-unreadable": sha256(b""), "e-moved": "kind",
    }  # fmt: skip
    assert found["many/*"] == "entries"
    sizes = {one["name"]: one["size_bytes"] for one in run["kept_files"]}
    assert sizes["d-sparse"] == 1 << 40
    stored = [one for one in run["kept_files"] if one["sha256"] is not None]
    assert len(stored) == kept_files.MOST_FILES
    assert len(run["kept_files"]) == kept_files.MOST_FILES + kept_files.MOST_LEFT_OUT + 1
