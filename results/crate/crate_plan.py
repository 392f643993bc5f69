"""What a crate says of the runs that it lets others make again: the file ``plan.json``.

``results.crate.crate_files`` writes it, and ``results.crate.crate_reading`` reads it as a
stranger's. It has what the runs need: the resolved scenario of each run, the files that it names,
seeds, kernel and link model. The digests are there, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from orchestrator.files.scenario_files import NamedFile, without_lab_hosts
from orchestrator.repetitions import RepetitionRule
from results.store.stored import StoredRun

NAME = "plan.json"
FORMAT: Literal[1] = 1
COMMAND = "orchestrator run . --db runs.db"

_RESERVED = {"figures", "files", "runs", "samples", NAME, "ro-crate-metadata.json"}

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Text = Annotated[str, Field(max_length=10_000)]
Name = Annotated[str, Field(min_length=1, max_length=1000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class PlannedFile(_Strict):
    """A file that a run's scenario names: where the crate has it, and its hash."""

    path: Name
    sha256: Sha256


class CrateKernel(_Strict):
    """The kernel of a run: its release, and the hashes of what it was built from."""

    release: Name
    inputs: dict[Name, JsonValue] = Field(max_length=50)


class CrateRepetitionRule(_Strict):
    """The rule for the number of repetitions; see ``orchestrator.repetitions.RepetitionRule``."""

    metric: Name
    flow: Name | None
    window: Name | None
    interval: float = Field(gt=0, le=1)
    least: int = Field(ge=1, le=10**6)
    most: int = Field(ge=1, le=10**6)


class CrateRun(_Strict):
    """A run that ended ok. ``scenario`` is resolved, and ``files`` are those it names by places."""

    id: Name
    variant: dict[Name, JsonValue] = Field(max_length=1000)
    variant_sets: dict[Name, dict[Name, JsonValue]] = Field(default_factory=dict, max_length=1000)
    repetition: int = Field(ge=0, le=10**9)
    seed: int = Field(ge=0, lt=2**63)
    backend: Name
    link_model: int = Field(ge=0, le=10**6)
    digest_version: int = Field(ge=0, le=10**6)
    digest: Name
    kernel: CrateKernel
    git_commit: Name | None
    experiment_sha256: Name | None
    repetition_rule: CrateRepetitionRule | None
    scenario_file: Name
    scenario: dict[Name, JsonValue]
    files: dict[Name, PlannedFile] = Field(max_length=10_000)

    @property
    def rule(self) -> RepetitionRule | None:
        """The rule for the number of repetitions, None for a fixed number."""
        rule = self.repetition_rule
        return None if rule is None else RepetitionRule(**dict(rule))

    @model_validator(mode="after")
    def _sets_of_names(self) -> Self:
        for axis in self.variant_sets:
            if not isinstance(self.variant.get(axis), str):
                raise ValueError(f"variant_sets: {axis} has no named value in the variant")
        return self


class CratePlan(_Strict):
    """The file ``plan.json``."""

    format: Literal[1]
    experiment: Name
    command: Text
    runs: list[CrateRun] = Field(max_length=100_000)


def plan_of(
    experiment: str, runs: Sequence[tuple[StoredRun, str, Mapping[str, PlannedFile]]]
) -> dict[str, Any]:
    """Return the plan of runs that ended ok: (run, file of its scenario, its files by places)."""
    planned = CratePlan(
        format=FORMAT,
        experiment=experiment,
        command=COMMAND,
        runs=[_run(*run) for run in runs],
    )
    return planned.model_dump(mode="json")


def _run(run: StoredRun, file: str, files: Mapping[str, PlannedFile]) -> CrateRun:
    head, rule = run.head, run.head.repetition_rule
    return CrateRun(
        id=run.id,
        variant=dict(head.variant),
        variant_sets={axis: dict(values) for axis, values in head.variant_sets.items()},
        repetition=head.repetition,
        seed=head.seed,
        backend=head.backend,
        link_model=head.link_model,
        digest_version=head.digest_version,
        digest=run.row.digest or "-",
        kernel=kernel_of(run),
        git_commit=head.git_commit,
        experiment_sha256=head.experiment_sha256,
        repetition_rule=None if rule is None else CrateRepetitionRule(**vars(rule)),
        scenario_file=file,
        # How hosts of a lab are reached is nobody else's business.
        scenario=without_lab_hosts(head.resolved),
        files=dict(files),
    )


def kernel_of(run: StoredRun) -> CrateKernel:
    """Return the kernel of a stored run."""
    return CrateKernel(release=run.row.kernel or "-", inputs=inputs_of(run.provenance))


def inputs_of(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hashes of what a guest's kernel was built from, without the compiler.

    Digests do not depend on the compiler.
    """
    guest = provenance.get("guest_kernel")
    inputs = guest.get("inputs") if isinstance(guest, Mapping) else None
    if not isinstance(inputs, Mapping):
        return {}
    return {str(key): value for key, value in inputs.items() if key != "compiler"}


class CratePaths:
    """Gives each file that runs name a path in the crate: its place, if that is free."""

    def __init__(self) -> None:
        self._taken: dict[str, NamedFile] = {}

    def add(self, files: Mapping[str, bytes]) -> dict[str, PlannedFile]:
        """Return where the files of a run are, by their places."""
        return {place: self._add(NamedFile(place, content)) for place, content in files.items()}

    def items(self) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of each file of the crate."""
        for path, file in self._taken.items():
            yield path, file.content

    def _add(self, file: NamedFile) -> PlannedFile:
        own = f"files/{file.sha256[:16]}/{file.place}"
        for path in (file.place, own) if _is_free(file.place) else (own,):
            if self._fits(path) and self._taken.setdefault(path, file).sha256 == file.sha256:
                return PlannedFile(path=path, sha256=file.sha256)
        raise ValueError(f"two files have the path {own}")

    def _fits(self, path: str) -> bool:
        """Tell whether no file is where a folder would have to be."""
        folders = {str(parent) for parent in PurePosixPath(path).parents}
        return not folders & self._taken.keys() and not any(
            taken.startswith(f"{path}/") for taken in self._taken
        )


def _is_free(place: str) -> bool:
    """Tell whether the crate itself has no file or folder of that name."""
    first = PurePosixPath(place).parts[0]
    own = first.startswith(("table.", "scenario.", "scenario-", "."))
    return first not in _RESERVED and not own
