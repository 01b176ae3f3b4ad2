"""The file systems that a plan gives its bookies, as data, without devices and mounts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from plans.names import Params

SHARED, OWN = "shared", "own"
_LEAST_XFS_MB = 300


class Disks(Params):
    """A dedicated file system of ``size_mb`` for each bookie, and optionally another for its journal.

    ``commit_s`` is how long an ext4 keeps names and sizes in memory when no process syncs (its default is 5).
    ``settled`` says that all is synced once when the bookies are first ready, so that a power loss
    finds a cluster that was set up some time ago.
    """

    kind: Literal["ext4", "xfs"] = "ext4"
    size_mb: int = Field(default=256, ge=64, le=65536)
    journal: Literal["shared", "own"] = "shared"
    commit_s: int | None = Field(default=None, ge=1, le=3600)
    settled: bool = True

    @model_validator(mode="after")
    def _possible(self) -> Disks:
        if self.kind == "xfs" and self.size_mb < _LEAST_XFS_MB:
            raise ValueError(f"an xfs needs size_mb of {_LEAST_XFS_MB} or more, not {self.size_mb}")
        if self.kind == "xfs" and self.commit_s is not None:
            raise ValueError("an xfs has no commit_s; only ext4 has")
        return self


def disk_names(journal: str) -> tuple[str, ...]:
    """The names of a bookie's disks, by whether its journal has a separate one."""
    return ("ledgers", "journal") if journal == OWN else ("data",)
