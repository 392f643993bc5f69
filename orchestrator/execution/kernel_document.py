"""Returns the built guest kernels of the cache as the JSON of ``guest list`` and ``guest info``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from guest.build import GuestKernel
from orchestrator.backends.guest import stubs
from results.contract import kernels as contract
from results.contract.base import SCHEMA


def document(kernel: GuestKernel) -> dict[str, Any]:
    """Return the JSON contract of ``guest info``."""
    return _kernel(kernel).document()


def list_document(kernels: Iterable[GuestKernel]) -> dict[str, Any]:
    """Return the JSON contract of ``guest list``."""
    return contract.BuiltKernels.model_construct(
        schema_=SCHEMA, kernels=[_kernel(kernel) for kernel in kernels]
    ).document()


def _kernel(kernel: GuestKernel) -> contract.BuiltKernel:
    return contract.BuiltKernel.model_construct(
        None,
        key=kernel.key,
        linux=str(kernel.linux),
        stubs=stubs.best(kernel.linux),
        **kernel.manifest,
    )
