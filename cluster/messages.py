"""What a link can do with single messages: a rule, and what it has done up to now.

Data only. The proxy applies rules (``proxy/README.md``); a criterion that is left out matches all
messages. Rules of one link are ordered, and the first that acts on a message wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Way(StrEnum):
    """Which direction of a link is meant: from the source, back to it, or both."""

    REQUESTS = "requests"
    ANSWERS = "answers"
    BOTH = "both"

    @property
    def each(self) -> tuple[Way, ...]:
        """The ways that are meant, one by one."""
        return (Way.REQUESTS, Way.ANSWERS) if self is Way.BOTH else (self,)


class Action(StrEnum):
    """What becomes of a message that a rule acts on."""

    DROP = "drop"
    DELAY = "delay"
    HOLD = "hold"
    DUPLICATE = "duplicate"
    FORGE = "forge"
    GARBLE = "garble"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of one link; ``id`` is unique on its link, ``way`` is never both.

    ``kinds`` are names of :class:`evidence.codes.Message` in lower case, ``statuses`` and ``status``
    names of :class:`evidence.codes.Status`. ``entries`` are the first and the last that match.
    Of the matches, counted from 1, those from ``first`` to ``last`` (0: no end) are acted on, each
    with ``probability`` (None: always), as ``seed`` decides.
    """

    id: str
    way: Way
    action: Action
    kinds: tuple[str, ...] = ()
    ledger: int | None = None
    entries: tuple[int, int] | None = None
    statuses: tuple[str, ...] = ()
    first: int = 1
    last: int = 0
    probability: float | None = None
    seed: int = 0
    delay_ms: int = 0
    status: str = ""

    def as_json(self) -> dict[str, Any]:
        """The rule in the proxy's words, without what says nothing."""
        criteria: dict[str, Any] = {
            "kinds": list(self.kinds),
            "entries": list(self.entries or ()),
            "statuses": list(self.statuses),
            "from": self.first,
            "to": self.last,
            "delay_ms": self.delay_ms,
            "status": self.status,
        }
        tree: dict[str, Any] = {"id": self.id, "way": str(self.way), "action": str(self.action)}
        tree |= {key: value for key, value in criteria.items() if value}
        if self.ledger is not None:
            tree["ledger"] = self.ledger
        if self.probability is not None:
            tree |= {"probability": self.probability, "seed": self.seed}
        return tree


@dataclass(frozen=True, slots=True)
class RuleState:
    """What a rule has done: ``number`` is its own in the wire log, the rest counts messages.

    ``released`` is how many it let go when it was removed.
    """

    id: str
    number: int
    matched: int
    acted: int
    held_now: int
    released: int = 0


HOLDING = {way: Rule(f"hold.{way}", way, Action.HOLD) for way in (Way.REQUESTS, Way.ANSWERS)}
"""The rules by which a whole link is held (``Links.hold``); no other rule has such an id."""
