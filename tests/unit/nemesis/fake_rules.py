"""Rules on messages as the fake links obey them: enough for reads, asked one at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cluster.messages import Action, Rule, RuleState, Way
from protocol.errors import LinkError, UsageError

Deliver = Callable[[], None]


@dataclass
class FakeRule:
    rule: Rule
    number: int
    matched: int = 0
    acted: int = 0
    held: list[Deliver] = field(default_factory=list)

    def state(self, released: int = 0) -> RuleState:
        return RuleState(self.rule.id, self.number, self.matched, self.acted, len(self.held), released)

    def takes(self, way: Way, ledger: int, entry: int) -> bool:
        rule = self.rule
        if rule.way is not way or (rule.kinds and "read" not in rule.kinds):
            return False
        if rule.ledger not in (None, ledger) or (rule.statuses and "EOK" not in rule.statuses):
            return False
        if rule.entries is not None and not rule.entries[0] <= entry <= rule.entries[1]:
            return False
        self.matched += 1
        if self.matched < rule.first or 0 < rule.last < self.matched:
            return False
        self.acted += 1
        return True


class FakeRules:
    """All rules of one link, in their order."""

    def __init__(self) -> None:
        self.rules: list[FakeRule] = []
        self._gone: dict[str, RuleState] = {}
        self._numbered = 0

    def put(self, rule: Rule) -> RuleState:
        if any(one.rule.id == rule.id for one in self.rules):
            raise UsageError(f"there is a rule {rule.id!r} already")
        self._numbered += 1
        self.rules.append(FakeRule(rule, self._numbered))
        return self.rules[-1].state()

    def state(self, name: str) -> RuleState:
        for one in self.rules:
            if one.rule.id == name:
                return one.state()
        raise LinkError(f"no rule {name!r}")

    def remove(self, name: str) -> RuleState:
        for one in self.rules:
            if one.rule.id == name:
                self.rules.remove(one)
                held, one.held = one.held, []
                for deliver in held:
                    deliver()
                self._gone[name] = one.state(released=len(held))
        return self._gone[name]

    def pass_on(self, way: Way, ledger: int, entry: int, deliver: Deliver) -> None:
        """Deliver a message, or do with it what the first rule that acts says."""
        for one in self.rules:
            if one.takes(way, ledger, entry):
                if one.rule.action is Action.HOLD:
                    one.held.append(deliver)
                elif one.rule.action is Action.DUPLICATE:
                    deliver()
                    deliver()
                return
        deliver()


class FakeWire:
    """A client that reads entries of ledger 7 from a bookie over one fake link."""

    def __init__(self, rules: FakeRules) -> None:
        self._rules = rules
        self.arrived: list[int] = []
        self._answered: list[int] = []

    def read(self, entry: int) -> bool:
        self._rules.pass_on(Way.REQUESTS, 7, entry, lambda: self._arrive(entry))
        return self.has_answer(entry)

    def unanswered(self, entry: int) -> bool:
        return not self.read(entry)

    def has_answer(self, entry: int) -> bool:
        """Whether an answer that was not asked for before is there."""
        if entry not in self._answered:
            return False
        self._answered.remove(entry)
        return True

    def no_answer(self, entry: int) -> bool:
        """Whether no answer is there that was not asked for before."""
        return not self.has_answer(entry)

    def _arrive(self, entry: int) -> None:
        self.arrived.append(entry)
        self._rules.pass_on(Way.ANSWERS, 7, entry, lambda: self._answered.append(entry))
