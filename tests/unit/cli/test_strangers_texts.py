"""A stranger's texts in every output: a scenario's or a merged store's, in what commands print.

A new command fails :func:`test_every_command_is_tried` until ``TRIED`` has calls of it. A new kind
of figure is tried by itself, and fails until it is listed only if it needs more than ``--output``.
"""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import click
import pytest
from click.testing import CliRunner, Result
from markdown_it import MarkdownIt

import orchestrator.cli
from orchestrator import plaintext
from orchestrator.cli import commands
from orchestrator.recording.model import RECEIVER, SENDER
from results.figures import FIGURES
from results.store.store import Store
from tests.support.experiments import make
from tests.support.recordings import flow, head, recording
from tests.support.run import SCENARIO, FakeRunner, fake
from tests.support.traced_frames import DROPS, trace

__all__ = ["fake"]

TEXT = "=1+1\x1b]0;title\x07\x9b31m\u202egpj.\r\nline | & $x^$ <b> \\ % _ #\u200b\U000e0041"
NAME = "tri\x1b[2Jal\u202e$x^$\u2060"
FLOW = "=2+2\x1b[31m\u202e\r\nflow\u200d"
RAW = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\U000e0041]"
)
"""What no text output may have: control characters but for tabs and line ends, directions, and
characters that nobody sees."""

NEED_GUESTS = ("diff", "explain", "judge", "run", "zoom")
"""Commands that make or judge real runs: here none of theirs ends well."""

NOT_TEXT = {".pdf", ".png", ".parquet", ".pcapng", ".db"}

SAMPLES = [
    {"time_s": second, "flow": 0, "endpoint": end, "snd_cwnd_segments": 10 + second,
     "rtt_us": 100_000 + 1000 * second, "bytes_sent": 10_000 * second,
     "bytes_received": 9000 * second}
    for second in range(11) for end in (SENDER, RECEIVER)
]  # fmt: skip
HOSTILE_SCENARIO = (
    f"{SCENARIO}description: {json.dumps(TEXT)}\n"
    f"matrix: {{description: [{json.dumps(TEXT + 'one')}, {json.dumps(TEXT + 'two')}]}}\n"
    "expect:\n  - {metric: goodput_bps, flow: one, above: 1gbit}\n"
)
REFUSED_SCENARIO = SCENARIO.replace("name: one", f"name: {json.dumps(FLOW)}")

TRIED: dict[str, list[list[str]]] = {
    "compare": [["RUN", "last"], ["RUN", "last", "--json"]],
    "diff": [["RUN", "RUN"], ["RUN", "RUN", "--json"], ["RUN", "OTHER"], ["RUN" + TEXT, "last"]],
    "doctor": [["--store"]],
    "experiments": [[], ["--json"]],
    "bisect": [
        ["hostile.yaml", "--tree", "/nowhere" + TEXT, "--good", "a" + TEXT, "--bad", "b" + TEXT],
        ["hostile.yaml", "--tree", ".", "--good", "a" + TEXT, "--bad", "b" + TEXT],
    ],
    "evaluate": [["cubic", "--plan", "--only", "idle"], ["cu" + TEXT, "--plan"],
                 ["./no" + TEXT, "--plan"],
                 ["cubic", "--plan", "--only", "x" + TEXT],
                 ["cubic", "--plan", "--against", "y" + TEXT], ["cubic", "-o", "no" + TEXT + "/c"],
                 ["--matrix", "cubic,z" + TEXT, "--plan"],
                 ["--matrix", "cubic,reno", "-o", "no" + TEXT + "/m"]],
    "evidence": [["RUN", "-o", "evidence"], ["nothing" + TEXT, "-o", "evidence"]],
    "export": [
        *([NAME, "-o", f"experiment.{form}"] for form in ("csv", "parquet")),
        *(["RUN", "-o", f"run.{form}"] for form in ("csv", "json", "parquet")),
        ["RUN", "--format", "flent", "-o", "run.flent.gz"],
        ["RUN", "--at", "all", "-o", "run.pcapng"],
        ["RUN", "--at", "nothing" + TEXT, "-o", "nothing.pcapng"],
        ["RUN", "-o", "nothing.pcapng"],
        [NAME, "--format", "rocrate", "-o", "crate"],
        ["nothing" + TEXT, "-o", "nothing.csv"],
    ],
    "guest check": [["/nowhere" + TEXT], ["/nowhere@" + TEXT]],
    "guest fetch": [["7.3" + TEXT]],
    "guest list": [[], ["--json"]],
    "guest test": [["/nowhere" + TEXT], ["--timeout", "1" + TEXT], ["--scripts", "/n" + TEXT]],
    "gc": [[], ["--failed"], ["--traces"]],
    "init": [["mine.yaml"]],
    "judge": [["RUN"], ["--all"]],
    "merge": [["other.db", "--db", "into.db"]],
    "note": [["RUN", "fine"], ["RUN", TEXT]],
    "plan": [["hostile.yaml"], ["hostile.yaml", "--json"], ["refused.yaml"],
             ["hostile.yaml", "--svg", "plan.svg"]],
    **{
        f"plot {kind}": [["RUN" if model.source == "RUN" else NAME, "-o", f"{kind}.svg"]]
        for kind, model in FIGURES.found.items()
    },
    "plot bars": [[NAME, "--metric", "goodput_bps", "-o", "bars.svg"]],
    "plot box": [[NAME, "--metric", "goodput_bps", "-o", "box.svg"]],
    "plot ccdf": [[NAME, "--sample", "rtt", "-o", "ccdf.svg"]],
    "plot cdf": [[NAME, "--sample", "rtt", "-o", "cdf.svg"]],
    "plot heatmap": [
        [NAME, "--metric", "goodput_bps", "--by", "description", "--by", "other", "-o", "h.svg"]
    ],
    "plot metric": [[NAME, "--metric", "goodput_bps", "--by", "other", "--each", "-o", "m.svg"]],
    "plot phase": [["RUN", "-o", "phase.svg"], [NAME, "-o", "phase.svg"]],
    "plot queue": [["RUN", "-o", "queue.svg"], ["RUN", "--link", TEXT, "-o", "q.svg"]],
    "plot sequence": [["RUN", "-o", "sequence.svg"], ["RUN", "--segments", "-o", "s.svg"]],
    "plot time": [["RUN", "-o", "time.svg"], [NAME, "--where", "x" + TEXT, "-o", "t.svg"]],
    "report": [[NAME, "-o", "report"]],
    "rm": [["RUN", "--yes"], ["nothing" + TEXT, "--yes"]],
    "run": [["hostile.yaml", "--junit", "out.xml"], ["hostile.yaml", "--json"], ["refused.yaml"]],
    "runs": [[], ["--json"], ["--experiment", NAME], ["--experiment", "no" + TEXT],
             ["--sort", TEXT]],
    "shell": [["refused.yaml"], ["hostile.yaml", TEXT]],
    "show": [["RUN"], ["FAILED"], ["RUN", "--json"], ["RUN", "--console"], ["RUN", "--log"]],
    "summary": [
        [NAME, *form, *more]
        for form in ([], ["--json"], ["--csv"], ["--csv-differences"], ["--markdown"], ["--latex"])
        for more in ([], ["--by", "description"], ["--quantile", "50%"], ["--where", TEXT],
                     ["--compare", TEXT + ",x"])
    ],
    "tag": [["RUN", "good"], ["RUN", TEXT]],
    "track": [
        ["hostile.yaml", "--kernel", "6.1", "--kernel", "6.12", "--metric", "goodput" + TEXT],
        ["hostile.yaml", "--tree", ".", "--tags", "v" + TEXT, "--metric", "goodput_bps"],
    ],
    "validate": [["hostile.yaml"], ["refused.yaml"]],
    "explain": [["RUN"], ["RUN" + TEXT], ["RUN", "--flow", TEXT], ["RUN", "--at", TEXT],
                ["RUN", "--window", TEXT], ["RUN", "--against", TEXT], ["FAILED"]],
    "zoom": [["RUN", "--window", "0s..1s"], ["RUN", "--window", TEXT], ["RUN" + TEXT, "--window",
             "0s..1s"], ["FAILED", "--window", "0s..1s"], ["RUN", "--window", "0s..1s", "--trace",
             TEXT], ["RUN", "--window", "0s..1s", "--limit", TEXT]],
}  # fmt: skip

SHOW_NO_TEXTS = {
    "guest build": "it needs a compiler, and shows the kernel",
    "guest info": "it shows the kernel",
    "guest shell": "it is a shell",
    "kmods build": "it needs a compiler, and shows modules of this program",
    "kmods check": "tests/unit/execution checks what it shows of a guest",
    "reproduce": "it takes the claims of this program, and no scenario of a user",
    "schema": "it shows this program's schema",
    "web": "tests/unit/web/test_hostile.py checks its pages",
}
"""Commands that show nothing of a scenario or a store, and why."""


def leaves(
    group: click.Command, context: click.Context, path: tuple[str, ...] = ()
) -> Iterator[str]:
    if not isinstance(group, click.Group):
        yield " ".join(path)
        return
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield from leaves(found, context, (*path, name))


def test_every_command_is_tried() -> None:
    there = set(leaves(commands, click.Context(commands)))
    missing = sorted(there - set(TRIED) - set(SHOW_NO_TEXTS))
    assert not missing, f"add calls of {missing} to TRIED, with a stranger's texts in them"
    assert set(TRIED) | set(SHOW_NO_TEXTS) == there
    assert not set(TRIED) & set(SHOW_NO_TEXTS)


def fill(path: Path) -> dict[str, str]:
    """Make a store as a stranger may hand it on, and return an id of its runs and of a failed one.

    The program itself would refuse such names of flows.
    """
    variants = [{"description": f"{TEXT}{end}", "other": other}
                for end in ("a", "b") for other in ("1ms", "2ms")]  # fmt: skip

    def goodput(_variant: object, repetition: int) -> dict[str, list[float]]:
        rising = [1e6 + 1e5 * part + repetition for part in range(20)]
        return {FLOW: rising, f"{FLOW}2": [3e6 + repetition * 1e4] * 20}

    with Store(path) as store:
        ids = make(
            store, goodput, variants, 3, NAME, description=TEXT, scenario=NAME,
            scenario_text=f"# {TEXT}\nversion: 1\n",
        )  # fmt: skip
        failed = store.begin(head(experiment=NAME, experiment_sha256="e1", variant=variants[0]))
        store.fail(failed, TEXT)
        run_id = store.begin(
            head(experiment=f"{NAME}2", scenario=NAME, description=TEXT, variant=variants[0])
        )
        made = recording(SAMPLES, flows=[flow(FLOW)], console=TEXT, log=TEXT)
        checks = [replace(check, detail=TEXT, unit=TEXT, ok=False) for check in made.checks]
        made = replace(made, checks=checks, verdict="unfaithful", trace=trace(DROPS))
        store.finish(run_id, made, 1.0, {"network": {"hosts": [TEXT, NAME]}})
    return {"RUN": run_id, "FAILED": failed, "OTHER": ids[0]}


@pytest.fixture
def there(fake: FakeRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A folder with hostile files and a hostile store, which commands take by default."""
    monkeypatch.chdir(tmp_path)
    Path("hostile.yaml").write_text(HOSTILE_SCENARIO)
    Path("refused.yaml").write_text(REFUSED_SCENARIO)
    fill(Path("other.db"))
    monkeypatch.setenv("ORCHESTRATOR_DB", "runs.db")
    return fill(Path("runs.db"))


def is_visible(text: str, what: str) -> None:
    found = RAW.search(text)
    assert found is None, f"{what}: {found[0]!r} in {text[max(0, found.start() - 80) :][:160]!r}"


def check_file(file: Path) -> None:
    if file.suffix in NOT_TEXT or file.name.endswith((".db-shm", ".db-wal")):
        return
    raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    text = raw.decode()
    if file.name not in ("scenario.yaml",):  # a copy of the user's own file
        is_visible(text, str(file))
    if file.suffix in (".svg", ".xml"):
        ET.fromstring(text)
    if file.suffix == ".csv":
        check_csv(text)


def check_csv(text: str) -> None:
    for row in csv.reader(io.StringIO(text)):
        for cell in row:
            assert cell[:1] not in ("=", "+", "@"), cell
            assert "\n" not in cell


def check_rows(result: Result, words: list[str]) -> None:
    """Each row of a table is one line."""
    lines = result.stdout.splitlines()
    if "--markdown" in words and result.exit_code == 0:
        widths = {line.count(" | ") for line in lines if line.startswith("| ")}
        assert all(not line or line[0] == "|" or line.startswith(("tri", "Paired", "Diff", "Quant",
                   "Where")) for line in lines), result.stdout  # fmt: skip
        assert widths
    if "--latex" in words and result.exit_code == 0:
        inside = result.stdout.split(r"\toprule")[1:]
        rows = [row for part in inside for row in part.split(r"\bottomrule")[0].splitlines()]
        assert all(row.endswith(r" \\") or row in ("", r"\midrule") for row in rows), rows
        assert not any(re.search(r"(?<!\\)[_#%]", row) for row in rows)
    if "--csv" in words or "--csv-differences" in words:
        check_csv(result.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("command", TRIED)
def test_no_command_obeys_a_strangers_text(there: dict[str, str], command: str) -> None:
    before = set(Path().rglob("*"))
    ended_well = 0
    for words in TRIED[command]:
        given = [*command.split(), *(there.get(word, word) for word in words)]
        result = CliRunner().invoke(commands, given)
        for stream in (result.stdout_bytes, result.stderr_bytes):
            is_visible(stream.decode(), " ".join(given))
        assert "this is a bug" not in result.stderr, (given, result.stderr)
        check_rows(result, words)
        ended_well += result.exit_code == 0
    assert ended_well or command in (
        "bisect",
        "evidence",
        "guest check",
        "guest test",
        "track",
        "guest fetch",
        "judge",
        "run",
        "plot events",
        "plot phase",
        "plot queue",
        "plot sequence",
        "explain",
        "shell",
        "zoom",
    ), f"no call of {command} in TRIED succeeds: {result.stderr}"
    for file in set(Path().rglob("*")) - before:
        if file.is_file():
            check_file(file)


def test_commands_print_by_one_module_alone() -> None:
    """``render/terminal.py`` makes text visible; ``_streams`` writes a constant."""
    found = []
    for file in Path(orchestrator.cli.__file__).parent.rglob("*.py"):
        if file.name in ("terminal.py", "_streams.py"):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and _prints(node):
                found.append(f"{file.name}:{node.lineno}")
    assert found == []


def _prints(call: ast.Call) -> bool:
    """Tell whether a call prints a text without escapes."""
    function = ast.unparse(call.func)
    if function in ("click.echo", "click.secho", "print", "sys.stdout.write", "sys.stderr.write"):
        return True
    texts = (ast.Constant, ast.JoinedStr, ast.BinOp)
    return function.endswith("out.print") and bool(call.args) and isinstance(call.args[0], texts)


def test_csv_is_written_by_one_module_alone() -> None:
    root = Path(orchestrator.cli.__file__).parents[2]
    files = [
        file for part in ("orchestrator", "results", "web") for file in (root / part).rglob("*.py")
    ]
    found = [file.name for file in files if re.search(r"csv\.(Dict)?[wW]riter\(", file.read_text())]
    assert found == ["csv_lines.py"]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"), ("+1+1", "'+1+1"), ("-1+1", "'-1+1"), ("@x", "'@x"), (" =1", "' =1"),
        ("＝1", "'＝1"), ("-5ms", "-5ms"), ("+1", "+1"), ("-10%", "-10%"), ("-", "-"),
        ("1e-3", "1e-3"), ("a\r\nb", r"a\x0d\nb"), ("\t=1", r"\t=1"), ("plain", "plain"),
    ],
)  # fmt: skip
def test_cells_that_a_spreadsheet_would_compute(text: str, cell: str) -> None:
    assert plaintext.csv_cell(text) == cell


def test_latex_and_markdown_show_the_text() -> None:
    assert plaintext.latex("a_b\n50% $x$") == r"a\_b\textbackslash{}n50\% \$x\$"
    # After the end of a row they would be the argument of \\.
    assert [plaintext.latex(text) for text in ("[1, 2]", "*x")] == ["{}[1, 2]", "{}*x"]
    assert plaintext.markdown("a|b\n<i>*[x](y)") == r"a\|b\n&lt;i&gt;\*[x]\(y)"
    assert plaintext.markdown("_a_ ~~b~~ $c$") == r"\_a\_ \~\~b\~\~ \$c\$"


@pytest.mark.parametrize(
    "text", ["_a_ b", "__a__", "goodput_bps (Mbit/s)", "~~a~~", "$x_1$ $y_2$", "2.17 ~", "`*a*`"]
)
def test_a_reader_of_markdown_sees_the_text(text: str) -> None:
    """``_a_`` was emphasis, and ``~~a~~`` was struck through."""
    page = MarkdownIt("commonmark").enable("strikethrough")
    assert page.render(plaintext.markdown(text)) == f"<p>{text}</p>\n"
