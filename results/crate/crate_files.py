"""Runs as an RO-Crate: a folder whose files one JSON-LD document describes.

The crate follows RO-Crate 1.1 (https://w3id.org/ro/crate/1.1) and its profile Process Run Crate 0.5
(https://w3id.org/ro/wfrun/process/0.5). Each run is a CreateAction. Its instruments are this
software and the kernel, its objects are scenario, seed and values of the axes. Equal runs give
equal files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from orchestrator import __version__, plaintext
from orchestrator.errors import UsageError
from results.contract.base import json_ready
from results.crate import crate_plan
from results.documents import run_document, trace_document
from results.experiment.experiments import Experiment
from results.export import FORMATS, csv_files, parquet_files, pcapng
from results.matrix.axes import shown
from results.records.model import RunRow
from results.runs import result
from results.runs.captures import captured_hosts
from results.store.store import Store
from results.store.stored import StoredRun
from results.tables import experiment_table
from results.traces import typed_tables
from results.traces.choice import TraceChoice
from results.traces.places import ALL

METADATA = "ro-crate-metadata.json"
NAME = "rocrate"
FILES = (
    f"DIR/{METADATA} (JSON-LD: what the files are and how they were made), scenario.yaml, the "
    "files that it names, plan.json (`orchestrator run DIR` makes the runs again), "
    "table.csv and table.parquet (as of an experiment), runs/ID.json (provenance, metrics and "
    "checks of each run) and figures/ (those that the scenario names). Of a single run samples/ "
    "(as csv, with its traces as parquet and pcapng) instead of figures. DIR.zip is an archive of "
    "all that."
)

_CRATE = "https://w3id.org/ro/crate/1.1"
_PROCESS = "https://w3id.org/ro/wfrun/process/0.5"
_CONTEXT = [f"{_CRATE}/context", "https://w3id.org/ro/terms/workflow-run/context"]
_APACHE = "https://spdx.org/licenses/Apache-2.0"
_GPL = "https://spdx.org/licenses/GPL-2.0-only"
_LICENCES = {_APACHE: "Apache License 2.0", _GPL: "GNU GPL, version 2 only"}
"""Of this software, and of the kernel with its modules."""

_UNSTATED = "Not stated. Ask whoever gave you the crate before you publish its data."
_MEDIA = {
    "c": "text/x-c", "csv": "text/csv", "h": "text/x-c", "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
    "pdf": "application/pdf", "png": "image/png", "svg": "image/svg+xml",
    "pcapng": "application/x-pcapng", "yaml": "application/yaml",
}  # fmt: skip
_PARTS = FORMATS["csv"].parts

Entity = dict[str, Any]


def write(
    folder: Path,
    store: Store,
    experiment: Experiment,
    figures: Mapping[str, bytes],
    licence: str | None = None,
    single: bool = False,
) -> None:
    """Write the crate of an experiment into an empty folder.

    ``figures`` are files by their names. ``licence`` is that of the data, a URL or words.
    ``single`` adds the samples of the only run.

    Raises:
        UsageError: there is no run that has ended.
        StoreError: a run cannot be read.
    """
    rows = [row for row in experiment.rows if row.status != "running"]
    if not rows:
        raise UsageError(f"{experiment.label} has no run that has ended: there is nothing to write")
    described = dict(_scenarios(folder, store, rows))
    described |= _plan(folder, store, experiment, rows)
    if any(row.status == "ok" for row in rows):
        tables = {kind: folder / f"table.{kind}" for kind in experiment_table.WRITERS}
        experiment_table.write(store, experiment, tables)
        for path in tables.values():
            described[path.name] = "a row for each run, window and flow; a column for each metric"
    for name, content in figures.items():
        _made(folder / "figures" / name).write_bytes(content)
        described[f"figures/{name}"] = "a figure that the scenario names"
    for row in rows:
        _write_run(_made(folder / "runs" / f"{row.id}.json"), store.load(row.id))
        described[f"runs/{row.id}.json"] = f"provenance, metrics and checks of run {row.id}"
    if single and rows[0].status == "ok":
        names = [f"samples/{part or 'tcp'}.csv" for part in _PARTS]
        csv_files.write(store.load(rows[0].id), [_made(folder / name) for name in names])
        described |= dict.fromkeys(names, "samples and metrics of the run, as `export` writes csv")
        described |= _traces(folder, store.load(rows[0].id))
    graph = _graph(folder, store, experiment, rows, described, licence)
    text = _json({"@context": _CONTEXT, "@graph": graph}, 2)
    (folder / METADATA).write_text(text, encoding="utf-8")


def _json(document: object, indent: int) -> str:
    """Return a JSON file's text, whose strings cannot control a terminal."""
    text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    return plaintext.visible_json(text) + "\n"


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _scenarios(folder: Path, store: Store, rows: Sequence[RunRow]) -> Iterator[tuple[str, str]]:
    """Write each text of the scenario; yield names with descriptions."""
    written = set()
    for row in rows:
        name = _scenario_name(row, rows)
        if name not in written:
            written.add(name)
            (folder / name).write_text(store.load(row.id).head.scenario_text, encoding="utf-8")
            yield name, f"the scenario of the runs, SHA-256 {row.scenario_sha256}"


def _plan(
    folder: Path, store: Store, experiment: Experiment, rows: Sequence[RunRow]
) -> dict[str, str]:
    """Write what makes the runs again, each once; return names with descriptions."""
    places = crate_plan.CratePaths()
    runs = [
        (run, _scenario_name(run.row, rows), places.add(run.files))
        for run in store.load_many([row.id for row in experiment.counting()])
    ]
    described = {}
    for name, content in places.items():
        _made(folder / name).write_bytes(content)
        described[name] = "a file that the scenario names"
    text = _json(crate_plan.plan_of(experiment.name, runs), 1)
    (folder / crate_plan.NAME).write_text(text, encoding="utf-8")
    described[crate_plan.NAME] = (
        "what makes the runs again, compared to the bit, in the unpacked crate: "
        f"{crate_plan.COMMAND}"
    )
    return described


def _traces(folder: Path, run: StoredRun) -> dict[str, str]:
    """Write the traces of the run; return names with descriptions."""
    described: dict[str, str] = {}
    for head in run.traces:
        about = f"trace {head.number} of the run"
        names = [f"samples/trace-{head.number}.{part}.parquet" for part in typed_tables.PARTS]
        choice = TraceChoice(head.number, ALL)
        parquet_files.write_trace(run, [_made(folder / name) for name in names], choice)
        described |= dict.fromkeys(names, f"{about}, as `export` writes parquet with --trace")
        if head.rows["frames"]:
            name = f"samples/trace-{head.number}.pcapng"
            pcapng.write(run, [folder / name], choice)
            described[name] = f"{about}: its frames at all places"
    return described


def _scenario_name(row: RunRow, rows: Sequence[RunRow]) -> str:
    """Return the file of a run's scenario: the newest text has the plain name."""
    if row.scenario_sha256 == rows[-1].scenario_sha256:
        return "scenario.yaml"
    return f"scenario-{row.scenario_sha256[:8]}.yaml"


def _write_run(path: Path, run: StoredRun) -> None:
    head = run.head
    document = json_ready(
        {
            **run_document.document([result.of_run(run)]),
            "scenario_sha256": run.row.scenario_sha256,
            "started_utc": run.row.started_utc,
            "finished_utc": run.row.finished_utc,
            "git_commit": head.git_commit,
            "resolved": head.resolved,
            "network": [link.document() for link in head.links],
            "provenance": run.provenance,
            "traces": [
                trace_document.trace(head, captured_hosts(run, head)).document()
                for head in run.traces
            ],
        }
    )
    path.write_text(_json(document, 1), encoding="utf-8")


def _graph(
    folder: Path,
    store: Store,
    experiment: Experiment,
    rows: Sequence[RunRow],
    described: Mapping[str, str],
    licence: str | None,
) -> list[Entity]:
    newest = rows[-1]
    files = [_file(folder, name, words) for name, words in described.items()]
    actions, parts = _actions(rows)
    terms = _terms(licence)
    variables = []
    if "table.csv" in described:
        variables = _variables(store.extracted_metrics(experiment.counting()))
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": experiment.label if experiment.key else f"{experiment.name}, run {newest.id}",
        "description": store.load(newest.id).head.description
        or f"Runs of the experiment {experiment.name}.",
        "identifier": experiment.identity if experiment.key else newest.id,
        "datePublished": max(row.finished_utc or row.started_utc for row in rows),
        "license": _to(terms["@id"]),
        "keywords": "TCP, congestion control, network emulation",
        "conformsTo": _to(_PROCESS),
        "hasPart": _links(files),
        "mentions": _links(actions),
        "variableMeasured": _links(variables),
    }
    return [
        {
            "@id": METADATA,
            "@type": "CreativeWork",
            "about": _to("./"),
            "conformsTo": _to(_CRATE),
        },
        root,
        *files,
        *actions,
        *parts,
        *variables,
        *([] if terms["@id"] in _LICENCES else [terms]),
        *({"@id": one, "@type": "CreativeWork", "name": name} for one, name in _LICENCES.items()),
        {"@id": _PROCESS, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
    ]


def _file(folder: Path, name: str, words: str) -> Entity:
    path = folder / name
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "@id": quote(name),
        "@type": "File",
        "name": name,
        "description": words,
        "encodingFormat": _MEDIA.get(name.rpartition(".")[2], "application/octet-stream"),
        "contentSize": str(path.stat().st_size),
        "sha256": sha256,
    }


def _actions(rows: Sequence[RunRow]) -> tuple[list[Entity], list[Entity]]:
    """Return an action for each run, and the entities that the actions name."""
    actions: list[Entity] = []
    parts: dict[str, Entity] = {}
    for row in rows:
        instruments = [_software(row), *_kernel(row)]
        objects = list(_parameters(row))
        parts |= {entity["@id"]: entity for entity in (*instruments, *objects)}
        action = {
            "@id": f"#run-{row.id}",
            "@type": "CreateAction",
            "name": f"Run {row.id}",
            "description": f"verdict {row.verdict or '-'}, digest {row.digest or '-'}, "
            f"link model {row.link_model}, back end {row.backend}",
            "startTime": row.started_utc,
            "endTime": row.finished_utc or row.started_utc,
            "actionStatus": f"http://schema.org/{_status(row)}ActionStatus",
            "instrument": _links(instruments),
            "object": _links([{"@id": quote(_scenario_name(row, rows))}, *objects]),
            "result": _to(f"runs/{row.id}.json"),
        }
        if row.error:
            action["error"] = row.error
        actions.append(action)
    return actions, list(parts.values())


def _status(row: RunRow) -> str:
    return "Completed" if row.status == "ok" else "Failed"


def _software(row: RunRow) -> Entity:
    commit = row.git_commit or "unknown"
    return {
        "@id": f"#orchestrator-{quote(commit)}",
        "@type": "SoftwareApplication",
        "name": "TCP congestion-control orchestrator",
        "description": "Runs TCP congestion-control experiments on a real Linux kernel in virtual "
        "time. To cite it, use CITATION.cff of its sources.",
        "softwareVersion": f"commit {commit}, exported by version {__version__}",
        "license": _to(_APACHE),
    }


def _kernel(row: RunRow) -> Iterator[Entity]:
    if row.kernel is not None:
        yield {
            "@id": f"#kernel-{quote(row.kernel)}",
            "@type": "SoftwareApplication",
            "name": f"Linux {row.kernel}",
            "description": "The kernel of the test bed. The JSON file of a run has the hashes of "
            "its sources and modules.",
            "softwareVersion": row.kernel,
            "url": "https://www.kernel.org",
            "license": _to(_GPL),
        }


def _parameters(row: RunRow) -> Iterator[Entity]:
    values = {"seed": row.seed, "repetition": row.repetition, **row.variant}
    for path, value in values.items():
        yield {
            "@id": f"#{quote(path, safe='')}={quote(shown(value), safe='')}",
            "@type": "PropertyValue",
            "name": path,
            "value": shown(value),
        }


def _variables(extracted: Sequence[str]) -> list[Entity]:
    """Return the columns of the table that are metrics, with units and definitions."""
    by_name = {
        metric.name: {
            "@id": f"#metric-{metric.name}",
            "@type": "PropertyValue",
            "name": metric.name,
            "description": " ".join(metric.definition.split()),
            "unitText": metric.unit,
        }
        for metric in experiment_table.columns_of_metrics(extracted)
    }
    return list(by_name.values())


def _terms(licence: str | None) -> Entity:
    """Return the entity of the data's licence."""
    words = licence or _UNSTATED
    address = licence if licence is not None and "://" in licence else "#licence-of-the-data"
    return {"@id": address, "@type": "CreativeWork", "name": words, "description": words}


def _links(entities: Sequence[Entity]) -> Any:
    """Return links to entities; RO-Crate writes a single value without a list."""
    links = [_to(entity["@id"]) for entity in entities]
    return links[0] if len(links) == 1 else links


def _to(identifier: str) -> Entity:
    return {"@id": identifier}
