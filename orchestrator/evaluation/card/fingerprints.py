"""Tells whether a criterion is what it was when a card was made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from orchestrator.evaluation import loading
from orchestrator.evaluation.model import Criterion

_IN_WORDS = {"asks", "reason"}
"""Of a row: these change nothing of what is run or decided."""


def fingerprint(criterion: Criterion) -> str:
    """Return a hash of what a criterion runs and asks; its words do not count."""
    asked = {
        "failed_runs": criterion.failed_runs,
        "rows": [row.model_dump(mode="json", exclude=_IN_WORDS) for row in criterion.rows],
        "scenario": criterion.scenario,
        "files": {name: _of_file(name) for name in criterion.files},
    }
    data = json.dumps(asked, sort_keys=True, default=str).encode()
    return hashlib.sha256(data).hexdigest()[:16]


def fingerprints(criteria: Mapping[str, Criterion]) -> dict[str, str]:
    """Return the hash of each criterion by its name."""
    return {name: fingerprint(one) for name, one in criteria.items()}


def _of_file(name: str) -> str:
    return hashlib.sha256((loading.FOLDER / name).read_bytes()).hexdigest()
