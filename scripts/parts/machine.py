"""What this machine has: JDK, Maven, Go, venv, apt; and the system packages that would fill the gaps.

Standard library only: it runs before anything is installed. It looks and starts nothing but
``--version``-like commands; installing is the business of ``install.py``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

JAVA_MINIMUM = 17
GO_MINIMUM = (1, 23)


BROWSER_PACKAGES = ("chromium", "fonts-dejavu-core")


class StopError(Exception):
    """Set-up cannot go on: ``code`` 2 for something missing here, 1 for a step that failed."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Gap:
    """One thing that the system lacks: what was seen, and the apt packages that would supply it."""

    what: str
    packages: tuple[str, ...]


def require_platform() -> None:
    """``StopError`` unless this is Linux on x86-64 or arm64."""
    system, machine = os.uname().sysname, os.uname().machine
    if system != "Linux" or machine not in {"x86_64", "aarch64", "arm64"}:
        raise StopError(f"Fencepost runs on Linux on x86-64 or arm64; this is {system} on {machine}", 2)


def output(argv: list[str]) -> str:
    """What a command prints on both streams, or nothing when it cannot be run."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, cwd="/")
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def javac() -> Path | None:
    """The compiler of JAVA_HOME, else of PATH."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "javac") if home else shutil.which("javac")
    return Path(found) if found and os.access(found, os.X_OK) else None


def jdk_version(compiler: Path) -> int:
    """17, 21, ..., from the JDK's ``release`` file where it has one; 0 when the compiler does not say."""
    release = compiler.resolve().parent.parent / "release"
    text = release.read_text() if release.is_file() else output([str(compiler), "-version"])
    match = re.search(r'(?:JAVA_VERSION="|javac )(?:1\.)?(\d+)', text)
    return int(match[1]) if match else 0


def go() -> Path | None:
    """Go 1.23 or newer of PATH."""
    found = shutil.which("go")
    if found is None:
        return None
    match = re.search(r"go(\d+)\.(\d+)", output([found, "version"]))
    return Path(found) if match and (int(match[1]), int(match[2])) >= GO_MINIMUM else None


def chromium() -> Path | None:
    """A Chromium (or Chrome) of PATH, by the names that distributions give it."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    return Path(found) if found else None


def gaps(*, need_maven: bool, need_venv: bool) -> list[Gap]:
    """Everything that only the system's package manager can supply."""
    missing = []
    compiler = javac()
    version = jdk_version(compiler) if compiler else 0
    if version < JAVA_MINIMUM:
        home = os.environ.get("JAVA_HOME")
        if home:
            raise StopError(
                f"JAVA_HOME={home} is no JDK {JAVA_MINIMUM} or newer ({version or 'no javac'}); "
                "point it at one, or unset it",
                2,
            )
        seen = f"JDK {JAVA_MINIMUM} or newer (found {version or 'none'})"
        missing.append(Gap(seen, (_jdk_package(),)))
    if need_maven and shutil.which("mvn") is None:
        missing.append(Gap("Maven", ("maven",)))
    if need_venv and not _has_venv():
        missing.append(Gap("Python's venv", (f"python{sys.version_info[0]}.{sys.version_info[1]}-venv",)))
    return missing


def may_install() -> bool:
    """Whether this run may call apt-get: root, apt is here, and FENCEPOST_NO_APT is not set."""
    return os.geteuid() == 0 and bool(shutil.which("apt-get")) and not os.environ.get("FENCEPOST_NO_APT")


def apt_command(missing: list[Gap]) -> list[str]:
    """``apt-get install`` of all packages at once."""
    packages = sorted({package for gap in missing for package in gap.packages})
    return ["apt-get", "install", "-y", "--no-install-recommends", *packages]


def by_hand(missing: list[Gap], script: str = "scripts/setup") -> str:
    """What a user without root types, or passes to who has it, before ``script`` is run again."""
    what = ", ".join(gap.what for gap in missing)
    command = " ".join(apt_command(missing))
    return (
        f"missing: {what}. Install it, for example:\n"
        f"    sudo apt-get update && sudo {command}\n"
        f"then run {script} again."
    )


def _jdk_package() -> str:
    """The headless JDK that this release of the distribution has."""
    for version in (17, 21, 25):
        name = f"openjdk-{version}-jdk-headless"
        if shutil.which("apt-cache") and "Package:" in output(["apt-cache", "show", name]):
            return name
    return "default-jdk-headless"


def _has_venv() -> bool:
    return not output([sys.executable, "-c", "import ensurepip, venv"])
