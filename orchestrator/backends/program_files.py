"""Gives a test bed the files that users' programs read."""

from __future__ import annotations

from pathlib import Path

from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.programs import PROGRAM
from orchestrator.protocol.specification import AgentSpec, TestbedSpec

_FOLDER = "programs"


def provide(run: RunSpec, document: TestbedSpec | AgentSpec, input_folder: Path) -> None:
    """Write the files of each program to the bed's input folder, and name the folders in its spec.

    A lab host has some of the flows only. All files are executable, because a scenario keeps
    contents and no modes.
    """
    folders: dict[str, str] = {}
    flows = {flow.name: flow for flow in run.flows}
    for spec in document["flows"]:
        flow = flows[spec["name"]]
        place = flow.traffic_parameters.get("files") if flow.engine == PROGRAM else None
        if place is None:
            continue
        if place not in folders:
            folders[place] = f"{_FOLDER}/{len(folders)}"
            _write(run, place, input_folder / folders[place])
        spec["parameters"] = {**spec["parameters"], "files": folders[place]}


def _write(run: RunSpec, place: str, folder: Path) -> None:
    below = "" if place == "." else f"{place}/"
    folder.mkdir(parents=True)
    for name, file in run.files.items():
        if name.startswith(below):
            target = folder / name.removeprefix(below)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.content)
            target.chmod(0o755)
