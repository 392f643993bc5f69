"""Coverage-guided fuzzing of the decoders, with atheris.

atheris is not among the locked packages: it is 35 MB, and has wheels for some Pythons only. In an
environment that has it (``pip install atheris``)::

    python -m tests.fuzz.coverage_guided -max_total_time=600 [FOLDER OF INPUTS]

An input is the number of a bed's file, a byte, and the content of that file. All other files are
as captured. libFuzzer's options and its folder for found inputs are as usual.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["orchestrator.backends", "orchestrator.fidelity"]):
    from orchestrator.errors import BedError
    from tests.support.hostile_texts import FILES, assembled, captured_files, captured_plan

(SPEC,) = captured_plan().runs
CAPTURED = captured_files()


def once(data: bytes) -> None:
    """Decode and judge one input; the fuzzer reports every exception but BedError."""
    if data:
        name = FILES[data[0] % len(FILES)]
        with contextlib.suppress(BedError):
            assembled(SPEC, {**CAPTURED, name: data[1:]})


def main() -> None:
    """Fuzz from the captured files, which are written into the folder of the last argument."""
    corpus = Path(sys.argv[-1]) if len(sys.argv) > 1 and sys.argv[-1][0] != "-" else None
    if corpus is not None:
        corpus.mkdir(parents=True, exist_ok=True)
        for number, name in enumerate(FILES):
            (corpus / f"captured-{name}").write_bytes(bytes([number]) + CAPTURED[name])
    atheris.Setup(sys.argv, once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
