"""Any program of the machine: a server at one end of the flow, and a client at the other."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, WithJsonSchema, field_validator, model_validator

from orchestrator.files.scenario_files import NamedFolder, ScenarioFiles, hash_of
from orchestrator.kinds.fields import Duration, Strict, ValidationContext, located
from orchestrator.kinds.traffic import Demand, TrafficSpec
from orchestrator.kinds.traffic._extraction import Extraction
from orchestrator.kinds.traffic._keeping import Keep
from orchestrator.protocol.engine_parameters import ProgramTraffic
from orchestrator.protocol.programs import PROGRAM, SEARCH_PATH
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.extracted import MOST_NUMBERS, metric_name, require_name
from orchestrator.units import shown

MOST_WORDS, MOST_WORD_BYTES = 200, 4096
MOST_FILES, MOST_FILES_BYTES = 1000, 64_000_000
_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

Command = Annotated[
    list[str],
    Field(min_length=1, max_length=MOST_WORDS),
    WithJsonSchema({"type": "array", "items": {"type": "string"}, "minItems": 1}),
]


class Ready(Strict):
    """The socket by which a server is known to be ready."""

    port: int = Field(ge=1, le=65535, description="port that the server listens at")
    transport: Literal["tcp", "udp"] = Field(default="tcp", description="of that port")


class Program(TrafficSpec):
    """A server and a client of one's own, which run as a user without rights.

    The server runs at the end that sends, and the client at the other, unless ``sender`` says
    otherwise. They find each other by the names ``server`` and ``client``, and all hosts by theirs.
    They see the machine's programs and libraries, ``files``, and a folder of their own at /tmp.
    """

    kind: Literal["program"] = Field(description="any program of the machine")
    server: Command | None = Field(
        default=None,
        description="program and arguments at one end; none where the client needs no server, or "
        "where another flow's is there",
    )
    client: Command = Field(
        description="program and arguments at the other end, such as [curl, -o, page, "
        "http://server:8000/]. The flow ends when it ends"
    )
    sender: Literal["server", "client"] = Field(
        default="server", description="which of them sends most data, from the flow's sending end"
    )
    files: str | None = Field(
        default=None,
        description="folder that both find, read-only, at $FILES, relative to the scenario's "
        "folder; the server starts in it. A program in it is named by a path such as ./serve.py",
    )
    files_sha256: str | None = Field(
        default=None,
        validate_default=True,
        description="SHA-256 that these files must have; not checked when not given",
    )
    env: dict[str, str] = Field(default_factory=dict, description="environment variables of both")
    ready: Ready | None = Field(
        default=None,
        description="the client starts when the server has this socket; with the server when not "
        "given",
    )
    timeout: Duration | None = Field(
        default=None,
        description="time after the flow's start at which the programs are ended; the flow's "
        "`stop` when not given",
    )
    extract: dict[str, Extraction] | None = Field(
        default=None,
        description="numbers that are taken from what the client prints, by their names. Each is a "
        "metric of the flow: `program_`, the name and its unit",
    )
    keep: Keep | None = Field(
        default=None,
        description="files to keep with the run, of those that the programs leave in /tmp",
    )

    @field_validator("server", "client")
    @classmethod
    def _command(cls, words: list[str] | None) -> list[str] | None:
        for word in words or ():
            if "\0" in word or len(word.encode()) > MOST_WORD_BYTES:
                raise ValueError(
                    f"{shown(word)}: a word has up to {MOST_WORD_BYTES} bytes, none of them NUL"
                )
        if words and not words[0]:
            raise ValueError("the program has no name")
        return words

    @field_validator("env")
    @classmethod
    def _environment(cls, env: dict[str, str]) -> dict[str, str]:
        for name, value in env.items():
            if not _VARIABLE.fullmatch(name):
                raise ValueError(f"{shown(name)} is no name of a variable")
            if "\0" in value or len(value.encode()) > MOST_WORD_BYTES:
                raise ValueError(f"{name}: up to {MOST_WORD_BYTES} bytes, none of them NUL")
        return env

    @field_validator("files")
    @classmethod
    def _place(cls, files: str | None, info: ValidationInfo) -> str | None:
        return None if files is None else _folder(files, info).place

    @field_validator("files_sha256")
    @classmethod
    def _of_the_files(cls, sha256: str | None, info: ValidationInfo) -> str | None:
        files = info.data.get("files")
        if files is None:
            if sha256 is not None and "files" in info.data:
                raise ValueError("needs `files`, which is not given")
            return sha256
        has = hash_of(_folder(files, info).files)
        if sha256 not in (None, has):
            raise ValueError(f"the files in `{files}` have the SHA-256 {has}, not {shown(sha256)}")
        return has

    @field_validator("extract")
    @classmethod
    def _names(cls, extract: dict[str, Extraction] | None) -> dict[str, Extraction] | None:
        if not extract:
            return None  # as if it were not given
        if len(extract) > MOST_NUMBERS:
            raise ValueError(f"{len(extract)} numbers; a flow has {MOST_NUMBERS} at most")
        problems: list[tuple[tuple[str, ...], str]] = []
        for name in extract:
            try:
                require_name(name)
            except ValueError as error:
                problems.append(((name,), f"{shown(name)} {error}"))
        if problems:
            raise located(problems)
        return extract

    @field_validator("keep")
    @classmethod
    def _of_programs(cls, keep: Keep | None, info: ValidationInfo) -> Keep | None:
        if keep is None or not keep.document():
            return None  # as if it were not given
        if keep.server and "server" in info.data and info.data["server"] is None:
            raise located([(("server",), "the flow has no `server`, whose files these would be")])
        return keep

    @model_validator(mode="after")
    def _programs_exist(self, info: ValidationInfo) -> Program:
        folder = None if self.files is None else _folder(self.files, info)
        commands = (("server", self.server), ("client", self.client))
        problems = [
            ((role, 0), problem)
            for role, command in commands
            if command is not None and (problem := _problem(command[0], folder)) is not None
        ]
        if problems:
            raise located(problems)
        return self

    def extracted_metrics(self) -> list[str]:
        """Return the metrics that are numbers of the client's output."""
        return [metric_name(name, each.printed_unit) for name, each in (self.extract or {}).items()]

    def demand(self) -> Demand:
        """Return both commands and what they may use."""
        parameters: ProgramTraffic = {
            "server": self.server,
            "client": self.client,
            "files": self.files,
            "env": self.env,
            "ready": None
            if self.ready is None
            else {"port": self.ready.port, "transport": self.ready.transport},
            "timeout_ns": None if self.timeout is None else nanoseconds(self.timeout),
        }
        if self.extract:
            parameters["extract"] = {name: each.document() for name, each in self.extract.items()}
        if self.keep is not None:
            parameters["keep"] = self.keep.document()
        return Demand(
            PROGRAM,
            parameters=parameters,
            connections="many",
            server="source" if self.sender == "server" else "sink",
        )


def _folder(given: str, info: ValidationInfo) -> NamedFolder:
    """Return the folder at a path or place; ValueError when it cannot be read."""
    files = (
        info.context.modules.files
        if isinstance(info.context, ValidationContext)
        else ScenarioFiles(Path())
    )
    return files.folder(given, lambda _name: True, MOST_FILES, MOST_FILES_BYTES)


def _problem(program: str, folder: NamedFolder | None) -> str | None:
    """Return what is wrong with a program's name, or None."""
    if "/" not in program:
        if shutil.which(program, path=SEARCH_PATH) is not None:
            return None
        return f"no program {shown(program)} in {SEARCH_PATH}: install it"
    if not program.startswith("/"):
        name = os.path.normpath(program)
        if folder is not None and name in folder.files:
            return None
        where = "`files`, which is not given" if folder is None else f"`{folder.path}`"
        return f"no file {shown(program)} in {where}"
    if not program.startswith(_SYSTEM):
        return (
            f"{shown(program)}: programs of the machine are below {', '.join(_SYSTEM)}; name one "
            "of your own in `files` by a path such as ./program"
        )
    if not os.access(program, os.X_OK) or Path(program).is_dir():
        return f"no program at {shown(program)}: install it"
    return None
