"""Disks of the fake cluster's bookies: what is written, what is synced, and in which order things happen."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cluster.servers.disks import Probe

_LOW_BYTES = 128 << 10


@dataclass
class FakeDisk:
    """One disk of ``bookie``; ``path`` is a real folder, in which nothing of the fake itself lies."""

    bookie: Any
    name: str
    path: Path
    took: list[str]
    spare: int = 1 << 20
    sound: bool = True
    unsynced: bool = False
    loses: bool = True
    remounts: bool = True
    seen: list[str] = field(default_factory=list)
    gives_back: list[int] = field(default_factory=list)
    """What becomes free, once each time, when a disk that was filled is looked at again."""
    _low: bool = False

    def _note(self, what: str) -> None:
        self.took.append(f"{what} {self.bookie.name}/{self.name}")
        self.seen.append(f"{what}: {self.bookie.state}")

    def spare_bytes(self) -> int:
        if self._low and self.gives_back:
            self.spare += self.gives_back.pop()
        found = self.spare - sum(file.stat().st_size for file in self.path.iterdir())
        self._low = found <= _LOW_BYTES
        return found

    def sync(self) -> None:
        self._note("sync")

    def write_unsynced(self) -> None:
        self._note("write")
        self.unsynced = True

    def probe(self) -> Probe:
        return Probe(synced=True, unsynced=self.unsynced)

    def lose_power(self) -> None:
        self._note("lose_power")
        self.sound = False
        self.unsynced = self.unsynced and not self.loses

    def turn_read_only(self) -> str:
        self._note("read_only")
        self.sound = False
        self.path.chmod(0o500)
        return "abort"

    def mount_again(self) -> Probe:
        self._note("mount")
        self.path.chmod(0o700)
        self.sound = True
        return self.probe()


def give_disks(cluster: Any, folder: Path, *names: str, bookies: tuple[str, ...] = ("b1", "b2")) -> list[str]:
    """Give bookies disks of these names; the orders that disks are given from now on."""
    took: list[str] = []
    for bookie in bookies:
        process = cluster.process(bookie)
        disks = {}
        for name in names:
            (folder / bookie / name).mkdir(parents=True)
            disks[name] = FakeDisk(process, name, folder / bookie / name, took)
        process.disks = lambda disks=disks: disks
    return took
