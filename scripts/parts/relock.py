"""Rewrite the locks, from pyproject.toml, locks/*.in and the Maven repository.

usage: scripts/lock [--help] [python] [uplot] [--upgrade] [VERSION ...]

Without arguments: the Python locks (kept at their versions where they still fit; --upgrade takes
the newest) and the sums of every BookKeeper release that has a lock. `python` does only the
former; VERSIONs (4.17.3 ...) only the sums of these. Jars are fetched afresh, never taken from the cache.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import machine
import plots
import steps
from stamp import ROOT

sys.path.insert(0, str(ROOT))
from cluster import artifacts, checksums, maven, versions
from protocol.errors import FencepostError

COMPILE = [
    "pip", "compile", "-q", "--universal", "--python-version", "3.11", "--generate-hashes",
    "--no-emit-index-url", "--no-emit-find-links", "--no-annotate", "--no-header",
]  # fmt: skip
LOCKED = {
    "requirements.txt": "pyproject.toml",
    "build.txt": "locks/build.in",
    "go.txt": "locks/go.in",
    "uv.txt": "locks/uv.in",
    "bench.txt": "locks/bench.in",
}


def main(arguments: list[str]) -> int:
    """Write what the arguments name; the exit code."""
    if {"--help", "-h"} & set(arguments):
        sys.stdout.write(__doc__ or "")
        return 0
    upgrade = "--upgrade" in arguments
    names = [argument for argument in arguments if argument != "--upgrade"]
    try:
        if not names or "python" in names:
            lock_python(upgrade=upgrade)
        if "uplot" in names:
            plots.fetch()
        for version in [name for name in names if name not in ("python", "uplot")] or (
            [] if names else artifacts.locked_versions()
        ):
            lock_jars(version)
    except FencepostError as error:
        sys.stderr.write(f"error: {error}\n{error.remedy}\n")
        return error.exit_code
    except machine.StopError as stop:
        sys.stderr.write(f"error: {stop}\n")
        return stop.code
    return 0


def lock_python(*, upgrade: bool) -> None:
    """Resolve for Linux, macOS and every Python from 3.11; hashes, and no address of any index."""
    uv = str(steps.uv())
    for name, source in LOCKED.items():
        extras = ["--all-extras"] if source == "pyproject.toml" else []
        newest = ["--upgrade"] if upgrade else []
        target = f"locks/{name}"
        steps.run("lock", [uv, *COMPILE, *extras, *newest, source, "-o", target], env=steps.uv_environment())
        sys.stdout.write(f"{target}: {(ROOT / target).read_text().count('==')} packages\n")


def lock_jars(version: str) -> None:
    """Fetch the jars of one release into a temporary folder and write their sums."""
    versions.parse(version)
    lock = artifacts.LOCKS / f"bookkeeper-{version}.sha256"
    before = checksums.read_paths(lock) if lock.is_file() else {}
    with tempfile.TemporaryDirectory(prefix="fencepost-lock-") as scratch:
        jars = Path(scratch) / "jars"
        jars.mkdir()
        sums = maven.resolve(version, jars, work=Path(scratch))
    checksums.write_lock(lock, sums)
    changes = checksums.differences(before, sums) if before else ["new"]
    sys.stdout.write(f"{lock.relative_to(ROOT)}: {len(sums)} jars, {'; '.join(changes) or 'unchanged'}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
