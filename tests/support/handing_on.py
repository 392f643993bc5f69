"""An experiment with a module and a trace of its own, and who gets it."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.run import fake

__all__ = ["fake"]


EXAMPLE = Path(__file__).resolve().parents[2] / "scenarios" / "own-module"


SCENARIO = """\
version: 1
name: handed
seed: 1
duration: 2s
topology:
  kind: dumbbell
  bottleneck:
    delay: 10ms
    capacity: {forward: {trace: TRACE}, reverse: {rate: 10mbit}}
    queue: {kind: droptail, limit: 100p}
  groups:
    - {name: a, hosts: 1, access: {rate: 100mbit, delay: 20ms}}
flows:
  - {name: one, group: a, congestion: {name: mycc, module: MODULE}, traffic: {kind: bulk}}
repetitions: 2
"""


def author(folder: Path, trace: str = "traces/a.trace", module: str = "./mycc") -> Path:
    """Make a folder of an author with a scenario, a module and a trace; return the scenario."""
    folder.mkdir(parents=True)
    shutil.copytree(EXAMPLE / "mycc", folder / "mycc")
    (folder / "traces").mkdir()
    (folder / "traces" / "a.trace").write_text("0\n1\n2\n3\n")
    file = folder / "handed.yaml"
    file.write_text(SCENARIO.replace("TRACE", trace).replace("MODULE", module))
    return file
