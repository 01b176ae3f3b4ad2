"""What the simulator's proxies keep: rows of ``frames``, and what bookies had said by then.

Written from the wire log's description alone. Beside the rows it notes what is really so: answers
that no bookie in order would give, by what had come through the proxies before the question went on.
"""

from __future__ import annotations

from typing import Any

from evidence.codes import NEVER, Direction, FrameFlag, Message, Status
from tests.histories.exchanges import frame

OK, NONE, NO_LEDGER, FENCED, LIMBO = "ok", "no such entry", "no such ledger", "fenced", "unknown"
STATUS = {
    OK: Status.EOK,
    NONE: Status.ENOENTRY,
    NO_LEDGER: Status.ENOLEDGER,
    FENCED: Status.EFENCED,
    LIMBO: Status.EUNKNOWNLEDGERSTATE,
}
NEGATIVES = (NONE, NO_LEDGER)
MESSAGES = {
    "add": Message.ADD,
    "recovery add": Message.RECOVERY_ADD,
    "fence": Message.FENCING_LAC_READ,
    "recovery read": Message.RECOVERY_READ,
    "read": Message.READ,
    "lac": Message.LAC_READ,
    "force": Message.FORCE,
}
FLAGS = {
    "fence": FrameFlag.FENCING | FrameFlag.RECOVERY,
    "recovery read": FrameFlag.FENCING | FrameFlag.RECOVERY,
    "recovery add": FrameFlag.RECOVERY,
}
MARKS = {
    "drop": FrameFlag.DROPPED,
    "hold": FrameFlag.HELD,
    "duplicate": FrameFlag.DUPLICATED,
    "forge": FrameFlag.FORGED,
}
OPERATIONS = {"add": "add", "recovery add": "add", "force": "force"}
Row = dict[str, Any]


class WireLog:
    """The rows, and ``wrongs``: what bookies said against what they had said in the same boot."""

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.rows: list[Row] = []
        self.rules = 0
        self.old_protocol: set[int] = set()
        self.wrongs: set[tuple[str, int, int, int, int]] = set()
        self.denials: dict[tuple[int, int, int], set[int]] = {}
        self.fencings: dict[tuple[int, int], set[int]] = {}
        self.went_on: dict[tuple[int, int, int], frozenset[int]] = {}
        self._in_flight: dict[tuple[int, int, int, str], list[Any]] = {}
        self._several: set[tuple[int, int, int, str]] = set()
        self._answered: dict[tuple[str, int, int, int], int] = {}

    def request(self, exchange: Any, rule: Any) -> None:
        """A request is at the proxy."""
        copy = exchange.request[3] if exchange.request[0] == "add" else None
        row = self._row(exchange, Direction.REQUEST, rule)
        row["lac"] = copy.lac if copy else -1
        row["size_bytes"] = 60 + (copy.size if copy else 0)
        exchange.row, exchange.asked_ns = row, row["received_ns"]
        action = rule.action if rule else ""
        if action == "forge":
            row["flags"] |= int(FrameFlag.DROPPED)
        if exchange.kind == "recovery read":
            source, ledger = exchange.source, exchange.request[1]
            fenced = self.fencings.get((source, ledger), set())
            self.went_on[source, ledger, _entry(exchange)] = frozenset(fenced)
        if action not in ("drop", "forge") and exchange.source in self.old_protocol:
            waiting = self._in_flight.setdefault(_key(exchange), [])
            waiting += [exchange] * (2 if action == "duplicate" else 1)
            if len(set(map(id, waiting))) > 1:
                self._several.add(_key(exchange))

    def answer(self, exchange: Any, status: str, copy: Any, boot: int, rule: Any) -> Row:
        """An answer is at the proxy; the row is about the request that it seems to belong to."""
        meant, ambiguous = self._correlated(exchange)
        row = self._row(meant, Direction.ANSWER, rule)
        row["flags"] |= int(FrameFlag.AMBIGUOUS) if ambiguous else 0
        row.update(connection=exchange.connection, asked_ns=meant.asked_ns, lac=copy.lac if copy else -1)
        row["status"] = row["delivered"] = int(STATUS[status])
        if rule and rule.action == "drop":
            row["delivered"] = int(Status.NONE)
        if rule and rule.action == "forge":
            row["delivered"] = int(STATUS[rule.status])
        bookie = self.cluster.bookies[exchange.bookie]
        if bookie.boot == boot and not ambiguous and not row["flags"] & FrameFlag.FORGED:
            self._judge(exchange, status, boot)
        return row

    def forged(self, exchange: Any, rule: Any) -> Row:
        """A rule answers for the bookie."""
        row = self._row(exchange, Direction.ANSWER, rule)
        row.update(asked_ns=exchange.asked_ns, delivered=int(STATUS[rule.status]))
        return row

    def passed_on(self, exchange: Any, row: Row) -> None:
        """The frame goes on to whom it is for; said again, it changes nothing."""
        if row["forwarded_ns"] != NEVER:
            return
        row["forwarded_ns"] = self.cluster.tick()
        ledger, entry = exchange.request[1], _entry(exchange)
        if row["way"] == Direction.REQUEST:
            earlier = [
                self._answered.get((what, exchange.bookie, ledger, at)) for what, at in _before(exchange)
            ]
            exchange.said_before = max((boot for boot in earlier if boot), default=0)
        elif exchange.kind == "recovery read" and row["delivered"] in (STATUS[NONE], STATUS[NO_LEDGER]):
            self.denials.setdefault((exchange.source, ledger, entry), set()).add(exchange.bookie)
        elif exchange.kind == "fence" and row["delivered"] in (STATUS[OK], STATUS[NONE], STATUS[NO_LEDGER]):
            self.fencings.setdefault((exchange.source, ledger), set()).add(exchange.bookie)

    def _judge(self, exchange: Any, status: str, boot: int) -> None:
        """Note what a bookie said, and whether it is against what it had said before."""
        kind, ledger, entry = exchange.kind, exchange.request[1], _entry(exchange)
        against = exchange.said_before == boot
        if kind in ("fence", "recovery read") and status == OK:
            self._answered["fenced", exchange.bookie, ledger, -1] = boot
        if kind in ("add", "recovery add") and status == OK:
            self._answered["took", exchange.bookie, ledger, entry] = boot
        if kind == "add" and status == OK and against:
            self.wrongs.add(("took though fenced", exchange.bookie, boot, ledger, entry))
        if kind in ("read", "recovery read") and status in NEGATIVES and against:
            self.wrongs.add(("denied what it took", exchange.bookie, boot, ledger, entry))
        if (
            kind in ("read", "recovery read")
            and status in NEGATIVES
            and self._hides_limbo(exchange.bookie, ledger)
        ):
            self.wrongs.add(("denied in limbo", exchange.bookie, boot, ledger, entry))

    def _hides_limbo(self, bookie: int, ledger: int) -> bool:
        """Whether the bookie should not know, as long as the ledger is not closed."""
        due = self.cluster.bookies[bookie].hidden_limbo
        return ledger in due and self.cluster.is_open_on(ledger, bookie)

    def _correlated(self, exchange: Any) -> tuple[Any, bool]:
        """The request of an answer: V3 names it, of V2 it is the oldest with the same key."""
        if exchange.source not in self.old_protocol:
            return exchange, False
        key = _key(exchange)
        meant = self._in_flight[key].pop(0)
        ambiguous = key in self._several
        if not self._in_flight[key]:
            self._several.discard(key)
        return meant, ambiguous

    def _row(self, exchange: Any, way: Direction, rule: Any) -> Row:
        old = exchange.source in self.old_protocol
        _, row = frame(
            MESSAGES[exchange.kind],
            ledger=exchange.request[1],
            entry=_entry(exchange),
            seq=len(self.rows) + 1,
            connection=exchange.connection,
            source=exchange.source,
            bookie=exchange.bookie,
            boot=0,
            way=way,
            protocol=2 if old else 3,
            flags=FLAGS.get(exchange.kind, 0) | (MARKS[rule.action] if rule else 0),
            txn=-1 if old else exchange.number,
            received_ns=self.cluster.tick(),
            rule=rule.number if rule else 0,
        )
        self.rows.append(row)
        return row


def _entry(exchange: Any) -> int:
    return exchange.request[2] if len(exchange.request) > 2 else -1


def _key(exchange: Any) -> tuple[int, int, int, str]:
    """What V2 knows an answer by, within its connection."""
    operation = OPERATIONS.get(exchange.kind, "read")
    return exchange.connection, exchange.request[1], _entry(exchange), operation


def _before(exchange: Any) -> list[tuple[str, int]]:
    """What a bookie may have said before that its answer to this must agree with."""
    if exchange.kind == "add":
        return [("fenced", -1)]
    if exchange.kind in ("read", "recovery read"):
        return [("took", _entry(exchange))]
    return []
