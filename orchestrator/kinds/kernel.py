"""The kernel of a guest in a scenario: a series, or a source with what is changed in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from guest import choice
from guest.choice import KernelChoice, PatchFile
from guest.patch_series import series_of
from orchestrator.files.scenario_files import ScenarioFiles, StoredFiles
from orchestrator.kinds.fields import Strict, ValidationContext
from orchestrator.units import shown

KEY = "kernel"
"""The scenario's key."""

_MOST_PATCHES = 100
_YES, _NO = "y", "n"


class KernelPatch(Strict):
    """A patch of a kernel; its path alone stands for ``{patch: ...}``."""

    patch: str = Field(description="file that `patch -p1` takes, relative to the scenario's folder")
    sha256: str | None = Field(
        default=None,
        validate_default=True,
        description="SHA-256 that the patch must have; not checked when not given",
    )

    _read: PatchFile = PrivateAttr(default=PatchFile("", b""))

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, data: Any) -> Any:
        return {"patch": data} if isinstance(data, str) else data

    @field_validator("patch")
    @classmethod
    def _place(cls, patch: str, info: ValidationInfo) -> str:
        return _files(info).file(patch, choice.MOST_PATCH_BYTES).place

    @field_validator("sha256")
    @classmethod
    def _of_the_patch(cls, sha256: str | None, info: ValidationInfo) -> str | None:
        if "patch" not in info.data:
            return sha256  # the fault of the file itself is reported already
        has = _files(info).file(info.data["patch"], choice.MOST_PATCH_BYTES).sha256
        if sha256 not in (None, has):
            raise ValueError(f"`{info.data['patch']}` has the SHA-256 {has}, not {shown(sha256)}")
        return has

    @model_validator(mode="after")
    def _keep(self, info: ValidationInfo) -> KernelPatch:
        content = _files(info).file(self.patch, choice.MOST_PATCH_BYTES).content
        self._read = PatchFile(Path(self.patch).name, content)
        return self

    @property
    def read(self) -> PatchFile:
        """The patch with its content."""
        return self._read


def _option_value(value: object) -> str:
    """Return the value of an option as .config has it."""
    if value is True or value is False:
        return _YES if value else _NO
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str) and value in (_YES, _NO, "m"):
        return value
    if isinstance(value, str) and value.isprintable() and not set('"\\') & set(value):
        return f'"{value}"' if not value.startswith("0x") else value
    raise ValueError(f"{shown(value)} is no value of an option: give true, false, a number or text")


class Kernel(Strict):
    """The guest's kernel; a source alone stands for ``{source: ...}``.

    Once validated, ``source`` is a series, or the place of a path.
    """

    source: str = Field(
        description="series, such as 6.12, of a Debian package linux-source-6.12 that is installed "
        "or was fetched (`orchestrator guest fetch`); or the path of a tree, a tarball or a git "
        "repository, relative to the scenario's folder"
    )
    revision: str | None = Field(
        default=None, description="revision of the git repository, such as v6.15"
    )
    patches: Annotated[list[KernelPatch] | None, Field(max_length=_MOST_PATCHES)] = Field(
        default=None, description="patches that are applied to the source, in this order"
    )
    revert: Annotated[list[KernelPatch] | None, Field(max_length=_MOST_PATCHES)] = Field(
        default=None, description="patches that are taken out of the source first, in this order"
    )
    config: Annotated[
        dict[str, Any] | None,
        WithJsonSchema(
            {
                "type": "object",
                "additionalProperties": {"type": ["boolean", "integer", "string"]},
            }
        ),
    ] = Field(
        default=None,
        description="options of the kernel's configuration, such as `HZ: 1000`, without "
        "CONFIG_. They win over the guest's own",
    )

    _path: Path | None = PrivateAttr(default=None)
    _is_foreign: bool = PrivateAttr(default=False)

    @model_validator(mode="before")
    @classmethod
    def _text_alone(cls, data: Any, info: ValidationInfo) -> Any:
        if isinstance(data, int | float) and not isinstance(data, bool):
            raise ValueError(f"{shown(data)} is a number: put a kernel's name in quotes")
        if not isinstance(data, str):
            return data
        parts = choice.parts_of(data, _base(info))
        values = {
            "source": parts.source,
            "revision": parts.revision,
            "patches": list(parts.patches) or None,
        }
        return {key: value for key, value in values.items() if value is not None}

    @model_serializer(mode="wrap")
    def _source_alone(self, handler: SerializerFunctionWrapHandler) -> Any:
        values = handler(self)
        given = {key for key, value in values.items() if value is not None}
        return values["source"] if given == {"source"} else values

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        whole = handler.resolve_ref_schema(handler(schema))
        return {
            "title": "Kernel",
            "description": "The guest's kernel; a source alone stands for `{source: ...}`. A text "
            "may also be SOURCE@REVISION+FILE.patch.",
            "anyOf": [{"type": "string", "examples": ["6.12"]}, {"type": "number"}, whole],
        }

    @field_validator("source")
    @classmethod
    def _place(cls, source: str, info: ValidationInfo) -> str:
        if not source or not source.isprintable():
            raise ValueError("must name a series, such as 6.12, or a path")
        if series_of(source) is not None:
            return source
        files = _files(info)
        if isinstance(files, StoredFiles) or not isinstance(info.context, ValidationContext):
            return source
        return files.remember(source, files.path(str(Path(source).expanduser())))

    @field_validator("revision")
    @classmethod
    def _of_git(cls, revision: str | None, info: ValidationInfo) -> str | None:
        if revision is None:
            return None
        if not choice.REVISION.fullmatch(revision):
            raise ValueError(f"{shown(revision)} is no revision of git, such as v6.15")
        if series_of(info.data.get("source", "")) is not None:
            raise ValueError("needs the path of a git repository as `source`, not a series")
        return revision

    @field_validator("config")
    @classmethod
    def _options(cls, config: dict[str, Any] | None) -> dict[str, Any] | None:
        for name, value in (config or {}).items():
            if not choice.OPTION.fullmatch(name) or name.startswith("CONFIG_"):
                raise ValueError(f"{shown(name)} is no option: write it without CONFIG_, as HZ")
            _option_value(value)
        return config

    @model_validator(mode="after")
    def _keep(self, info: ValidationInfo) -> Kernel:
        files = _files(info)
        self._is_foreign = isinstance(files, StoredFiles)
        if series_of(self.source) is None and not self._is_foreign:
            self._path = files.path(str(Path(self.source).expanduser()))
        return self

    @property
    def choice(self) -> KernelChoice:
        """What is built."""
        return KernelChoice(
            self.source,
            self._path,
            self.revision,
            tuple(each.read for each in self.patches or ()),
            tuple(each.read for each in self.revert or ()),
            tuple((name, _option_value(value)) for name, value in (self.config or {}).items()),
            is_foreign=self._is_foreign,
        )


def _files(info: ValidationInfo) -> ScenarioFiles:
    if isinstance(info.context, ValidationContext):
        return info.context.modules.files
    return ScenarioFiles(Path())


def _base(info: ValidationInfo) -> Path:
    """Return the folder that paths are relative to; for a stored scenario one that has none."""
    files = _files(info)
    return Path("/nonexistent") if isinstance(files, StoredFiles) else files.path(".")
