"""The simulator's network: links with a proxy in the middle, connections that break, rules on messages.

A message makes two hops each way: to the proxy, on to the bookie, the answer to the proxy, on to
the client. Hops of the same kind on one link keep their order. What the proxies see is
kept by :mod:`tests.histories.wire`. A link may be cut and a bookie down; then the sender gets an
error, as from a broken connection. A server's link to itself has no proxy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.histories.wire import NONE, WireLog

ERROR = "error"
"""No answer: the connection broke, or the asker waits no longer."""
Reply = Callable[[str, Any], None]
Link = tuple[int, int]
DROP, HOLD, DUPLICATE, FORGE = "drop", "hold", "duplicate", "forge"


@dataclass(eq=False)
class Rule:
    """Which messages of which links are acted on, and how; None fits all. ``status`` is what is forged."""

    action: str
    kinds: tuple[str, ...] | None = None
    answers: bool = False
    sources: tuple[int, ...] | None = None
    bookies: tuple[int, ...] | None = None
    ledger: int | None = None
    chance: float = 1.0
    status: str = NONE
    number: int = 0
    held: list[Callable[[], None]] = field(default_factory=list)

    def fits(self, exchange: Exchange, answers: bool) -> bool:
        return (
            answers == self.answers
            and (self.kinds is None or exchange.kind in self.kinds)
            and (self.sources is None or exchange.source in self.sources)
            and (self.bookies is None or exchange.bookie in self.bookies)
            and self.ledger in (None, exchange.request[1])
        )


@dataclass(eq=False)
class Exchange:
    """One request and its fate; the asker gets one answer."""

    number: int
    source: int
    bookie: int
    request: tuple[Any, ...]
    reply: Reply
    connection: int = 0
    asked_ns: int = 0
    row: dict[str, Any] = field(default_factory=dict)
    said_before: int = 0
    answered: bool = False

    @property
    def kind(self) -> str:
        recovery = self.request[0] == "add" and self.request[4]
        return "recovery add" if recovery else str(self.request[0])

    @property
    def link(self) -> Link:
        return self.source, self.bookie

    def tell(self, status: str, what: Any) -> None:
        if not self.answered:
            self.answered = True
            self.reply(status, what)


class Network:
    """Every link of a cluster; ``log`` has what went through, ``cuts`` the links that are cut."""

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.random, self.tick = cluster.random, cluster.tick
        self.log = WireLog(cluster)
        self.cuts: set[Link] = set()
        self.rules: list[Rule] = []
        self.never_faulted: set[int] = set()
        self._queues: dict[tuple[int, int, str], deque[Callable[[], None]]] = {}
        self._connections: dict[Link, int] = {}
        self._dead: set[int] = set()
        self._made = self._sent = 0

    # links

    def cut(self, source: int, bookie: int) -> None:
        self.cuts.add((source, bookie))
        self._dead.add(self._connections.pop((source, bookie), 0))

    def mend(self, source: int, bookie: int) -> None:
        self.cuts.discard((source, bookie))

    def server_gone(self, bookie: int) -> None:
        """Connections to a server that died: an answer under way may still come through."""
        for link in [link for link in self._connections if link[1] == bookie]:
            del self._connections[link]

    def heal(self) -> None:
        """No cuts and no rules; what was held goes on."""
        self.cuts.clear()
        rules, self.rules = self.rules, []
        for rule in rules:
            self.release(rule)

    def act_by(self, rule: Rule) -> Rule:
        """Put a rule in force, after the present ones."""
        self.log.rules += 1
        rule.number = self.log.rules
        self.rules.append(rule)
        return rule

    def release(self, rule: Rule) -> None:
        held, rule.held = rule.held, []
        for go in held:
            go()

    # messages

    def deliver(self) -> bool:
        """One hop of some message; False when none is under way."""
        waiting = [key for key, queue in self._queues.items() if queue]
        if not waiting:
            return False
        self.tick()
        self._queues[self.random.choice(waiting)].popleft()()
        return True

    def _hop(self, exchange: Exchange, what: str, act: Callable[[], None]) -> None:
        self._queues.setdefault((*exchange.link, what), deque()).append(act)

    def send(self, source: int, bookie: int, request: tuple[Any, ...], reply: Reply) -> None:
        """Ask a bookie; ``reply`` is called once, later, with a status and what comes with it."""
        self._sent += 1
        exchange = Exchange(self._sent, source, bookie, request, reply)
        if source == bookie:
            self._hop(exchange, "itself", lambda: exchange.tell(*self._handled(exchange)))
        else:
            self._hop(exchange, "to proxy", lambda: self._request_at_proxy(exchange))

    def _failed(self, exchange: Exchange) -> None:
        self._hop(exchange, "error", lambda: exchange.tell(ERROR, None))

    def _handled(self, exchange: Exchange) -> tuple[str, Any]:
        bookie = self.cluster.bookies[exchange.bookie]
        return self.cluster.handle(bookie, exchange.request) if bookie.up else (ERROR, None)

    def _request_at_proxy(self, exchange: Exchange) -> None:
        if exchange.link in self.cuts or not self.cluster.bookies[exchange.bookie].up:
            self._failed(exchange)
            return
        if exchange.link not in self._connections:
            self._made += 1
            self._connections[exchange.link] = self._made
        exchange.connection = self._connections[exchange.link]
        rule = self._rule(exchange, answers=False)
        action = rule.action if rule else ""
        self.log.request(exchange, rule)
        if action == HOLD:
            assert rule is not None
            rule.held.append(lambda: self._let_go(exchange))
        elif action == FORGE:
            assert rule is not None
            row = self.log.forged(exchange, rule)
            self._home(exchange, row, rule.status, None)
        elif action != DROP:
            self._pass_on(exchange)
            if action == DUPLICATE:
                self._pass_on(exchange)
        self._lose_patience(exchange, action)

    def _lose_patience(self, exchange: Exchange, action: str) -> None:
        """The asker of what was dropped, and perhaps of what is held, waits no longer."""
        if action == DROP or (action == HOLD and self.random.random() < 0.5):
            self._failed(exchange)

    def _rule(self, exchange: Exchange, *, answers: bool) -> Rule | None:
        if exchange.source in self.never_faulted:
            return None
        for rule in self.rules:
            if rule.fits(exchange, answers) and self.random.random() < rule.chance:
                return rule
        return None

    def _let_go(self, exchange: Exchange) -> None:
        """Pass a request on that was held; with its connection it is gone."""
        if self._broken(exchange):
            self._failed(exchange)
            return
        exchange.asked_ns = self.tick()
        self._pass_on(exchange)

    def _broken(self, exchange: Exchange) -> bool:
        return self._connections.get(exchange.link) != exchange.connection

    @staticmethod
    def _slow(exchange: Exchange) -> bool:
        """Whether the link's proxy passes on only when the other side takes it."""
        return sum(exchange.link) % 3 == 0

    def _pass_on(self, exchange: Exchange) -> None:
        if not self._slow(exchange):
            self.log.passed_on(exchange, exchange.row)
        self._hop(exchange, "to bookie", lambda: self._request_at_bookie(exchange))

    def _request_at_bookie(self, exchange: Exchange) -> None:
        if self._broken(exchange):
            self._failed(exchange)
            return
        self.log.passed_on(exchange, exchange.row)
        boot = self.cluster.bookies[exchange.bookie].boot
        answer = self._handled(exchange)
        self._hop(exchange, "back to proxy", lambda: self._answer_at_proxy(exchange, boot, *answer))

    def _answer_at_proxy(self, exchange: Exchange, boot: int, status: str, what: Any) -> None:
        if exchange.connection in self._dead or (self._broken(exchange) and self.random.random() < 0.5):
            self._failed(exchange)
            return
        rule = self._rule(exchange, answers=True)
        action = rule.action if rule else ""
        row = self.log.answer(exchange, status, what, boot, rule)
        if rule and action == FORGE:
            status, what = rule.status, None
        if rule and action == HOLD:
            rule.held.append(lambda: self._home_late(exchange, row, status, what))
        elif action != DROP:
            self._home(exchange, row, status, what)
        self._lose_patience(exchange, action)

    def _home_late(self, exchange: Exchange, row: dict[str, Any], status: str, what: Any) -> None:
        if self._broken(exchange):
            self._failed(exchange)
        else:
            self._home(exchange, row, status, what)

    def _home(self, exchange: Exchange, row: dict[str, Any], status: str, what: Any) -> None:
        """The last hop: an answer to its asker, lost when the link was cut meanwhile."""
        if not self._slow(exchange):
            self.log.passed_on(exchange, row)

        def arrive() -> None:
            if exchange.connection in self._dead:
                exchange.tell(ERROR, None)
                return
            self.log.passed_on(exchange, row)
            exchange.tell(status, what)

        self._hop(exchange, "home", arrive)
