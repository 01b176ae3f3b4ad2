"""Rewrite the locks, from pyproject.toml, locks/*.in and the Maven repository.

usage: scripts/lock [--help] [python] [uplot] [--upgrade] [VERSION ...]

Without arguments: the Python locks (kept at their versions where they still fit; --upgrade takes
the newest) and the sums of every BookKeeper release that has a lock. `python` does only the
former; VERSIONs (4.17.3 ...) only the sums of these. Jars are fetched afresh, never taken from the cache.
`uplot` fetches the charts of the reports from npm's registry, which needs npm: the files are committed, so
that reports need no network. locks/uplot.txt has a line `version <version> <integrity>`, which decides, and
a line `<sha256>  <file>` for each file.
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

from cluster.releases import artifacts, checksums, maven, versions
from protocol.errors import FencepostError, PrerequisiteError

UPLOT_LOCK = ROOT / "locks" / "uplot.txt"
UPLOT = ROOT / "reports" / "assets" / "uplot"
UPLOT_FILES = {"uPlot.iife.min.js": "package/dist/", "uPlot.min.css": "package/dist/", "LICENSE": "package/"}
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
    upgrade = "--upgrade" in arguments
    names = [argument for argument in arguments if argument != "--upgrade"]
    try:
        if not names or "python" in names:
            lock_python(upgrade=upgrade)
        if "uplot" in names:
            fetch_uplot()
        for version in [name for name in names if name not in ("python", "uplot")] or (
            [] if names else artifacts.locked_versions()
        ):
            lock_jars(version)
    except FencepostError as error:
        return machine.error_exit(error)
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


def fetch_uplot() -> None:
    """Fetch the locked version, compare it with its integrity, and rewrite its files and their sums."""
    word, version, integrity = UPLOT_LOCK.read_text().splitlines()[0].split()
    if word != "version":
        raise FencepostError(f"{UPLOT_LOCK} does not begin with `version <version> <integrity>`")
    if shutil.which("npm") is None:
        raise PrerequisiteError("npm is needed to fetch uPlot: apt-get install npm")
    with tempfile.TemporaryDirectory(prefix="fencepost-lock-") as scratch:
        steps.run("lock", ["npm", "pack", "--silent", f"uplot@{version}"], cwd=Path(scratch))
        archive = Path(scratch) / f"uplot-{version}.tgz"
        seen = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if seen != integrity:
            raise FencepostError(f"uplot {version} has {seen}, {UPLOT_LOCK.name} states {integrity}")
        UPLOT.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as files:
            for name, folder in UPLOT_FILES.items():
                member = files.extractfile(folder + name)
                if member is None:
                    raise FencepostError(f"{archive.name} has no {folder}{name}")
                (UPLOT / name).write_bytes(member.read())
    lines = [f"version {version} {integrity}"]
    lines += [f"{hashlib.sha256((UPLOT / name).read_bytes()).hexdigest()}  {name}" for name in UPLOT_FILES]
    UPLOT_LOCK.write_text("\n".join(lines) + "\n")
    sys.stdout.write(f"{UPLOT_LOCK.relative_to(ROOT)}: uplot {version}, {len(UPLOT_FILES)} files\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
