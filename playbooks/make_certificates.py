#!/usr/bin/env python3
"""Makes a certificate authority for one cluster, and a key with a certificate for each name.

usage: make_certificates.py FOLDER NAME...

Writes FOLDER/ca.pem, FOLDER/ca.key, and NAME.pem and NAME.key for each name. What is there stays,
unless it ends within a month. Prints the names that were made anew. Needs openssl. Keys are
readable by this user only, and the authority's key never leaves this machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

AUTHORITY = "ca"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
AUTHORITY_DAYS, DAYS = 3650, 825
SOON_S = 30 * 24 * 3600
CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def main(folder: Path, names: Sequence[str]) -> list[str]:
    """Make what is missing; return the names of what was made, the authority's first."""
    os.umask(0o077)
    folder.mkdir(parents=True, exist_ok=True)
    authority = folder / f"{AUTHORITY}.pem"
    made = []
    if not good(authority):
        issue(folder, AUTHORITY, "-x509", "-days", str(AUTHORITY_DAYS),
              "-addext", "basicConstraints=critical,CA:TRUE,pathlen:0",
              "-addext", "keyUsage=critical,keyCertSign,cRLSign")  # fmt: skip
        made.append(AUTHORITY)
    for name in names:
        certificate = folder / f"{name}.pem"
        if not (good(certificate) and signed(authority, certificate)):
            issue(folder, name, "-x509", "-days", str(DAYS),
                  "-CA", str(authority), "-CAkey", str(authority.with_suffix(".key")),
                  "-addext", "basicConstraints=critical,CA:FALSE",
                  "-addext", "keyUsage=critical,digitalSignature",
                  "-addext", "extendedKeyUsage=serverAuth,clientAuth",
                  "-addext", f"subjectAltName=DNS:{name}")  # fmt: skip
            made.append(name)
    return made


def issue(folder: Path, name: str, *words: str) -> None:
    """Make key and certificate of a name, both or none."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        key, certificate = Path(place) / "key", Path(place) / "certificate"
        openssl("req", "-new", *CURVE, "-sha256", "-subj", f"/O=orchestrator/CN={name}",
                "-keyout", str(key), "-out", str(certificate), *words)  # fmt: skip
        key.replace(folder / f"{name}.key")
        certificate.replace(folder / f"{name}.pem")


def good(certificate: Path) -> bool:
    """Return whether a certificate and its key are there and stay valid for a month."""
    words = ("x509", "-noout", "-checkend", str(SOON_S), "-in", str(certificate))
    return certificate.with_suffix(".key").exists() and certificate.exists() and succeeds(*words)


def signed(authority: Path, certificate: Path) -> bool:
    """Return whether the authority has signed a certificate."""
    return succeeds("verify", "-CAfile", str(authority), str(certificate))


def openssl(*words: str) -> None:
    """Run openssl, which must succeed."""
    done = subprocess.run(["openssl", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"openssl {words[0]} failed: {done.stderr.strip()}")


def succeeds(*words: str) -> bool:
    """Return whether openssl ends well."""
    return subprocess.run(["openssl", *words], capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    wanted = sys.argv[2:]
    if not wanted or AUTHORITY in wanted or not all(map(NAME.fullmatch, wanted)):
        sys.exit(__doc__)
    sys.stdout.write("".join(f"{name}\n" for name in main(Path(sys.argv[1]), wanted)))
