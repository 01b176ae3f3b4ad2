"""The lives of bookies: when each boot began and ended, and by what.

Read from the ``servers`` table of :class:`checkers.contract.RunFacts`; independent of faults, operations and
frames. Times are the run's nanoseconds, ``NEVER`` for a boot that lived to the end.
A *life* is a bookie and its boot as one number, as in the tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from checkers.contract import RunFacts
from checkers.facts.wording import bookie_name
from evidence.codes import NEVER
from protocol.exits import unclean
from protocol.faults import Loses
from protocol.modes import least_loss

_BOOT_BITS = 16


@dataclass(frozen=True, slots=True)
class Boot:
    """One life of a bookie.

    It answered nothing before ``started_ns`` and nothing that was asked after ``ended_ns``.
    ``unclean`` says that it ended otherwise than by an orderly shutdown (SIGKILL, a crash), so
    that what it kept in memory only is gone. A boot that lived to the end of the run is ended by
    the harness then, in order. ``dying_ns`` is a time before which it did not begin to end, and
    ``how`` the words for its end. ``least_loss`` is the least that a fault must take to take what it had
    acknowledged, None where its settings are not known.
    """

    bookie: int
    number: int
    started_ns: int
    ended_ns: int = NEVER
    unclean: bool = False
    dying_ns: int = NEVER
    how: str = ""
    least_loss: Loses | None = None

    @property
    def life(self) -> int:
        """The same as one number."""
        return int(life_of(self.bookie, self.number))


def boots_of(run: RunFacts) -> Mapping[int, tuple[Boot, ...]]:
    """Bookie number -> its boots in their order; a bookie without a recorded start is left out."""
    return run.once(_boots)


def _boots(run: RunFacts) -> Mapping[int, tuple[Boot, ...]]:
    started: dict[tuple[int, int], int] = {}
    ended: dict[tuple[int, int], Mapping[str, Any]] = {}
    configured: dict[tuple[int, int], Loses] = {}
    for row in run.servers:
        bookie = run.bookies.get(row["server"])
        if bookie is None:
            continue
        key = bookie, int(row["boot"])
        if row["event"] == "started":
            started[key] = int(row["earliest_ns"])
        elif row["event"] == "exit":
            ended[key] = row
        elif row["event"] == "configured":
            configured[key] = least_loss(json.loads(row["detail"])["conf"])
    found: dict[int, list[Boot]] = {}
    for key, at_ns in sorted(started.items()):
        known = configured.get(key, run.least_loss.get(bookie_name(run, key[0])))
        found.setdefault(key[0], []).append(replace(_boot(key, at_ns, ended.get(key)), least_loss=known))
    return {bookie: tuple(boots) for bookie, boots in found.items()}


def _boot(key: tuple[int, int], at_ns: int, end: Mapping[str, Any] | None) -> Boot:
    if end is None:
        return Boot(*key, at_ns)
    detail = json.loads(end["detail"])
    number, code = detail.get("signal"), detail.get("code")
    died = unclean(signal=number, code=code)
    how = f"ended with code {code}" if number is None else f"was ended by signal {number}"
    how = "was killed" if number == _SIGKILL else how if died else "was stopped"
    return Boot(*key, at_ns, int(end["latest_ns"]), died, int(end["earliest_ns"]), how)


def life_of(bookie: Any, boot: Any) -> Any:
    """The life of a bookie's boot; of numbers or, element by element, of ``int64`` arrays."""
    return (bookie << _BOOT_BITS) | boot


def bookie_of(life: int) -> int:
    """The bookie whose life it is."""
    return life >> _BOOT_BITS


def life_name(run: RunFacts, life: int) -> str:
    """``b1 boot 2``."""
    return f"{bookie_name(run, bookie_of(life))} boot {life & (2**_BOOT_BITS - 1)}"


_SIGKILL = 9
