"""What this machine has: Go, a browser, apt; and how missing system packages are named to the user.

Standard library only: it runs before anything is installed. It looks and starts nothing but
``--version``-like commands.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import stamp  # noqa: F401  # makes the checkout importable

from protocol.errors import FencepostError, PrerequisiteError

GO_MINIMUM = (1, 23)


@dataclass(frozen=True)
class Gap:
    """One thing that the system lacks: what was seen, and the apt packages that would supply it."""

    what: str
    packages: tuple[str, ...]


def error_exit(error: FencepostError) -> int:
    """Print an error, and its remedy if it has one; its exit code."""
    print("\n".join(filter(None, (f"error: {error}", error.remedy))), file=sys.stderr)
    return error.exit_code


def require_platform() -> None:
    """``PrerequisiteError`` unless this is Linux on x86-64 or arm64."""
    system, machine = os.uname().sysname, os.uname().machine
    if system != "Linux" or machine not in {"x86_64", "aarch64", "arm64"}:
        raise PrerequisiteError(f"Fencepost runs on Linux on x86-64 or arm64; this is {system} on {machine}")


def require_venv() -> None:
    """``PrerequisiteError`` with the command to type where the distribution splits venv off from Python."""
    if output([sys.executable, "-c", "import ensurepip, venv"]):
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        gap = Gap(f"the module venv of {sys.executable}", (f"{version}-venv",))
        raise PrerequisiteError(by_hand([gap]))


def output(argv: list[str]) -> str:
    """What a command prints on both streams, or nothing when it cannot be run."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, cwd="/")
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


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


def may_install() -> bool:
    """Whether this run may call apt-get: root, apt is here, and FENCEPOST_NO_APT is not set."""
    return os.geteuid() == 0 and bool(shutil.which("apt-get")) and not os.environ.get("FENCEPOST_NO_APT")


def apt_command(missing: list[Gap]) -> list[str]:
    """``apt-get install`` of all packages at once."""
    packages = sorted({package for gap in missing for package in gap.packages})
    return ["apt-get", "install", "-y", "--no-install-recommends", *packages]


def by_hand(missing: list[Gap], script: str = "scripts/setup") -> str:
    """What the user types, or passes to who has root, before ``script`` is run again."""
    what = ", ".join(gap.what for gap in missing)
    command = " ".join(apt_command(missing))
    return (
        f"missing: {what}. Install it, for example:\n"
        f"    sudo apt-get update && sudo {command}\n"
        f"then run {script} again."
    )
