"""A field that is added to the record of a run is kept, and one in the contract is shown."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from results.records import columns
from results.records.model import RunHead, RunRow
from results.schema import database

ROOT = Path(__file__).resolve().parents[4]

DECLARATION = "    experiment: Annotated[str, COMPARED]\n"
ADDED = DECLARATION + (
    "    labels: Annotated[Mapping[str, Any], OBJECT, COMPARED] = field(default_factory=dict)\n"
)
CONTRACT = "class RunFields(ResponseModel):\n"
SHOWN = CONTRACT + "    labels: Variant\n"
MIGRATION = "ALTER TABLE runs ADD COLUMN labels TEXT NOT NULL DEFAULT '{}';\n"

SCRIPT = """
import json, sys
from pathlib import Path
from results.documents import run_document
from results.runs import listing
from results.comparison.comparison_document import document
from results.comparison.runs import compare
from results.export import export
from results.store.parts import integrity
from results.store.store import Store
from tests.support.recordings import head, whole
from web import create_app

path = Path(sys.argv[1])
with Store(path) as store:
    ids = [store.begin(head(labels={"place": place})) for place in ("here", "there")]
    for run in ids:
        store.finish(run, whole(), 0.5)
with Store.open_read_only(path) as store:
    runs = [store.load(run) for run in ids]
    (file,) = export(runs[0], "json", path.with_name("run.json"), force=True)
    print(json.dumps({
        "head": runs[0].head.labels,
        "row": store.list_runs()[1].labels,
        "show": run_document.of_ids(store, [ids[0]])["runs"][0]["labels"],
        "runs": run_document.list_document(listing.read(store))["runs"][1]["labels"],
        "export": json.loads(file.read_text())["runs"][0]["labels"],
        "differs": "labels" in json.dumps(document(compare(runs), None)["differs"]["run"]),
    }))
assert integrity.examine(path).ok
page = create_app(path).test_client().get(f"/runs/{ids[0]}").text
shown = page.partition('<th scope="row">labels</th>')[2].partition("</tr>")[0]
assert "&#34;place&#34;: &#34;here&#34;" in shown, page
assert '<th scope="row">seed</th>' not in page
"""


@pytest.mark.slow
def test_a_declared_field_is_kept_and_shown_everywhere(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "results", tmp_path / "results", ignore=lambda *_: ["__pycache__"])
    model = tmp_path / "results" / "records" / "model.py"
    assert model.read_text().count(DECLARATION) == 1
    model.write_text(model.read_text().replace(DECLARATION, ADDED))
    contract = tmp_path / "results" / "contract" / "runs.py"
    contract.write_text(contract.read_text().replace(CONTRACT, SHOWN))
    name = f"{database.newest() + 1:04}_labels.sql"
    (tmp_path / "results" / "schema" / "migrations" / name).write_text(MIGRATION)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "runs.db")],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    here, there = '{"place": "here"}', '{"place": "there"}'
    assert done.stdout == (
        f'{{"head": {here}, "row": {there}, "show": {here}, "runs": {there}, '
        f'"export": {here}, "differs": true}}\n'
    )


def test_every_field_has_a_column() -> None:
    connection = database.in_memory(database.newest())
    found = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info('runs')")}
    connection.close()
    for record in (RunHead, RunRow):
        assert {field.name for field in fields(record)} <= found
        assert columns.names(record) == [field.name for field in fields(record)]
