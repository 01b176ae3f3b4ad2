"""The simulator's clients: what they have in common, and the writer.

Each records its operations as rows of ``operations``: the invocation before anything is sent,
the outcome when it comes. A killed client's rows stay as they are.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any

from evidence.codes import NEVER, Flag, Kind, Outcome
from tests.histories.cluster import CLOSED, DELETED, OPEN, Cluster, Copy, Metadata, write_set
from tests.histories.story import BLANK, SIZE
from tests.histories.wire import FENCED, OK

Row = dict[str, Any]
Conversation = Generator[list[tuple[int, tuple[Any, ...]]], tuple[int, str, Any], Any]
FENCE_CODE, OTHER_CODE, NO_LEDGER_CODE = -101, -1, -25


class More(list[Any]):
    """Requests that belong to the question still open."""


@dataclass
class Client:
    """A process with a number, whose rows survive it."""

    cluster: Cluster
    number: int
    rows: list[Row] = field(default_factory=list)
    alive: bool = True
    handles: int = 0

    def invoked(self, kind: Kind, ledger: int, handle: int, **columns: Any) -> Row:
        row = {
            **BLANK,
            "kind": int(kind),
            "ledger": ledger,
            "handle": handle,
            "client": self.number,
            "seq": len(self.rows) + 1,
            "outcome": int(Outcome.PENDING),
            "invoked_ns": self.cluster.tick(),
            "completed_ns": NEVER,
            **columns,
        }
        self.rows.append(row)
        return row

    def completed(self, row: Row, outcome: Outcome, **columns: Any) -> None:
        row.update(outcome=int(outcome), completed_ns=self.cluster.tick(), **columns)

    def new_handle(self) -> int:
        self.handles += 1
        return self.handles

    def converse(self, conversation: Conversation) -> None:
        """Run a generator: it yields requests to send (or none) and is resumed with one answer.

        A new list of requests is a new question, and answers to older ones are dropped; ``More``
        are requests that belong to the question still open.
        """
        question = 0

        def resume(answer: tuple[int, str, Any] | None, asked: int = 0) -> None:
            nonlocal question
            if not self.alive or asked != question:
                return
            try:
                requests = conversation.send(answer) if answer else next(conversation)
            except StopIteration:
                return
            question += bool(requests) and not isinstance(requests, More)
            for bookie, request in requests:
                self.cluster.send(
                    self.number,
                    bookie,
                    request,
                    lambda status, what, b=bookie, q=question: resume((b, status, what), q),
                )

        resume(None)


class Writer(Client):
    """Creates one ledger and appends to it, changing bookies that fail."""

    def create(self, ledger: int, ensemble: tuple[int, ...], write: int, ack: int, *, late: bool) -> None:
        row = self.invoked(Kind.CREATE, -1, self.new_handle())
        shape = (len(ensemble), write, ack)
        self.meta = Metadata(0, OPEN, -2, shape, ((0, ensemble),), self.cluster.tick())
        self.cluster.versions[ledger] = [self.meta]
        if late:
            self.cluster.deferred.add(ledger)
        self.ledger, self.late, self.handle = ledger, late, self.handles
        self.pending: dict[int, tuple[Row, set[int], set[int]]] = {}
        self.next = self.acked = 0
        self.lac, self.reported_lac, self.open, self.size = -1, -1, True, SIZE
        self.completed(row, Outcome.OK, ledger=ledger)

    @property
    def flags(self) -> int:
        return int(Flag.DEFERRED_SYNC) if self.late else 0

    def add(self) -> None:
        row = self.invoked(
            Kind.ADD,
            self.ledger,
            self.handle,
            entry=self.next,
            size_bytes=self.size,
            lac_before=self.reported_lac,
            flags=self.flags,
        )
        if not self.open:
            self.completed(row, Outcome.FAIL, error=-11)
            return
        entry, self.next = self.next, self.next + 1
        self.pending[entry] = (row, set(), set())
        for position in write_set(self.meta.shape, entry):
            self._send(entry, position)

    def _send(self, entry: int, position: int) -> None:
        bookie = self._ensemble()[position]
        copy = Copy(self.number, self.size, self.lac)
        self.cluster.send(
            self.number,
            bookie,
            ("add", self.ledger, entry, copy, False),
            lambda status, _: self._answered(entry, position, bookie, status),
        )

    def _ensemble(self) -> tuple[int, ...]:
        return self.meta.fragments[-1][1]

    def _answered(self, entry: int, position: int, bookie: int, status: str) -> None:
        if not (self.alive and self.open and entry in self.pending) or self._ensemble()[position] != bookie:
            return
        if status == OK:
            self.pending[entry][1].add(position)
            self._acknowledge()
        elif status == FENCED:
            self._give_up(FENCE_CODE)
        elif self.late or self._spare():
            self._replace(position)
        else:  # no spare bookie: go on without it as long as an ack quorum is left
            self.pending[entry][2].add(position)
            if self.meta.shape[1] - len(self.pending[entry][2]) < self.meta.shape[2]:
                self._give_up(OTHER_CODE)

    def _spare(self) -> list[int]:
        return [bookie for bookie in self.cluster.bookies if bookie not in self._ensemble()]

    def _acknowledge(self) -> None:
        """Tell success in order of ids."""
        while self.pending:
            entry = min(self.pending)
            row, answers, _ = self.pending[entry]
            if len(answers) < self.meta.shape[2]:
                return
            del self.pending[entry]
            if not self.late:
                self.lac = entry
            self.reported_lac = max(self.reported_lac, self.lac)
            self.completed(row, Outcome.OK, result=entry, expected=self.acked, lac=self.lac)
            self.acked += 1

    def _replace(self, position: int) -> None:
        """Replace a bookie that failed, from the first unacknowledged entry on."""
        if self.late:
            self._give_up(OTHER_CODE)
            return
        bookies = list(self._ensemble())
        bookies[position] = self.cluster.random.choice(self._spare())
        read = self.cluster.read(self.ledger)
        if read is None or read.state != OPEN:
            self._give_up(FENCE_CODE)
            return
        stored = self.cluster.write(self.ledger, read, read.with_fragment(self.lac + 1, tuple(bookies)))
        assert stored is not None
        self.meta = stored
        for entry, (_, answers, _) in self.pending.items():
            answers.discard(position)
            if position in write_set(self.meta.shape, entry):
                self._send(entry, position)

    def _fail_pending(self, code: int) -> None:
        for row, *_ in self.pending.values():
            self.completed(row, Outcome.UNKNOWN, error=code)
        self.pending.clear()
        self.open = False

    def _give_up(self, code: int) -> None:
        """Fail everything that waits; then close at the last id acknowledged, if the ledger is not closed."""
        self._fail_pending(code)
        self._close_at(self.lac)

    def _close_at(self, last: int) -> bool:
        read = self.cluster.read(self.ledger)
        if read is None:
            return False
        if read.state == CLOSED:
            return read.last == last
        return self.cluster.write(self.ledger, read, replace(read, state=CLOSED, last=last)) is not None

    def close(self) -> None:
        row = self.invoked(Kind.CLOSE, self.ledger, self.handle)
        self._fail_pending(-11)
        if self._close_at(self.lac):
            self.completed(row, Outcome.OK, result=self.lac)
        else:
            self.completed(row, Outcome.UNKNOWN, error=-17)

    def force(self) -> None:
        highest = self.acked - 1
        row = self.invoked(Kind.FORCE, self.ledger, self.handle, entry=highest, lac_before=self.reported_lac)
        self.converse(self._forcing(row, highest))

    def _forcing(self, row: Row, highest: int) -> Conversation:
        bookies = self._ensemble()
        requests = [(bookie, ("force", self.ledger)) for bookie in bookies]
        for _ in bookies:
            _, status, _ = yield requests
            requests = []
            if status != OK or not self.open:  # a handle that gave up meanwhile closed below what was forced
                self.completed(row, Outcome.UNKNOWN, error=OTHER_CODE)
                return
        self.lac = max(self.lac, highest)
        self.reported_lac = max(self.reported_lac, self.lac)
        self.completed(row, Outcome.OK, lac=self.lac)

    def delete(self) -> None:
        row = self.invoked(Kind.DELETE, self.ledger, 0)
        read = self.cluster.read(self.ledger)
        assert read is not None
        self.cluster.write(self.ledger, read, replace(read, state=DELETED))
        self.completed(row, Outcome.OK)
