"""The simulator's clients: a writer, a recoverer and a reader, as the protocol describes them.

Each records its operations as rows of ``operations``: the invocation before anything is sent,
the outcome when it comes. A killed client's rows stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any

from evidence.codes import NEVER, Flag, Kind, Outcome, Proof
from tests.histories.cluster import (
    CLOSED,
    DELETED,
    ERROR,
    FENCED,
    IN_RECOVERY,
    NONE,
    OK,
    OPEN,
    Cluster,
    Copy,
    Metadata,
    write_set,
)
from tests.histories.story import _OPERATION

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
            **_OPERATION,
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
        self.lac, self.told, self.open, self.size = -1, -1, True, 100
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
            lac_before=self.told,
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
        else:  # nobody can take its place: go on without it as long as an ack quorum is left
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
            self.told = max(self.told, self.lac)
            self.completed(row, Outcome.OK, result=entry, expected=self.acked, lac=self.lac)
            self.acked += 1

    def _replace(self, position: int) -> None:
        """Put another bookie in the place of one that failed, from the first unacknowledged entry on."""
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
        row = self.invoked(Kind.FORCE, self.ledger, self.handle, entry=highest, lac_before=self.told)
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
        self.told = max(self.told, self.lac)
        self.completed(row, Outcome.OK, lac=self.lac)

    def delete(self) -> None:
        row = self.invoked(Kind.DELETE, self.ledger, 0)
        read = self.cluster.read(self.ledger)
        assert read is not None
        self.cluster.write(self.ledger, read, replace(read, state=DELETED))
        self.completed(row, Outcome.OK)


class Opener(Client):
    """Recovers ledgers and reads them."""

    final = False

    def recover(self, ledger: int, done: Callable[[int | None], None] = lambda _: None) -> None:
        flags = Flag.RECOVERY | (Flag.FINAL if self.final else 0)
        row = self.invoked(Kind.OPEN, ledger, self.new_handle(), flags=int(flags))
        self.converse(self._recovering(row, ledger, done))

    def _recovering(self, row: Row, ledger: int, done: Callable[[int | None], None]) -> Conversation:
        read = self.cluster.read(ledger)
        if read is None:
            self.completed(row, Outcome.UNKNOWN, error=NO_LEDGER_CODE)
            done(None)
            return
        end: int | None = read.last
        if read.state != CLOSED:
            if read.state == OPEN:
                read = self.cluster.write(ledger, read, replace(read, state=IN_RECOVERY))
                assert read is not None
            end = yield from self._recovery(ledger, read)
        if end is None:
            self.completed(row, Outcome.UNKNOWN, error=-10)
        else:
            self.completed(row, Outcome.OK, result=end, lac=end)
        done(end)

    def _recovery(self, ledger: int, meta: Metadata) -> Conversation:
        first, bookies = meta.fragments[-1]
        ensemble = list(bookies)
        lac = yield from self._fence(ledger, meta, ensemble, first)
        changed: dict[int, tuple[int, ...]] = {}
        while lac is not None:
            copy = yield from self._read_one(ledger, meta.shape, ensemble, lac + 1)
            if copy is None:
                return None
            if copy == NONE:
                return self._close(ledger, lac, changed)
            if not (yield from self._write_back(ledger, meta.shape, ensemble, lac + 1, copy, changed)):
                return None
            lac += 1
        return None

    def _fence(self, ledger: int, meta: Metadata, ensemble: list[int], first: int) -> Conversation:
        """The highest LAC of bookies that leave no ack quorum unfenced; None when too few answer."""
        answered: set[int] = set()
        lac = first - 1
        requests = [(bookie, ("fence", ledger)) for bookie in ensemble]
        for _ in ensemble:
            bookie, status, copy = yield requests
            requests = []
            if status == OK:
                answered.add(ensemble.index(bookie))
                lac = max(lac, copy.lac if copy else -1)
            if self._covered(meta.shape, answered):
                return lac
        return None

    @staticmethod
    def _covered(shape: tuple[int, int, int], answered: set[int]) -> bool:
        return all(
            sum(position not in answered for position in write_set(shape, entry)) < shape[2]
            for entry in range(shape[0])
        )

    def _read_one(
        self, ledger: int, shape: tuple[int, int, int], ensemble: list[int], entry: int
    ) -> Conversation:
        """A copy, ``NONE`` when enough bookies deny it, None when it cannot be decided."""
        targets = [ensemble[position] for position in write_set(shape, entry)]
        requests = [(bookie, ("recovery read", ledger, entry)) for bookie in targets]
        denied = 0
        for _ in targets:
            _, status, copy = yield requests
            requests = []
            if status == OK:
                return copy
            denied += status == NONE
            if denied >= shape[1] - shape[2] + 1:
                return NONE
        return None

    def _write_back(
        self,
        ledger: int,
        shape: tuple[int, int, int],
        ensemble: list[int],
        entry: int,
        copy: Copy,
        changed: dict[int, tuple[int, ...]],
    ) -> Conversation:
        """Store an entry on its whole write set; a bookie that fails is replaced from here on."""
        acks = 0
        waiting = [ensemble[position] for position in write_set(shape, entry)]
        requests = [(bookie, ("add", ledger, entry, copy, True)) for bookie in waiting]
        left = len(requests)
        while left:
            bookie, status, _ = yield requests
            requests, left = [], left - 1
            if status == OK:
                acks += 1
                continue
            spare = [other for other in self.cluster.bookies if other not in ensemble]
            if spare:
                other = self.cluster.random.choice(spare)
                ensemble[ensemble.index(bookie)] = other
                changed[entry] = tuple(ensemble)
                requests, left = More([(other, ("add", ledger, entry, copy, True))]), left + 1
        return acks >= shape[2]

    def _close(self, ledger: int, lac: int, changed: dict[int, tuple[int, ...]]) -> int | None:
        read = self.cluster.read(ledger)
        if read is None:
            return None
        if read.state == CLOSED:
            return read.last
        new = replace(read, state=CLOSED, last=lac)
        for first, bookies in changed.items():
            new = new.with_fragment(first, bookies)
        stored = self.cluster.write(ledger, read, new)
        assert stored is not None
        return lac

    def look(self, ledger: int) -> None:
        """Open without recovery: ask for the LAC, then read everything up to it."""
        self.converse(self._looking(ledger))

    def _looking(self, ledger: int) -> Conversation:
        read = self.cluster.read(ledger)
        if read is None:
            return
        handle = self.new_handle()
        row = self.invoked(Kind.LAC, ledger, handle)
        lac = read.last if read.state == CLOSED else (yield from self._lac(ledger, read))
        if lac is None:
            self.completed(row, Outcome.UNKNOWN, error=OTHER_CODE)
            return
        self.completed(row, Outcome.OK, lac=lac, result=lac)
        if lac >= 0:
            yield from self.reading(ledger, handle, lac)

    def _lac(self, ledger: int, meta: Metadata) -> Conversation:
        ensemble = list(meta.fragments[-1][1])
        lac, answered = -1, set()
        requests = [(bookie, ("lac", ledger)) for bookie in ensemble]
        for _ in ensemble:
            bookie, status, copy = yield requests
            requests = []
            if status == OK:
                answered.add(ensemble.index(bookie))
                lac = max(lac, copy.lac if copy else -1)
        return lac if self._covered(meta.shape, answered) else None

    def reading(self, ledger: int, handle: int, last: int) -> Conversation:
        """Read 0..last, one entry after another, each from its bookies in random order."""
        flags = int(Flag.FINAL) if self.final else 0
        row = self.invoked(Kind.READ, ledger, handle, entry=0, last=last, flags=flags)
        for entry in range(last + 1):
            copy = yield from self._deliver(ledger, entry)
            if copy is None:
                self.completed(row, Outcome.UNKNOWN, error=-13)
                return
            delivery = self.invoked(Kind.ENTRY, ledger, handle, entry=entry, last=row["seq"], flags=flags)
            self.completed(
                delivery,
                Outcome.OK,
                expected=entry,
                origin=copy.writer,
                size_bytes=copy.size,
                proof=int(Proof.PROVES_ITSELF),
            )
        self.completed(row, Outcome.OK, result=last + 1)

    def _deliver(self, ledger: int, entry: int) -> Conversation:
        read = self.cluster.read(ledger)
        if read is None:
            return None
        targets = [read.ensemble(entry)[position] for position in write_set(read.shape, entry)]
        self.cluster.random.shuffle(targets)
        for bookie in targets:
            _, status, copy = yield [(bookie, ("read", ledger, entry))]
            if status == OK:
                return copy
            assert status in (ERROR, NONE) or copy is None
        return None
