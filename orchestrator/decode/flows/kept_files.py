"""The files that are kept of what programs leave, from what the test bed reports."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from orchestrator.decode.output import OutputFolder, malformed
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.kept_files import FILE, MOST_BYTES
from orchestrator.protocol.programs import PROGRAM, ROLES
from orchestrator.protocol.reports import facts as protocol
from orchestrator.protocol.reports.facts import Fact
from orchestrator.recording.kept import KeptFile, KeptFiles


def kept_files(run: RunSpec, facts: Collection[Fact], output: OutputFolder) -> KeptFiles:
    """Return the files of all flows that keep some, by flow and role.

    Raises:
        BedError: the test bed reports files that no flow asks for, or its files are not those.
    """
    wanted = {
        (flow.name, role): number
        for number, flow in enumerate(run.flows)
        for role in (flow.traffic_parameters.get("keep", ()) if flow.engine == PROGRAM else ())
    }
    reported = protocol.of(facts, protocol.Kept)
    if not wanted and not reported:
        return KeptFiles()
    file = output.opened(FILE)
    data, at = b"" if file is None else file.whole(), 0
    seen: dict[tuple[int, str], list[KeptFile]] = {}
    contents: dict[str, bytes] = {}
    for fact in reported:
        role = fact["role"]
        flow = wanted.get((fact["flow"], role))
        if flow is None or (flow, role) in seen:
            raise malformed(f"flow {fact['flow']} has a fact kept that it did not ask for")
        made = seen[flow, role] = []
        names = [one["name"] for one in fact["files"]]
        if len(set(names)) < len(names) or sum(one["bytes"] for one in fact["files"]) > MOST_BYTES:
            raise malformed(f"flow {fact['flow']} keeps files that it cannot have")
        for one in fact["files"]:
            content = data[at : at + one["bytes"]]
            at += one["bytes"]
            sha256 = hashlib.sha256(content).hexdigest()
            contents[sha256] = content
            made.append(KeptFile(flow, role, one["name"], one["bytes"], sha256, None))
        made += [
            KeptFile(flow, role, one["name"], one["bytes"], None, one["reason"])
            for one in fact["left_out"]
        ]
    if at != len(data):
        raise malformed(f"{FILE} has {len(data)} bytes, and the facts kept are of {at}")
    ordered = sorted(seen, key=lambda key: (key[0], ROLES.index(key[1])))
    return KeptFiles([one for key in ordered for one in seen[key]], contents)
