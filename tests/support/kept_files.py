"""A run that keeps files of programs."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from orchestrator.files.scenario_files import NamedFile
from orchestrator.recording.kept import KeptFile, KeptFiles
from orchestrator.recording.model import Recording
from orchestrator.recording.verdicts import verdict_of
from results.store.store import Store
from tests.support.recordings import flow, head, recording

CONTENTS = {hashlib.sha256(each).hexdigest(): each for each in (b"page", b"")}
PAGE, EMPTY = CONTENTS
FILES = [
    KeptFile(0, "server", "log/a", 4, PAGE, None),
    KeptFile(0, "client", "a", 4, PAGE, None),
    KeptFile(0, "client", "b", 0, EMPTY, None),
    KeptFile(0, "client", "large", 1 << 40, None, "size"),
    KeptFile(1, "client", "*.xml", None, None, "missing"),
]


def made() -> Recording:
    made = recording(flows=[flow("a"), flow("b")], kept=KeptFiles(FILES, CONTENTS))
    return replace(made, verdict=verdict_of(made.checks))


def stored(store: Store, *named: NamedFile) -> str:
    run_id = store.begin(head(), named)
    store.finish(run_id, made(), 1.0)
    return run_id
