"""A bookie's own file system, mounted from an image file of the run's folder, where this machine supports it.

The keeper makes mounts with loop devices that clear themselves. Where it has a separate mount namespace,
the kernel removes both when the last process of the run is gone. The image stays, as other files do.
Handles disks, and does not interpret their content.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cluster.processes.keeper_client import KeeperClient
from cluster.waiting import wait_until
from evidence.folder import sync_folder
from plans.cluster import SHARED, Disks, disk_names
from protocol.errors import NotReadyError, ServerError

SYSTEM_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
KINDS = ("ext4", "xfs")
_CONTROL = Path("/dev/loop-control")
IMAGES = "disks"
"""Name of the folder under ``servers/<name>/`` in which the image files lie."""

_OWN_FOLDER = "lost+found"
"""Where the two files lie: with the file system's own, which no fault takes for the bookie's."""
_SYNCED, _UNSYNCED = ".synced", ".unsynced"
_PROBE_BYTES = 4096
_UNMOUNT_TIMEOUT_S = 60.0
_TIMEOUT_S = 30
_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN are one number
_WITHOUT_LOG_FLUSH = 2
_MAKE: Mapping[str, tuple[str, ...]] = {
    # Nothing is kept for root, which the bookie is here, and no inode table is written behind our backs.
    "ext4": (
        "mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "0", "-N", "4096", "-J", "size=4",
        "-E", "lazy_itable_init=0,nodiscard",
    ),
    "xfs": ("mkfs.xfs", "-q", "-f", "-K"),
}  # fmt: skip
_OPTIONS: Mapping[str, str] = {"ext4": "loop,errors=remount-ro", "xfs": "loop"}


@dataclass(frozen=True, slots=True)
class Probe:
    """What a disk holds of two files: a file that was synced with its folder, and a file that never was."""

    synced: bool
    unsynced: bool


class Disk:
    """One file system in an image file; every method returns when its effect is complete.

    ``name`` is its purpose: ``data`` (everything), or ``ledgers`` or ``journal``. ``point`` is where the
    bookie sees it, ``path`` where this process does.
    """

    def __init__(self, name: str, spec: Disks, image: Path, point: Path, keeper: KeeperClient) -> None:
        self.name = name
        self._spec = spec
        self._image = image
        self._point = point
        self._keeper = keeper
        self._undo: int | None = None
        self._harmed = False
        self._synced = self._unsynced = b""

    @property
    def path(self) -> Path:
        """Where it is mounted, as this process reaches it."""
        return self._keeper.seen(self._point)

    @property
    def mounted(self) -> bool:
        """Whether it is mounted, in whatever state."""
        return self._undo is not None

    @property
    def sound(self) -> bool:
        """Whether it is mounted and was neither shut down nor made read-only since."""
        return self._undo is not None and not self._harmed

    def make(self) -> None:
        """Make the image and the file system in it, and mount it."""
        self._image.parent.mkdir(parents=True, exist_ok=True)
        with self._image.open("wb") as image:
            image.truncate(self._spec.size_mb << 20)
        self._run(*_MAKE[self._spec.kind], str(self._image))
        self._mount()
        self._write_synced()

    def spare_bytes(self) -> int:
        """Free space for unprivileged users, in bytes."""
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize

    def sync(self) -> None:
        """Flush everything that is only in memory."""
        self._run("sync", "-f", str(self._point))

    def write_unsynced(self) -> None:
        """Write a file without a sync; the kernel decides when it reaches the disk."""
        self._unsynced = secrets.token_bytes(_PROBE_BYTES)
        (self.path / _OWN_FOLDER / _UNSYNCED).write_bytes(self._unsynced)

    def probe(self) -> Probe:
        """What is there of the two files, by their bytes; a name without its bytes is not there."""
        return Probe(self._has(_SYNCED, self._synced), self._has(_UNSYNCED, self._unsynced))

    def lose_power(self) -> None:
        """Shut it down at once, its log unflushed: data that is only in memory is never written."""
        self._harmed = True
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(folder, _SHUTDOWN, struct.pack("I", _WITHOUT_LOG_FLUSH))
        except OSError as error:
            raise ServerError(f"{self._image.name} of {self._point} cannot be shut down: {error}") from error
        finally:
            os.close(folder)

    def turn_read_only(self) -> str:
        """Refuse all writes from now on; returns by which method.

        A remount, or as after a disk error where files are open for writing.
        """
        self._harmed = True
        try:
            self._run("mount", "-o", "remount,ro", str(self._point))
        except ServerError as busy:
            if self._spec.kind != "ext4":
                raise ServerError(
                    f"{self._point} cannot be made read-only while files are open for writing: {busy}",
                    remedy="kill the bookie first, or use `kind: ext4`",
                ) from busy
            self._run("mount", "-o", "remount,abort", str(self._point))
            return "abort"
        return "remount"

    def mount_again(self) -> Probe:
        """Unmount it, in whatever state it is, and mount it again; no process may use it.

        Mounting recovers its log. Returns what it held of the two probe files right after the mount.
        """
        if self._undo is not None:
            self._unmount()
        self._mount()
        found = self.probe()
        self._write_synced()
        return found

    # inside ---------------------------------------------------------------------------------

    def _mount(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        kind = self._spec.kind
        commit = f",commit={self._spec.commit_s}" if self._spec.commit_s else ""
        self._run("mount", "-t", kind, "-o", _OPTIONS[kind] + commit, str(self._image), str(self._point))
        self._undo = self._keeper.undo([_tool("umount"), str(self._point)])
        self._harmed = False

    def _unmount(self) -> None:
        def unmounted() -> tuple[bool, str]:
            try:
                self._run("umount", str(self._point))
            except ServerError as error:
                return False, str(error)
            return True, "unmounted"

        def released() -> tuple[bool, str]:
            # A container's mounts end a moment after its last process; mounted before that, it would be the
            # same file system once more, in the state in which it is.
            holding = _loops_on(self._image)
            return not holding, f"{', '.join(holding)} still uses it"

        try:
            wait_until(unmounted, _UNMOUNT_TIMEOUT_S, f"{self._point} to be unmounted")
            wait_until(released, _UNMOUNT_TIMEOUT_S, f"{self._image} to be released")
        except NotReadyError as error:
            raise ServerError(str(error)) from error
        undo, self._undo = self._undo, None
        if undo is not None:
            self._keeper.forget(undo)

    def _write_synced(self) -> None:
        """The file that must outlive a power loss.

        It is written when the disk is mounted: a sync at the moment of the loss would write down
        the names of other files as well, and make the loss smaller than it is.
        """
        self._synced = secrets.token_bytes(_PROBE_BYTES)
        own = self.path / _OWN_FOLDER
        own.mkdir(exist_ok=True)
        for remnant in (_SYNCED, _UNSYNCED):
            (own / remnant).unlink(missing_ok=True)
        with (own / _SYNCED).open("wb") as file:
            file.write(self._synced)
            file.flush()
            os.fsync(file.fileno())
        for folder in (own, self.path):
            sync_folder(folder)

    def _has(self, name: str, written: bytes) -> bool:
        try:
            return (self.path / _OWN_FOLDER / name).read_bytes() == written
        except OSError:
            return False

    def _run(self, program: str, *arguments: str) -> None:
        self._keeper.run([_tool(program), *arguments])


def unmount_others(keeper: KeeperClient) -> None:
    """Unmount the disks of other runs in the keeper's own mounts, where they would stay in use.

    Those of containers are mounted among the machine's mounts, of which the keeper's are copies.
    """
    for device, image in _loops():
        if image.parent.name == IMAGES and image.suffix == ".img":
            with contextlib.suppress(ServerError):  # it is mounted elsewhere only, or just released
                keeper.run([_tool("umount"), "--lazy", f"/dev/{device}"])


def _loops_on(image: Path) -> list[str]:
    """The loop devices that have an image file."""
    return [device for device, file in _loops() if file == image]


def _loops() -> Iterator[tuple[str, Path]]:
    """The name of each loop device in use, and its file."""
    for file in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):  # it was released just now
            yield file.parent.parent.name, Path(file.read_text().strip())


def _tool(name: str) -> str:
    return shutil.which(name, path=SYSTEM_PATH) or name


def mount_points(folder: Path, spec: Disks) -> dict[str, Path]:
    """Where the bookie whose own folder this is has its disks, by name."""
    data = folder / "data"
    # Side by side, for none can be unmounted below which another is mounted.
    names = disk_names(spec.journal, spec.more or ())
    return {name: data if spec.journal == SHARED else data / name for name in names}


def disks_of(folder: Path, spec: Disks | None, keeper: KeeperClient) -> dict[str, Disk]:
    """The disks of the bookie whose own folder this is, by name."""
    if spec is None:
        return {}
    return {
        name: Disk(name, spec, folder / IMAGES / f"{name}.img", point, keeper)
        for name, point in mount_points(folder, spec).items()
    }


def unavailable_reason(kind: str = "ext4") -> str | None:
    """Why this machine does not support dedicated disks, or None when it seems to support them."""
    if os.geteuid() != 0:
        return f"mounting needs root, this is user {os.geteuid()}"
    if not os.access(_CONTROL, os.R_OK | os.W_OK):
        return f"{_CONTROL} is {'not ours to use' if _CONTROL.exists() else 'missing'}"
    needed = ("unshare", "mount", "umount", f"mkfs.{kind}")
    missing = [tool for tool in needed if shutil.which(tool, path=SYSTEM_PATH) is None]
    return f"{', '.join(missing)} not found" if missing else _forbidden()


def _forbidden() -> str | None:
    """Why this root may not have the mounts that the keeper makes, as in a container; None when it may."""
    seen = refused_to_root("unshare", "--mount", "true")
    return seen and f"this root may not have mounts of its own: {seen}"


@cache
def refused_to_root(*argv: str) -> str | None:
    """What a command says if the kernel forbids it, as to the root of a container; None if it succeeds."""
    path = {**os.environ, "PATH": SYSTEM_PATH}
    done = subprocess.run(argv, env=path, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it said nothing"])[-1]


def remedy(kind: str = "ext4") -> str:
    """What the user can do about it, one sentence."""
    package = {"ext4": "e2fsprogs", "xfs": "xfsprogs"}[kind]
    return f"run as root on a machine with loop devices; mkfs.{kind} is in the package {package}"
