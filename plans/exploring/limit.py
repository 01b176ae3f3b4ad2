"""The limit of a schedule: how many copies of an entry may be lost at a time.

An add is acknowledged when AQ bookies hold it, so replication promises that an entry outlives the
loss of AQ - 1 copies, in every mode. What loses a copy depends on the mode: with journaled and synced
data only the loss of a disk (no drawn fault does that), with journaled but unsynced data (``nosync``) a
power loss, without journaled data every unclean death, because unflushed data is lost. The limit counts
bookies, so no entry ever loses more copies than that.

A lost copy counts until it is given back. Only ``protected`` bookies do that (BP-46: data integrity
checking copies entries back from others), and have done so when the cluster is quiet again. In the
other modes nothing looks for lost entries, so a bookie that died counts until the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterable

from protocol.faults import EFFECTS, Loses

_LEAST: dict[str, Loses] = {
    "journal": Loses.STORED,
    "nosync": Loses.UNSYNCED,
    "unprotected": Loses.MEMORY,
    "protected": Loses.MEMORY,
}
LOSING: dict[str, frozenset[str]] = {
    mode: frozenset(kind for kind, effects in EFFECTS.items() if effects.loses >= least)
    for mode, least in _LEAST.items()
}
"""Mode -> the faults after which a bookie has lost copies of entries that it had acknowledged."""

REPAIRING = frozenset({"protected"})
"""Modes in which a bookie gets back what it lost before the cluster is quiet."""


class Limit:
    """How many bookies may have lost copies at a time: AQ - 1, and ``beyond`` more."""

    def __init__(self, mode: str, ack_quorum: int, *, beyond: int = 0) -> None:
        self.most = ack_quorum - 1 + beyond
        self.repairs = mode in REPAIRING
        self._losing = LOSING[mode]
        self._lost: set[str] = set()

    def loses(self, fault: str) -> bool:
        """Whether a bookie loses copies by this fault."""
        return fault in self._losing

    def allows(self, fault: str, targets: Iterable[str]) -> bool:
        """Whether the fault may hit these bookies now."""
        return not self.loses(fault) or len(self._lost | set(targets)) <= self.most

    def allows_after_repair(self, fault: str, targets: Iterable[str]) -> bool:
        """Whether it might once every bookie has repaired itself."""
        return not self.loses(fault) or (self.repairs and len(set(targets)) <= self.most)

    def hit(self, fault: str, targets: Iterable[str]) -> None:
        """Count the targets as lost if the fault loses copies."""
        if self.loses(fault):
            self._lost |= set(targets)

    def quiet(self) -> None:
        """All bookies are running and have repaired what they can."""
        if self.repairs:
            self._lost.clear()
