"""What each kind of fault does to the servers that it hits: one line a kind.

Plans aim faults and limit them by it, and verdicts excuse by it what a fault may have caused; neither
knows how a fault is made. The registry of faults takes none without its line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

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
    """What one kind does.

    ``ends`` says that it ends the processes that it hits, ``undone_by`` which step undoes it. What it
    ``loses`` is a bookie's that it hits, or any bookie's where its target is no bookie. ``at_once`` says that
    it has done what it does when it is confirmed; others go on until they are healed. What a ``latent`` one
    has done to a disk may be met later all the same. ``whole`` is the parameter, and its value, with which
    all that was stored is gone.
    """

    ends: bool = False
    loses: Loses = Loses.NOTHING
    undone_by: Literal["heal", "resume", "start"] = "heal"
    at_once: bool = False
    latent: bool = False
    whole: tuple[str, str] | None = None

    def takes_all(self, params: Mapping[str, Any]) -> bool:
        """Whether a fault with these parameters leaves nothing of what a bookie had stored."""
        return self.whole is not None and params.get(self.whole[0]) == self.whole[1]

    @property
    def down(self) -> bool:
        """Whether what it hits is out of service until it is undone: ended, or paused."""
        return self.ends or self.undone_by == "resume"


_MESSAGES_ONLY = Effects()
_UNKNOWN = Effects(loses=Loses.STORED)

EFFECTS: Mapping[str, Effects] = {
    "kill": Effects(ends=True, loses=Loses.MEMORY, undone_by="start", at_once=True),
    "stop": Effects(ends=True, undone_by="start", at_once=True),
    "pause": Effects(undone_by="resume"),
    "power_loss": Effects(ends=True, loses=Loses.UNSYNCED, at_once=True),
    UNPLANNED: Effects(loses=Loses.MEMORY, at_once=True),  # it records an end, and did not cause it
    "wipe": Effects(loses=Loses.STORED, at_once=True, whole=("what", "all")),
    "corrupt": Effects(loses=Loses.STORED, at_once=True, latent=True),
    "read_only": Effects(loses=Loses.STORED),
    "fill": Effects(),  # what is on the disk stays there
    "wipe_metadata": Effects(loses=Loses.STORED),  # bookies collect what no metadata names
    "restore_metadata": Effects(loses=Loses.STORED),
    "cut": _MESSAGES_ONLY,
    "slow": _MESSAGES_ONLY,
    "isolate": _MESSAGES_ONLY,
    "expire": _MESSAGES_ONLY,
    "disconnect": _MESSAGES_ONLY,
    "blackhole": _MESSAGES_ONLY,
    "drop": _MESSAGES_ONLY,
    "hold": _MESSAGES_ONLY,
    "delay": _MESSAGES_ONLY,
    "duplicate": _MESSAGES_ONLY,
    "forge": _MESSAGES_ONLY,
    "garble": _MESSAGES_ONLY,
}
"""By the kind's name in plans and in the fault log."""

PUTS_BACK = frozenset({"wipe_metadata", "restore_metadata"})
"""Kinds that give the metadata store other content: ids of ledgers may come again."""


def effects_of(kind: str) -> Effects:
    """The effects of a kind; an unknown kind, from another version's record, may take anything stored."""
    return EFFECTS.get(kind, _UNKNOWN)
