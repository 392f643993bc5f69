"""Builds the kernel modules of runs before the first run, and copies them to guests."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kmods.build
from guest.build import GuestKernel
from guest.cache import sha256
from kmods.build import BuiltModules, Compile, compile_plainly, modinfo
from kmods.catalogue import Folder
from orchestrator.decode.assemble import ProvidedModule
from orchestrator.errors import MachineError, ModuleError
from orchestrator.kinds.congestion import BUILT_IN
from orchestrator.planning.flows import programs
from orchestrator.planning.runspec import PlannedFlow, RunSpec
from orchestrator.protocol.kernel_modules import COUNTS, LINKS, TRACES
from orchestrator.sandbox import building
from orchestrator.units import shown

_MODULE_NAME = re.compile(r"[A-Za-z0-9_-]{1,55}", re.ASCII)
"""MODULE_NAME_LEN of include/linux/moduleparam.h is 56, the closing zero included."""
_NEED_ECN = frozenset({"dctcp"})
"""Linux's congestion controls with TCP_CONG_NEEDS_ECN: they negotiate it whatever is set."""

_DEEPEST = 30
"""The longest chain of dependencies between modules; the guest kernel's has 2 modules."""
_BREAK_CYCLE = (
    "remove the circular dependency between the modules' symbols, or link them into one module"
)


@dataclass(frozen=True)
class ModuleBuilds:
    """The modules built for a plan: ours, and those of users' folders.

    ``folders`` is keyed by the hash of the sources.
    """

    ours: BuiltModules | None = None
    folders: dict[str, BuiltModules] = field(default_factory=dict)


@dataclass(frozen=True)
class NeededModule:
    """A module that flows need: its parameters, and the user's folder that it comes from."""

    parameters: str
    folder: Folder | None


def ensure_ours(kernel: GuestKernel, unconfined: bool = False) -> BuiltModules:
    """Return this project's modules for a kernel; build them unless they are cached.

    The build runs what the kernel's tree has, so it is confined, too.

    Raises:
        MachineError: this machine cannot build them.
    """
    return kmods.build.ensure(kernel, _compiler(unconfined))


def _compiler(unconfined: bool) -> Compile:
    return compile_plainly if unconfined else building.compile_confined


def build(runs: Sequence[RunSpec], kernel: GuestKernel, unconfined: bool) -> ModuleBuilds:
    """Build the modules that links and flows of these runs need, unless they are cached.

    Raises:
        ModuleError: a module does not compile or lacks what the scenario requires, or two modules
            of a run have the same name.
        MachineError: this machine cannot build modules.
    """
    flows = [flow for run in runs for flow in run.flows]
    compiler = _compiler(unconfined)
    folders = {flow.module.sha256: flow.module for flow in flows if flow.module is not None}
    built = ModuleBuilds(
        ensure_ours(kernel, unconfined),
        {
            key: kmods.build.ensure_folder(kernel, folder, compiler)
            for key, folder in folders.items()
        },
    )
    for run in runs:
        needed(run, built)
    return built


def provide(
    spec: RunSpec, built: ModuleBuilds, kernel: GuestKernel, target: Path
) -> list[ProvidedModule]:
    """Copy the modules that the run needs to ``target``; return them in the order of loading.

    Raises:
        MachineError: there is no such module for the guest kernel.
        ModuleError: as ``load_order``.
    """
    target.mkdir(parents=True)
    modules = needed(spec, built)
    provided: list[ProvidedModule] = []
    for path, folder in _files(modules, built, kernel).items():
        shutil.copy(path, target)
        parameters = modules[path.stem].parameters if path.stem in modules else ""
        provenance: dict[str, Any] = {"sha256": sha256(path), "parameters": parameters}
        if folder is not None:
            provenance |= {"folder": folder.place, "sources_sha256": folder.sha256}
        provided.append(ProvidedModule(path.stem, parameters, provenance))
    for name, need in modules.items():
        if _is_built_in(name, need):
            provided.append(ProvidedModule(name, need.parameters, {"parameters": need.parameters}))
    return provided


def boot_parameters(spec: RunSpec) -> list[str]:
    """Return the words of the guest kernel's command line that set parameters of built-in modules.

    All flows with the same congestion control have the same parameters; see scenario/checks.py.
    """
    settings = [
        f"tcp_{flow.congestion}.{name}={value}"
        for flow in spec.flows
        if flow.congestion in BUILT_IN
        for name, value in flow.parameters.items()
    ]
    return list(dict.fromkeys(settings))


def needed(spec: RunSpec, built: ModuleBuilds) -> dict[str, NeededModule]:
    """Return what links and flows need, by the names of the modules.

    A module that is built into the guest kernel is needed only where a flow gives it parameters.

    Raises:
        ModuleError: one kernel cannot load all of them.
    """
    kinds: dict[tuple[str, str], PlannedFlow] = {}  # one flow represents all equal ones
    for flow in spec.flows:
        if flow.congestion is not None and (flow.congestion not in BUILT_IN or flow.parameters):
            parameters = " ".join(f"{key}={value}" for key, value in flow.parameters.items())
            kinds.setdefault((flow.congestion, parameters), flow)
    modules = {LINKS: NeededModule("", None)}
    if spec.capture is not None:
        modules[TRACES] = NeededModule("", None)
    if _may_use_ecn(spec) or programs.runs_in(spec.flows):
        modules[COUNTS] = NeededModule("", None)
    for (congestion, parameters), flow in sorted(kinds.items(), key=lambda kind: kind[0]):
        name = f"tcp_{congestion}"
        if flow.module is not None:
            name = _module(flow, flow.module, built).stem
        need = NeededModule(parameters, flow.module)
        if modules.setdefault(name, need) != need:
            raise ModuleError(
                f"flow {flow.name} needs another module {name}, or other parameters of it, than "
                "another flow of the run, and a kernel loads only one of that name",
                f"give the file of {congestion} another name, or both the same parameters",
            )
    return modules


def _may_use_ecn(spec: RunSpec) -> bool:
    """Tell whether a connection may negotiate ECN: by a setting, or as its control needs it."""
    return any(settings.sysctls.get("net.ipv4.tcp_ecn") for settings in spec.hosts.values()) or any(
        flow.congestion in _NEED_ECN or flow.module is not None for flow in spec.flows
    )


def _files(
    needed: Mapping[str, NeededModule], built: ModuleBuilds, kernel: GuestKernel
) -> dict[Path, Folder | None]:
    """Return the modules' files and their dependencies in the order of loading."""
    ours = [] if built.ours is None else [built.ours.folder]
    ordered: dict[Path, Folder | None] = {}
    for name, need in needed.items():
        if _is_built_in(name, need):
            continue
        own = [] if need.folder is None else [built.folders[need.folder.sha256].folder]
        for path in load_order([*own, *ours, kernel.modules_dir], [name]):
            ordered.setdefault(path, need.folder if path.parent in own else None)
    return ordered


def _is_built_in(name: str, need: NeededModule) -> bool:
    return need.folder is None and name.removeprefix("tcp_") in BUILT_IN


def _module(flow: PlannedFlow, folder: Folder, built: ModuleBuilds) -> Path:
    """Return the one module of the folder that holds the flow's congestion control.

    Raises:
        ModuleError: no module does, or several do, or it lacks a parameter that the sources
            declare (a kernel would load it without an error).
    """
    modules = built.folders[folder.sha256]
    assert flow.congestion is not None, "a flow with a module has a congestion control"
    holding = modules.holding(flow.congestion)
    if len(holding) != 1:
        those = f"built of `{folder.path}`"
        which = f"several modules {those} hold" if holding else f"no module {those} holds"
        names = ", ".join(path.name for path in holding) or ", ".join(modules.sha256())
        raise ModuleError(
            f"{which} the congestion control {flow.congestion}: {names or 'none was built'}",
            "let one module hold it: see the sources, and the Kbuild if there is one",
        )
    path = holding[0]
    taken = [text.partition(":")[0] for text in modinfo(path, "parmtype")]
    for name in flow.parameters:
        if name not in taken:
            raise ModuleError(
                f"{path.name} of `{folder.path}` takes no parameter {name}; "
                f"it takes: {', '.join(taken) or 'none'}",
                f"leave {name} out, or let the module take it",
            )
    return path


def load_order(folders: Sequence[Path], names: Iterable[str]) -> list[Path]:
    """Return the files of the modules and of their dependencies, each after its dependencies.

    The dependencies that a file names are not trusted: a user's Kbuild can write anything there.

    Raises:
        MachineError: a module is in none of the folders.
        ModuleError: one depends on itself, or on what is no module's name.
    """
    ordered: dict[str, Path] = {}
    for name in names:
        _add_in_order(name, folders, (), ordered)
    return list(ordered.values())


def _add_in_order(
    name: str, folders: Sequence[Path], above: tuple[str, ...], ordered: dict[str, Path]
) -> None:
    """Add a module after its dependencies; ``above`` is the chain of modules that need it."""
    if name in ordered:
        return
    if name in above or len(above) == _DEEPEST:
        chain = " -> ".join([*above[above.index(name) if name in above else 0 :], name])
        what = "depends on itself" if name in above else "depends on too many others in a row"
        raise ModuleError(f"module {name} {what}: {chain}", _BREAK_CYCLE)
    path = next((f / f"{name}.ko" for f in folders if (f / f"{name}.ko").is_file()), None)
    if path is None:
        needs = f", which {above[-1]} depends on" if above else ""
        raise MachineError(
            f"the guest kernel has no module {name}{needs}", "orchestrator guest build"
        )
    for text in modinfo(path, "depends"):
        for other in filter(None, text.split(",")):
            if not _MODULE_NAME.fullmatch(other):
                raise ModuleError(
                    f"`{path.name}` depends on {shown(other)}, which is no module's name",
                    "let modpost write `depends` of .modinfo: see the Kbuild and the sources",
                )
            _add_in_order(other, folders, (*above, name), ordered)
    ordered[name] = path
