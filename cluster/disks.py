"""Dedicated file systems of bookies: their operations, and whether this machine supports them.

The backend decides how to create one. Inspects the machine, mounts nothing.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

SYSTEM_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
KINDS = ("ext4", "xfs")
_CONTROL = Path("/dev/loop-control")


@dataclass(frozen=True, slots=True)
class Probe:
    """What a disk holds of two files: a file that was synced with its folder, and a file that never was."""

    synced: bool
    unsynced: bool


class Disk(Protocol):
    """One file system in an image file; every method returns when its effect is complete."""

    @property
    def name(self) -> str:
        """Its purpose: ``data`` (everything), or ``ledgers`` or ``journal``."""
        ...

    @property
    def path(self) -> Path:
        """Where it is mounted, as this process reaches it."""
        ...

    @property
    def sound(self) -> bool:
        """Whether it is mounted, and was neither shut down nor made read-only since."""
        ...

    def spare_bytes(self) -> int:
        """Free space for unprivileged users, in bytes."""
        ...

    def sync(self) -> None:
        """Flush everything that is only in memory."""
        ...

    def write_unsynced(self) -> None:
        """Write a file without a sync; the kernel decides when it reaches the disk."""
        ...

    def probe(self) -> Probe:
        """What the disk now holds of the synced and of the unsynced probe file."""
        ...

    def lose_power(self) -> None:
        """Shut it down at once: data that is only in memory is never written."""
        ...

    def turn_read_only(self) -> str:
        """Refuse all writes from now on; returns by which method."""
        ...

    def mount_again(self) -> Probe:
        """Unmount it, in whatever state it is, and mount it again; no process may use it.

        Returns what it held of the two probe files right after the mount.
        """
        ...


def unavailable_reason(kind: str = "ext4") -> str | None:
    """Why this machine does not support dedicated disks, or None when it seems to support them."""
    if os.geteuid() != 0:
        return f"mounting needs root, this is user {os.geteuid()}"
    if not os.access(_CONTROL, os.R_OK | os.W_OK):
        return f"{_CONTROL} is {'not ours to use' if _CONTROL.exists() else 'missing'}"
    missing = [tool for tool in tools(kind) if shutil.which(tool, path=SYSTEM_PATH) is None]
    return f"{', '.join(missing)} not found" if missing else None


def remedy(kind: str = "ext4") -> str:
    """What the user can do about it, one sentence."""
    package = {"ext4": "e2fsprogs", "xfs": "xfsprogs"}[kind]
    return f"run as root on a machine with loop devices; mkfs.{kind} is in the package {package}"


def tools(kind: str) -> tuple[str, ...]:
    """The programs needed to create and mount a ``kind`` of disk."""
    return "mount", "umount", f"mkfs.{kind}"
