"""The rules of all links that understand messages, as the proxy has them in force.

The proxy takes the whole list of a link at once; a rule that stays in it keeps its counters and
what it holds. Changing rules interrupts no stream, so it never waits for a receiver.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from cluster.messages import Rule, RuleState
from cluster.toxiproxy import Rest
from protocol.errors import LinkError, UsageError


class Rulebook:
    """Rules by the name of their link (one of ``links``), in the order in which they were put."""

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
            number = next((int(one["number"]) for one in listed if one["id"] == rule.id), 0)
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
        return [_state(one) for one in self._rest.get(f"{_path(link)}/counters")["rules"]]

    def remove(self, link: str, rule: str) -> RuleState:
        """Take a rule out of force and let go what it holds; its last counters.

        The same again when it was removed before, also when the proxy's answer to that did not
        come. ``LinkError`` when the link never had the rule, or the proxy still lists it.
        """
        with self._locks[link]:
            if all(other.id != rule for other in self._rules[link]):
                return self._before(link, rule)
            unseen = RuleState(rule, 0, matched=0, acted=0, held_now=0)
            last = next((state for state in self.states(link) if state.id == rule), unseen)
            kept = [other for other in self._rules[link] if other.id != rule]
            told = self._order(link, kept)
            if any(one["id"] == rule for one in told["rules"]):
                raise LinkError(f"the proxy still lists the rule {rule!r} of {link}")
            self._rules[link] = kept
            released = int(told["released"])
            # What came between the counting and the removal has acted as well.
            acted = max(last.acted, released)
            matched = max(last.matched, acted)
            gone = replace(last, matched=matched, acted=acted, held_now=0, released=released)
            self._gone[link, rule] = gone
            return gone

    def _before(self, link: str, rule: str) -> RuleState:
        if (link, rule) not in self._gone:
            raise LinkError(f"the link {link} never had a rule {rule!r}")
        return self._gone[link, rule]

    def _order(self, link: str, rules: Sequence[Rule]) -> Any:
        return self._rest.put(f"{_path(link)}/rules", {"rules": [rule.as_json() for rule in rules]})


def _path(link: str) -> str:
    return f"/fencepost/links/{link}"


def _state(counted: Any) -> RuleState:
    return RuleState(
        counted["id"], counted["number"], counted["matched"], counted["acted"], counted["held_now"]
    )
