"""The effects of each kind of fault on its targets: one entry for each kind.

Plans use it to aim and limit faults, and verdicts to excuse what a fault may have caused; neither
depends on how a fault is made. The registry of faults refuses a fault without its entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

UNPLANNED = "unplanned"
"""The recorded kind of "fault" for a process that ended on its own."""


class Loses(IntEnum):
    """The most that a bookie may lose; each includes those before it.

    By an unclean end a bookie may lose only what was never synced: it must have synced all entries that
    it acknowledged as durable, and everything that a graceful shutdown wrote.
    """

    NOTHING = 0
    MEMORY = 1
    """What only its process had; how the boot ended shows what that was."""
    UNSYNCED = 2
    """What was never synced as well."""
    STORED = 3
    """Anything that it has stored."""


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of one kind."""

    ends: bool = False
    """Whether it ends its target processes."""
    loses: Loses = Loses.NOTHING
    """What the target bookie may lose, or any bookie if the target is no bookie."""
    undone_by: Literal["heal", "resume", "start"] = "heal"
    """The step that undoes it."""
    at_once: bool = False
    """Whether its effect is complete when it is confirmed; others last until they are healed."""
    latent: bool = False
    """Whether its damage to a disk may be detected later, even after healing."""
    whole: tuple[str, str] | None = None
    """The parameter, and its value, with which everything stored is lost."""
    memory_only: tuple[str, str] | None = None
    """The parameter, and its value, with which nothing is lost but memory."""

    def takes_all(self, params: Mapping[str, object]) -> bool:
        """Whether a fault with these parameters leaves nothing of what a bookie had stored."""
        return self.whole is not None and params.get(self.whole[0]) == self.whole[1]

    def loses_with(self, params: Mapping[str, object]) -> Loses:
        """The most that a bookie may lose by a fault with these parameters."""
        spares = self.memory_only is not None and params.get(self.memory_only[0]) == self.memory_only[1]
        return Loses.MEMORY if spares else self.loses

    @property
    def down(self) -> bool:
        """Whether its target is out of service until the fault is undone: ended, or paused."""
        return self.ends or self.undone_by == "resume"


MESSAGES_ONLY = (
    "cut", "slow", "isolate", "expire", "disconnect", "blackhole",
    "drop", "hold", "delay", "duplicate", "forge", "garble",
)  # fmt: skip
"""Kinds that change what processes tell each other, and nothing within one of them."""
_UNKNOWN = Effects(loses=Loses.STORED)

EFFECTS: Mapping[str, Effects] = {
    "kill": Effects(ends=True, loses=Loses.MEMORY, undone_by="start", at_once=True),
    "stop": Effects(ends=True, undone_by="start", at_once=True),
    "pause": Effects(undone_by="resume"),
    "power_loss": Effects(ends=True, loses=Loses.UNSYNCED, at_once=True, memory_only=("level", "process")),
    UNPLANNED: Effects(loses=Loses.MEMORY, at_once=True),  # it records an end, and did not cause it
    "wipe": Effects(loses=Loses.STORED, at_once=True, whole=("what", "all")),
    "corrupt": Effects(loses=Loses.STORED, at_once=True, latent=True),
    "swap_disks": Effects(loses=Loses.STORED),
    "read_only": Effects(loses=Loses.STORED),
    "fill": Effects(),  # what is on the disk stays there
    "slow_disk": Effects(),
    "file_limit": Effects(),
    "wipe_metadata": Effects(loses=Loses.STORED),  # bookies collect what no metadata names
    "restore_metadata": Effects(loses=Loses.STORED),
    **dict.fromkeys(MESSAGES_ONLY, Effects()),
}
"""By the kind's name in plans and in the fault log."""

_ORDERLY_SIGNALS = (None, 15)
_ORDERLY_CODES = (None, 0, 143)  # a JVM that was asked to end by SIGTERM exits with 143

PUTS_BACK = frozenset({"wipe_metadata", "restore_metadata"})
"""Kinds that give the metadata store other content: ids of ledgers may come again."""


def effects_of(kind: str) -> Effects:
    """The effects of this kind; an unknown one, from another version's record, may take anything stored."""
    return EFFECTS.get(kind, _UNKNOWN)


AFTERMATH_S = 120
"""For so long after its healing a fault may end a process, unless its damage is latent."""


def unclean(*, signal: int | None, code: int | None) -> bool:
    """Whether a server ended without a graceful shutdown: SIGKILL, a crash, an unrequested exit.

    A bookie that ended so may have lost what it kept only in memory. Whether its disk is copied at its end,
    and whether its end is judged as a death, follow from the same answer.
    """
    return signal not in _ORDERLY_SIGNALS or code not in _ORDERLY_CODES
