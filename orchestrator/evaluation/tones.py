"""The colours of verdicts on pages; the words say the same."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.evaluation.verdicts import DOES_NOT, LIMITED, MEETS, NOT_APPLICABLE, NOT_DECIDED
from results.report import Tone

TONES: Mapping[str, Tone] = {
    MEETS: "good",
    LIMITED: "fair",
    DOES_NOT: "bad",
    NOT_DECIDED: "open",
    NOT_APPLICABLE: "none",
}
"""The colour of each verdict and grade."""
