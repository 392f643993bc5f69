"""Report cards of congestion controls, and matrices of harm, from Python and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator import backends
from orchestrator.analysis.progress_bar import ProgressBar
from orchestrator.analysis.use_cases import run_settings
from orchestrator.application.executor import LOCAL
from orchestrator.evaluation import evaluate as evaluating
from orchestrator.evaluation.evaluate import EvaluationResult
from orchestrator.evaluation.matrix import files as matrix_files
from orchestrator.evaluation.matrix import harm
from orchestrator.evaluation.matrix.harm import HarmMatrix
from orchestrator.evaluation.matrix.prepared import MatrixRequest
from orchestrator.evaluation.matrix.prepared import prepare as prepare_matrix
from orchestrator.evaluation.prepared import AGAINST, EvaluationRequest, require_length
from orchestrator.evaluation.prepared import prepare as prepare_evaluation
from results import DEFAULT_DB

if TYPE_CHECKING:
    from orchestrator.application.events import Listener


def evaluate(
    candidate: str | Path,
    output: str | Path,
    *,
    against: Sequence[str] = AGAINST,
    length: str = "quick",
    only: Sequence[str] = (),
    required: Sequence[str] = (),
    kernel: str | None = None,
    baseline: str | Path | None = None,
    pdf: bool = False,
    db: str | Path = DEFAULT_DB,
    jobs: int = 1,
    executor: str = LOCAL,
    listener: Listener | None = None,
) -> EvaluationResult:
    """Make the report card of a congestion control, or of a folder's module; write it to a folder.

    Raises:
        UsageError: there is no such control, module or criterion, or the card cannot be written.
    """
    request = EvaluationRequest(
        str(candidate),
        Path(output),
        against,
        require_length(length),
        only,
        required,
        kernel,
        None if baseline is None else str(baseline),
        pdf,
    )
    settings = run_settings(db, backends.DEFAULT, executor, jobs)
    found = evaluating.evaluate(prepare_evaluation(request), settings, listener or ProgressBar())
    found.write()
    return found


def harm_matrix(
    names: Sequence[str],
    output: str | Path,
    *,
    length: str = "quick",
    kernel: str | None = None,
    db: str | Path = DEFAULT_DB,
    jobs: int = 1,
    executor: str = LOCAL,
    listener: Listener | None = None,
) -> HarmMatrix:
    """Make a matrix of harm, each congestion control against each; write it to a folder.

    ``names`` are those of controls, or folders of modules' sources.

    Raises:
        UsageError: there is no such control or module, or the matrix cannot be written.
    """
    request = MatrixRequest(names, Path(output), require_length(length), kernel)
    prepared = prepare_matrix(request)
    matrix_files.require_folder(request.folder)
    settings = run_settings(db, backends.DEFAULT, executor, jobs)
    found = harm.make(prepared, settings, listener or ProgressBar())
    matrix_files.write(found, settings.db)
    return found
