"""What a link can do with single messages: rules, what they have done, and which are in force.

The proxy applies rules (``docs/proxy.md``); a criterion that is left out matches all messages. Rules of one
link are ordered, and the first that acts on a message wins.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from cluster.toxiproxy import Rest
from protocol.errors import LinkError, UsageError


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
    """One rule of one link."""

    id: str
    """Unique on its link."""
    way: Way
    """Never both."""
    action: Action
    kinds: tuple[str, ...] = ()
    """Names of :class:`evidence.codes.Message` in lower case."""
    ledger: int | None = None
    entries: tuple[int, int] | None = None
    """The first and the last that match."""
    statuses: tuple[str, ...] = ()
    """Names of :class:`evidence.codes.Status`; the same for ``status``."""
    first: int = 1
    """The first match to act on, counted from 1."""
    last: int = 0
    """The last match to act on; 0: no end."""
    probability: float | None = None
    """Of acting on a match, as ``seed`` decides; None: always."""
    seed: int = 0
    delay_ms: int = 0
    status: str = ""

    def as_json(self) -> dict[str, object]:
        """The rule in the proxy's words, without what says nothing."""
        criteria: dict[str, object] = {
            "kinds": list(self.kinds),
            "entries": list(self.entries or ()),
            "statuses": list(self.statuses),
            "from": self.first,
            "to": self.last,
            "delay_ms": self.delay_ms,
            "status": self.status,
        }
        tree: dict[str, object] = {"id": self.id, "way": str(self.way), "action": str(self.action)}
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


class Rulebook:
    """The rules of ``links`` that the proxy has in force, in the order in which they were put.

    The proxy takes the whole list of a link at once; a rule that stays in it keeps its counters and what it
    holds. Changing rules interrupts no stream, so it never waits for a receiver.
    """

    def __init__(self, rest: Rest, links: Iterable[str]) -> None:
        self._rest = rest
        self._rules: dict[str, list[Rule]] = {link: [] for link in links}
        self._gone: dict[tuple[str, str], RuleState] = {}
        self._locks = {link: threading.Lock() for link in self._rules}

    def put(self, link: str, rule: Rule) -> RuleState:
        """Put a rule behind those in force; returns when the proxy lists it.

        ``UsageError`` when the link has a rule of that id, or the proxy says what is wrong with it.
        """
        with self._locks[link]:
            rules = self._rules[link]
            if any(other.id == rule.id for other in rules):
                raise UsageError(
                    f"the link {link} has a rule {rule.id!r} already", remedy="give it another name"
                )
            listed = self._order(link, [*rules, rule])["rules"]
            number = next((one["number"] for one in listed if one["id"] == rule.id), 0)
            if not number:
                raise LinkError(f"the proxy does not list the rule {rule.id!r} of {link}: {listed}")
            rules.append(rule)
            return RuleState(rule.id, number, matched=0, acted=0, held_now=0)

    def state(self, link: str, rule: str) -> RuleState:
        """A rule's counters; ``LinkError`` when it is not in force."""
        for found in self.states(link):
            if found.id == rule:
                return found
        raise LinkError(f"the link {link} has no rule {rule!r} in force")

    def states(self, link: str) -> Sequence[RuleState]:
        """The counters of all rules in force, in their order."""
        counters = self._rest.call("GET", f"{_path(link)}/counters")["rules"]
        return [
            RuleState(one["id"], one["number"], one["matched"], one["acted"], one["held_now"])
            for one in counters
        ]

    def remove(self, link: str, rule: str) -> RuleState:
        """Take a rule out of force and let go what it holds; its last counters.

        The same again when it was removed before, also when the proxy's answer to that did not
        come. ``LinkError`` when the link never had the rule, or the proxy still lists it.
        """
        with self._locks[link]:
            if all(other.id != rule for other in self._rules[link]):
                if (link, rule) not in self._gone:
                    raise LinkError(f"the link {link} never had a rule {rule!r}")
                return self._gone[link, rule]
            unseen = RuleState(rule, 0, matched=0, acted=0, held_now=0)
            last = next((state for state in self.states(link) if state.id == rule), unseen)
            kept = [other for other in self._rules[link] if other.id != rule]
            order = self._order(link, kept)
            if any(one["id"] == rule for one in order["rules"]):
                raise LinkError(f"the proxy still lists the rule {rule!r} of {link}")
            self._rules[link] = kept
            released = order["released"]
            # What came between the counting and the removal has acted as well.
            acted = max(last.acted, released)
            matched = max(last.matched, acted)
            gone = replace(last, matched=matched, acted=acted, held_now=0, released=released)
            self._gone[link, rule] = gone
            return gone

    def _order(self, link: str, rules: Sequence[Rule]) -> Any:
        """The proxy's ``rules`` after that, and how many messages were ``released`` from those removed."""
        return self._rest.call("PUT", f"{_path(link)}/rules", {"rules": [rule.as_json() for rule in rules]})


def _path(link: str) -> str:
    return f"/fencepost/links/{link}"
