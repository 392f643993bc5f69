"""What a guest kernel is in words: its release, its source, its patches, and its check."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from results.records import typed
from results.store.parts.integrity import damaged
from results.store.stored import StoredRun


def patches(applied: Mapping[str, str | None]) -> str:
    """Return the numbers of patches by the series that they were made for, and those left out."""
    by_series: dict[str | None, list[str]] = {}
    for name, series in applied.items():
        by_series.setdefault(series, []).append(name.partition("-")[0])
    return ", ".join(
        f"{' '.join(numbers)} {'left out' if series is None else f'of {series}'}"
        for series, numbers in by_series.items()
    )


def changes(manifest: Mapping[str, Any]) -> str:
    """Return what the user changed in a kernel, in the words of its name."""
    taken_out = "".join(f" -{name}" for name in manifest.get("taken_out", ()))
    added = "".join(f" +{name}" for name in manifest.get("added", ()))
    options = "".join(f" {name}={value}" for name, value in manifest.get("options", {}).items())
    return f"{taken_out}{added}{options}".strip()


def of_run(run: StoredRun) -> list[str]:
    """Return lines about the kernel of a run; none of one that ended before it was known.

    Raises:
        StoreError: the manifest of the kernel is not what a build writes.
    """
    release, manifest = run.row.kernel, run.provenance.get("guest_kernel")
    if release is None:
        return []
    if manifest is None:
        return [f"kernel: Linux {release} (back end {run.row.backend})"]
    try:
        place = Path(str(manifest.get("source", ""))).name  # the folder is of another machine
        source = f"{place} {changes(manifest)}".strip()
        lines = [f"kernel: Linux {release}{f', built from {source}' if source else ''}"]
        if applied := manifest.get("patches"):
            lines.append(f"kernel patches: {patches(applied)}")
        if checked := manifest.get("check"):
            lines.append(f"kernel check: {checked}")
        if run.provenance.get("guest_stubs") == "seccomp":
            lines.append("kernel processes: held by seccomp")
    except typed.DECODING_ERRORS as error:
        raise damaged(run.id, f"table provenance: guest_kernel: {error}") from error
    return lines
