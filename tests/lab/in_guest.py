"""Boots the guest's kernel in real time for steps with five lab hosts, see inside.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from guest.build import GuestKernel
from tests.guest.realtime import boot
from tests.lab.inside import Step

LONGEST_S = 900


def after(kernel: GuestKernel, folder: Path, *steps: Step) -> dict[str, Any]:
    """Return what came of each step in one boot, by its name."""
    names = [step.__name__ for step in steps]
    output = boot.run(kernel, "tests.lab.inside", folder, LONGEST_S, names)
    found: dict[str, Any] = json.loads((output / "results.json").read_text(encoding="utf-8"))
    assert sorted(found) == sorted(names)
    return found
