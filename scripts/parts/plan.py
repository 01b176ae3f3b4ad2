"""What set-up has to do here, what that costs, and whether the disks have room for it.

Runs no commands. The sizes were measured on x86-64 with Python 3.11; they are a few percent larger on arm64.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import machine
import stamp
import steps
from stamp import ROOT

from cluster.releases.versions import DEFAULT_VERSION
from protocol.errors import PrerequisiteError

RESERVE_MB = 100
_HAS_GO = machine.go() is not None


@dataclass(frozen=True)
class Step:
    """One thing to do: ``needs`` are done before it; sizes in MB (10^6 bytes).

    ``cached`` returns whether it is in the cache already, so that nothing is fetched. ``passing_mb``
    is needed in the cache while the step runs, in addition to what stays; ``checkout_mb`` for each checkout.
    """

    act: Callable[[], object]
    needs: tuple[str, ...] = ()
    what: str = ""
    fetch_mb: int = 0
    cache_mb: int = 0
    checkout_mb: int = 0
    passing_mb: int = 0
    cached: Callable[[], bool] = lambda: False


STEPS = {
    "uv": Step(steps.uv, (), "uv, which installs packages", 18, 67),
    "venv": Step(steps.venv, ("uv",)),
    "python": Step(
        steps.python, ("venv",), "Python packages, Spark and Java", 715, 1455, 10, 1400,
        cached=lambda: steps.packages_mark().exists(),
    ),
    "servers": Step(steps.servers, ("venv",), f"jars of BookKeeper {DEFAULT_VERSION}", 112, 112),
    "client": Step(
        steps.client, ("venv",), "client and agent: compiler and jars", 14, 15, 5,
        cached=lambda: (stamp.cache_root() / "compiler").is_dir(),
    ),
    "go": Step(steps.go_command, ("uv",), "Go, as PATH has no Go 1.23 or newer", 70, 253),
    "proxy": Step(
        steps.proxy, ("go",), "the proxy: modules and build", 25, 278 * _HAS_GO, 17, 278 * (not _HAS_GO),
        cached=lambda: (stamp.cache_root() / "go" / "build").is_dir(),
    ),
    "starts": Step(
        steps.starts, ("python", "servers", "client", "proxy"), "class data for faster starts", 0, 58, 105,
        cached=lambda: (stamp.cache_root() / "class-data").is_dir(),
    ),
}  # fmt: skip


def needed() -> list[str]:
    """Names of the steps that are not up to date."""
    names = {part for part in stamp.PARTS if not stamp.current(part)}
    if not (stamp.cache_root() / "bookkeeper" / DEFAULT_VERSION).is_dir():
        names |= {"servers", "starts"}
    if "python" in names:
        names.add("venv")
    if "proxy" in names and not steps.go_is_there():
        names.add("go")
    if names & {"python", "go"} and not steps.uv_is_there():
        names.add("uv")
    return [name for name in STEPS if name in names]


def table(names: list[str]) -> list[str]:
    """The lines that say what will be fetched, where it goes and how much disk that takes."""
    rows = [("", "to fetch", "on disk")]
    listed = [STEPS[name] for name in names if STEPS[name].what]
    for step in listed:
        if step.cached():
            rows.append((step.what, "in the cache", f"{step.checkout_mb} MB"))
        else:
            fetch = f"{step.fetch_mb} MB" if step.fetch_mb else "-"
            rows.append((step.what, fetch, f"{step.cache_mb + step.checkout_mb} MB"))
    fetch_mb = sum(step.fetch_mb for step in listed if not step.cached())
    disk_mb = sum(step.checkout_mb + (0 if step.cached() else step.cache_mb) for step in listed)
    rows.append(("in all", f"{fetch_mb} MB", f"{disk_mb} MB"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}" for row in rows]
    return ["Set-up installs:", *lines, f"  into {ROOT} and the cache {stamp.cache_root()}"]


def require_room(names: list[str]) -> None:
    """``PrerequisiteError`` when a file system has less room than the steps need while they run."""
    missing = [STEPS[name] for name in names]
    fetched = [step for step in missing if not step.cached()]
    cache_mb = sum(step.cache_mb for step in fetched) + max((s.passing_mb for s in fetched), default=0)
    checkout_mb = sum(step.checkout_mb for step in missing)
    cache, checkout = _existing(stamp.cache_root()), ROOT
    if cache.stat().st_dev == checkout.stat().st_dev:
        wanted = [(cache, cache_mb + checkout_mb)]
    else:  # .venv cannot share its files with the cache then
        packages_mb = STEPS["python"].cache_mb if "python" in names else 0
        wanted = [(cache, cache_mb), (checkout, checkout_mb + packages_mb)]
    for place, need_mb in wanted:
        free_mb = shutil.disk_usage(place).free // 1_000_000
        if need_mb and free_mb < need_mb + RESERVE_MB:
            raise PrerequisiteError(
                f"set-up needs {(need_mb + RESERVE_MB) / 1000:.1f} GB of disk at {place} (while it runs), "
                f"and {free_mb / 1000:.1f} GB are free. Nothing was fetched.\n"
                "Free some, or set FENCEPOST_CACHE to one on a larger disk, and run scripts/setup again."
            )


def require_writable() -> None:
    """``PrerequisiteError`` unless files can be made in this checkout and in the cache."""
    for folder, remedy in (
        (stamp.BUILD, "make the checkout writable, or clone it to another place"),
        (stamp.cache_root(), "set FENCEPOST_CACHE to a folder that you can write"),
    ):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            writable = os.access(folder, os.W_OK | os.X_OK)
            reason = "permission denied"
        except OSError as error:
            writable, reason = False, error.strerror or str(error)
        if not writable:
            raise PrerequisiteError(f"{folder} cannot be written ({reason}): {remedy}")


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path
