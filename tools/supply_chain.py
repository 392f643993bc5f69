#!/usr/bin/env python3
"""Checks the project's dependencies: licences, bill of materials, known vulnerabilities.

usage: supply_chain.py licences | sbom FILE | audit

licences  Check the licence of every package in requirements.lock. Status 1: one is not allowed.
sbom Write a CycloneDX bill of materials. Equal files give an equal one.
audit     Query a database for known vulnerabilities. Status 1: there are some. Status 75: the query
failed, so nothing is known.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
NOT_CHECKED = 75
"""EX_TEMPFAIL of sysexits.h."""

AUDIT_TIMEOUT_S = 300

ALLOWED = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "EPL-2.0", "ISC",
    "LGPL-2.1-or-later", "MIT", "MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib", "ZPL-2.1",
}  # fmt: skip
"""Licences of packages that may be distributed with code under Apache-2.0, as one program.

The conditions of EPL-2.0, LGPL-2.1-or-later and MPL-2.0 end at the files of the package itself.
GPL-2.0-only cannot be combined with Apache-2.0, and any later GPL would apply to the whole program
(https://www.apache.org/licenses/GPL-compatibility.html). Such a package is allowed only if another
licence may be chosen. The project's own code under GPL-2.0-only is not part of that program. The
guest's kernel and its modules run in a process of their own, and so do the C programs of tests.
"""

DECLARED = {
    "partd": "BSD-3-Clause",
    "pyphen": "GPL-2.0-or-later OR LGPL-2.1-or-later OR MPL-1.1",
}
"""Licences of packages that name none by SPDX, by their licence files."""

# SPDX names for classifiers of packages without a licence expression.
WORDS = {
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "License :: OSI Approved :: Python Software Foundation License": "PSF-2.0",
    "License :: OSI Approved :: Zope Public License": "ZPL-2.1",
}


def locked(lock: Path = LOCK) -> dict[str, str]:
    """Return the version of each package of a lock by name."""
    pins = re.findall(r"^([A-Za-z0-9._-]+)==([^\s\\]+)", lock.read_text("utf-8"), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in pins}


def licence(name: str) -> str:
    """Return an installed package's licence as an SPDX expression, or else as it is declared."""
    if name in DECLARED:
        return DECLARED[name]
    about = importlib.metadata.metadata(name)
    if "License-Expression" in about:
        return about["License-Expression"]
    classifiers = [
        word for word in about.get_all("Classifier") or [] if word.startswith("License :: ")
    ]
    known = [WORDS[word] for word in classifiers if word in WORDS]
    if known:
        return " OR ".join(known)
    named = about["License"].partition("\n")[0] if "License" in about else ""
    return named or "; ".join(classifiers) or "none named"


def is_allowed(expression: str) -> bool:
    """Return whether the allowed licences satisfy an SPDX expression without brackets."""
    return any(
        all(term.strip() in ALLOWED for term in choice.split(" AND "))
        for choice in expression.split(" OR ")
    )


def wrong_licences(packages: Mapping[str, str]) -> list[str]:
    """Return a line for each package whose licence is unknown or not allowed."""
    return [
        f"{name} {version}: {expression}"
        for name, version in packages.items()
        for expression in [licence(name)]
        if not is_allowed(expression)
    ]


def check_licences() -> int:
    """Print what is wrong with licences; return the exit status."""
    packages = locked()
    wrong = wrong_licences(packages)
    for line in wrong:
        sys.stderr.write(f"licence not allowed or not known: {line}\n")
    if wrong:
        sys.stderr.write("fix: take another package, or add the licence to ALLOWED with reason\n")
        return 1
    sys.stdout.write(f"licences of {len(packages)} packages are allowed\n")
    return 0


def bill_of_materials() -> dict[str, Any]:
    """Return the CycloneDX document: locked packages, Debian's, the guest kernel, uPlot."""
    arguments = ["requirements", "--pyproject=pyproject.toml", "--output-reproducible"]
    arguments += ["--no-validate"]  # the document is not complete yet
    made = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "cyclonedx_py", *arguments, LOCK.name],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    document: dict[str, Any] = json.loads(made.stdout)
    for component in document["components"]:
        component["bom-ref"] = component["purl"]
        component["licenses"] = [{"expression": licence(component["name"])}]
        if not re.fullmatch(r"[A-Za-z0-9. -]+", component["licenses"][0]["expression"]):
            del component["licenses"]
        # The description is the lock's line. Each machine may get packages from another index.
        del component["description"]
        for reference in component.pop("externalReferences", []):
            component["hashes"] = reference.get("hashes", [])[:1] if _is_one(reference) else []
        if not component["hashes"]:
            del component["hashes"]
    document["components"] += [*_debian(), _uplot()]
    root = document["metadata"]["component"]["bom-ref"]
    references = sorted(component["bom-ref"] for component in document["components"])
    document["dependencies"] = [{"ref": root, "dependsOn": references}]
    return document


def _is_one(reference: Mapping[str, Any]) -> bool:
    """Return whether the hashes are of one file; several hashes mean alternative files."""
    return len(reference.get("hashes", [])) == 1


def _debian() -> list[dict[str, Any]]:
    """Return the Debian 12 packages that a run needs, each with its installed version, if any."""
    listing = subprocess.run(
        [ROOT / "tools/setup", "list", "run"], input="ID=debian\nVERSION_ID=12\n",
        capture_output=True, text=True, check=True,
        env={"PATH": os.defpath, "SETUP_OS_RELEASE": "/dev/stdin"},
    )  # fmt: skip
    names = listing.stdout.split()
    components = []
    for name in sorted(names):
        command = ["dpkg-query", "--show", "--showformat=${Version}", name]
        try:
            version = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        except FileNotFoundError:
            version = ""
        purl = f"pkg:deb/debian/{name}" + (f"@{version}" if version else "")
        component = {"type": "application", "name": name, "purl": purl, "bom-ref": purl}
        if name.startswith("linux-source"):
            component["description"] = (
                "The guest kernel's source, with the patches of guest/patches"
            )
        components.append(component | ({"version": version} if version else {}))
    return components


def _uplot() -> dict[str, Any]:
    """Return the chart library that the dashboard includes."""
    lock = json.loads((ROOT / "web/ts/package-lock.json").read_text("utf-8"))
    about = lock["packages"]["node_modules/uplot"]
    purl = f"pkg:npm/uplot@{about['version']}"
    return {"type": "library", "name": "uplot", "version": about["version"], "purl": purl,
            "bom-ref": purl, "licenses": [{"expression": about["license"]}]}  # fmt: skip


def write_sbom(path: Path) -> int:
    """Write the bill of materials; return the exit status."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(bill_of_materials(), indent=2, sort_keys=True) + "\n"
    path.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{path}\n")
    return 0


def audit(*more: str) -> int:
    """Query known vulnerabilities of the locked packages; return the exit status."""
    arguments = ["--requirement", str(LOCK), "--require-hashes", "--disable-pip", "--format=json"]
    arguments += ["--progress-spinner=off", "--desc=off", *more]
    try:
        audited = subprocess.run(
            [sys.executable, "-m", "pip_audit", *arguments],
            capture_output=True, text=True, check=False, timeout=AUDIT_TIMEOUT_S,
        )  # fmt: skip
        output, status = audited.stdout, audited.returncode
        reason = (audited.stderr.strip().splitlines() or [f"pip-audit ended with {status}"])[-1]
    except subprocess.TimeoutExpired:
        output, reason = "", f"no answer within {AUDIT_TIMEOUT_S} s"
    answered = answers(output)
    missing = sorted(locked().keys() - answered.keys())
    if missing:
        sys.stderr.write(
            f"not checked: nothing is known of {len(missing)} of {len(locked())} packages "
            f"({', '.join(missing[:3])} ...): the database is unreachable or incomplete: "
            f"{reason[:300]}\n"
        )
        return NOT_CHECKED
    vulnerable = [f"{name}: {', '.join(ids)}" for name, ids in answered.items() if ids]
    for line in vulnerable:
        sys.stderr.write(f"known vulnerability: {line}\n")
    if not vulnerable:
        sys.stdout.write(f"no known vulnerability in {len(answered)} packages\n")
    return 1 if vulnerable else 0


def answers(text: str) -> dict[str, list[str]]:
    """Return the vulnerabilities of each package that pip-audit examined, by name."""
    try:
        dependencies = json.loads(text)["dependencies"]
        return {
            canonicalize_name(dependency["name"]): [
                vulnerability["id"] for vulnerability in dependency["vulns"]
            ]
            for dependency in dependencies
            if "skip_reason" not in dependency
        }
    except (ValueError, LookupError, TypeError):
        return {}


def main(arguments: Sequence[str]) -> int:
    """Run the command of the usage."""
    match list(arguments):
        case ["licences"]:
            return check_licences()
        case ["sbom", path]:
            return write_sbom(Path(path))
        case ["audit", *more]:
            return audit(*more)
    sys.stderr.write(__doc__ or "")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
