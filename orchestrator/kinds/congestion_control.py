"""The congestion control of a flow in a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from kmods.catalogue import Folder
from orchestrator.files.scenario_files import ScenarioFiles
from orchestrator.kinds import congestion
from orchestrator.kinds.fields import Strict, ValidationContext
from orchestrator.units import shown


class Congestion(Strict):
    """A congestion control; its name alone stands for ``{name: ...}``.

    Once validated, ``module`` is the folder's place (see ``orchestrator.files.scenario_files``),
    ``sources`` is there with it, and parameters are whole numbers in their own units.
    """

    module: str | None = Field(
        default=None,
        description="folder with the sources of a module of your own, relative to the scenario's "
        "folder",
    )
    sources: str | None = Field(
        default=None,
        validate_default=True,
        description="SHA-256 that the sources in that folder must have; not checked when not given",
    )
    name: str = Field(description="as the kernel reports it")
    parameters: Annotated[
        dict[str, int],
        WithJsonSchema({"type": "object", "additionalProperties": {"type": ["integer", "string"]}}),
    ] = Field(
        default_factory=dict,
        description="parameters of the module, or settings of the sending host's namespace. Whole "
        "numbers are in their own units. Names in _bps, _kbps, _us, _ms and _bytes also take "
        "quantities such as 5mbit. docs/modules.md lists those of Linux's modules; bbr, reno and "
        "six others have none",
    )

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, data: Any) -> Any:
        return {"name": data} if isinstance(data, str) else data

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        whole = handler.resolve_ref_schema(handler(schema))
        properties = whole["properties"]
        known = {**properties["name"], "enum": list(congestion.known())}
        without = {"name": known, "parameters": properties["parameters"]}
        texts = {
            key: {"type": "string", "description": properties[key]["description"]}
            for key in ("module", "sources")
        }
        closed = {"type": "object", "additionalProperties": False}
        return {
            "title": "Congestion",
            "description": "A congestion control; its name alone stands for `{name: ...}`.",
            "anyOf": [
                known,
                {**closed, "properties": without, "required": ["name"]},
                {**closed, "properties": {**properties, **texts}, "required": ["name", "module"]},
            ],
        }

    @field_validator("module")
    @classmethod
    def _place(cls, module: str | None, info: ValidationInfo) -> str | None:
        if module is None:
            return None
        folder = _modules(info).folder(module)
        return folder.place if isinstance(info.context, ValidationContext) else str(folder.path)

    @field_validator("sources")
    @classmethod
    def _of_the_folder(cls, sources: str | None, info: ValidationInfo) -> str | None:
        if "module" not in info.data:
            return sources  # the fault of the folder itself is reported already
        folder = _folder(info)
        if folder is None:
            if sources is not None:
                raise ValueError("needs `module`, which is not given")
            return None
        if sources not in (None, folder.sha256):
            raise ValueError(
                f"the sources in `{folder.path}` have the SHA-256 {folder.sha256}, "
                f"not {shown(sources)}"
            )
        return folder.sha256

    @field_validator("name")
    @classmethod
    def _defined(cls, name: str, info: ValidationInfo) -> str:
        if "module" not in info.data:
            return name
        return congestion.check_name(name, _folder(info))

    @field_validator("parameters", mode="before")
    @classmethod
    def _whole(cls, parameters: Any, info: ValidationInfo) -> Any:
        """Replace quantities by whole numbers; a fault has the path of its parameter."""
        if not isinstance(parameters, dict) or not {"module", "name"} <= info.data.keys():
            return parameters if not isinstance(parameters, dict) else {}
        name = info.data["name"]
        module = _modules(info).find(name, info.data["module"])
        numbers: dict[str, int] = {}
        faults: list[InitErrorDetails] = []
        for key, value in parameters.items():
            try:
                numbers[key] = congestion.check_parameter(name, module, key, value)
            except ValueError as error:
                wrong = PydanticCustomError("parameter", "{text}", {"text": str(error)})
                faults.append(InitErrorDetails(type=wrong, loc=(key,), input=value))
        if faults:
            raise ValidationError.from_exception_data("parameters", faults)
        return numbers


def _modules(info: ValidationInfo) -> congestion.Modules:
    if isinstance(info.context, ValidationContext):
        return info.context.modules
    return congestion.Modules(ScenarioFiles(Path()))


def _folder(info: ValidationInfo) -> Folder | None:
    module = info.data.get("module")
    return None if module is None else _modules(info).folder(module)
