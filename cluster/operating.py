"""Optional powers of a cluster: what an operator sees of repair, and the admin commands that he gives.

Protocols only; a step or a condition asks with ``isinstance`` whether the cluster has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from cluster.interface import Exit, Process
from protocol.shell import ShellCommand


@runtime_checkable
class Repairs(Protocol):
    """A cluster that repairs the data of lost bookies automatically."""

    @property
    def autorecovery(self) -> Mapping[str, Process]:
        """Processes with an auditor and a replication worker, by name; none when the plan asks for none."""
        ...

    def auditor(self) -> str | None:
        """The process that the metadata store names as the auditor; None when there is none."""
        ...

    def under_replicated(self) -> Sequence[int]:
        """Ledgers that are marked as lacking copies, ascending."""
        ...

    def under_repair(self) -> Sequence[int]:
        """Ledgers that a worker has locked, ascending."""
        ...


@dataclass(frozen=True, slots=True)
class Administered:
    """How an admin command ended: its exit, None when it was ended for its time was up; its output."""

    ended: Exit | None
    output: Path


@runtime_checkable
class CanAdminister(Protocol):
    """A cluster in which BookKeeper's admin commands can be run, one at a time."""

    def administer(self, command: ShellCommand, target: str | None, *, timeout_s: float) -> Administered:
        """Run one with the target's release and settings, or ``b1``'s; its output is kept.

        ``ServerError`` when it cannot be started.
        """
        ...
