"""Brings the charts of the reports (uPlot) from npm's registry, by version and integrity.

Needs ``npm``, and only when the version changes: the files are committed, so that reports need no network.
``locks/uplot.txt`` has a line ``version <version> <integrity>`` and one ``<sha256>  <file>`` for each file.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

import machine
import steps
from stamp import ROOT

LOCK = ROOT / "locks" / "uplot.txt"
TARGET = ROOT / "reports" / "assets" / "uplot"
FILES = {"uPlot.iife.min.js": "package/dist/", "uPlot.min.css": "package/dist/", "LICENSE": "package/"}


def fetch() -> None:
    """Fetch the locked version, compare it with its integrity, and rewrite its files and their sums."""
    version, integrity = _locked()
    if shutil.which("npm") is None:
        raise machine.StopError("npm is needed to fetch uPlot: apt-get install npm", 2)
    with tempfile.TemporaryDirectory(prefix="fencepost-lock-") as scratch:
        steps.run("lock", ["npm", "pack", "--silent", f"uplot@{version}"], cwd=Path(scratch))
        archive = Path(scratch) / f"uplot-{version}.tgz"
        seen = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if seen != integrity:
            raise machine.StopError(f"uplot {version} has {seen}, {LOCK.name} states {integrity}", 1)
        _unpack(archive)
    lines = [f"version {version} {integrity}", *(f"{digest(TARGET / name)}  {name}" for name in FILES)]
    LOCK.write_text("\n".join(lines) + "\n")
    sys.stdout.write(f"{LOCK.relative_to(ROOT)}: uplot {version}, {len(FILES)} files\n")


def digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _locked() -> tuple[str, str]:
    word, version, integrity = LOCK.read_text().splitlines()[0].split()
    if word != "version":
        raise machine.StopError(f"{LOCK} does not begin with `version <version> <integrity>`", 1)
    return version, integrity


def _unpack(archive: Path) -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as files:
        for name, folder in FILES.items():
            member = files.extractfile(folder + name)
            if member is None:
                raise machine.StopError(f"{archive.name} has no {folder}{name}", 1)
            (TARGET / name).write_bytes(member.read())
