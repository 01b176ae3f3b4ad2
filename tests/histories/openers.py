"""The simulator's recoverer and reader: open with recovery, ask for the LAC, read entry by entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from evidence.codes import Flag, Kind, Outcome, Proof
from tests.histories.clients import NO_LEDGER_CODE, OTHER_CODE, Client, Conversation, More, Row
from tests.histories.cluster import CLOSED, IN_RECOVERY, OPEN, Cluster, Copy, Metadata, write_set
from tests.histories.wire import NEGATIVES, NONE, OK


@dataclass(frozen=True)
class Closing:
    """A recovery's close.

    ``denied`` are bookies whose denials of the next entry had been passed on to the recoverer by then,
    ``fenced`` those whose answers to fencing had been when it asked for that entry.
    """

    ledger: int
    last: int
    version: int
    denied: frozenset[int]
    fenced: frozenset[int]


class Opener(Client):
    """Recovers ledgers and reads them; ``hasty`` ones do not wait for the quorums that they need."""

    final = hasty_close = hasty_fence = False

    def __init__(self, cluster: Cluster, number: int) -> None:
        super().__init__(cluster, number)
        self.closings: list[Closing] = []

    def recover(self, ledger: int, done: Callable[[int | None], None] = lambda _: None) -> None:
        flags = Flag.RECOVERY | (Flag.FINAL if self.final else 0)
        row = self.invoked(Kind.OPEN, ledger, self.new_handle(), flags=int(flags))
        self.converse(self._recovering(row, ledger, done))

    def _recovering(self, row: Row, ledger: int, done: Callable[[int | None], None]) -> Conversation:
        if self.cluster.read(ledger) is None:
            self.completed(row, Outcome.UNKNOWN, error=NO_LEDGER_CODE)
            done(None)
            return
        end = yield from self.ending(ledger)
        if end is None:
            self.completed(row, Outcome.UNKNOWN, error=-10)
        else:
            self.completed(row, Outcome.OK, result=end, lac=end)
        done(end)

    def ending(self, ledger: int) -> Conversation:
        """The last entry of a ledger that is closed, or that this closes; None when that fails."""
        read = self.cluster.read(ledger)
        if read is None:
            return None
        if read.state == CLOSED:
            return read.last
        if read.state == OPEN:
            read = self.cluster.write(ledger, read, replace(read, state=IN_RECOVERY))
            assert read is not None
        return (yield from self._recovery(ledger, read))

    def _recovery(self, ledger: int, meta: Metadata) -> Conversation:
        first, bookies = meta.fragments[-1]
        ensemble = list(bookies)
        lac = yield from self._fence(ledger, meta, ensemble, first)
        changed: dict[int, tuple[int, ...]] = {}
        while lac is not None:
            copy = yield from self._read_one(ledger, meta, lac + 1)
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
            if status == OK or status in NEGATIVES:
                answered.add(ensemble.index(bookie))
                lac = max(lac, copy.lac if copy else -1)
            if self._covered(meta.shape, answered) or (answered and self.hasty_fence):
                return lac
        return None

    @staticmethod
    def _covered(shape: tuple[int, int, int], answered: set[int]) -> bool:
        return all(
            sum(position not in answered for position in write_set(shape, entry)) < shape[2]
            for entry in range(shape[0])
        )

    def _read_one(self, ledger: int, meta: Metadata, entry: int) -> Conversation:
        """A copy, ``NONE`` when enough bookies deny it, None when it cannot be decided.

        Asked are the bookies that were to store it, not the ones by which recovery replaced them.
        """
        shape, bookies = meta.shape, meta.fragments[-1][1]
        targets = [bookies[position] for position in write_set(shape, entry)]
        requests = [(bookie, ("recovery read", ledger, entry)) for bookie in targets]
        denied = 0
        for _ in targets:
            _, status, copy = yield requests
            requests = []
            if status == OK:
                return copy
            denied += status in NEGATIVES
            if denied >= (1 if self.hasty_close else shape[1] - shape[2] + 1):
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
        self.closings.append(self._closing(ledger, lac, stored.version))
        return lac

    def _closing(self, ledger: int, last: int, version: int) -> Closing:
        log = self.cluster.network.log
        denied = log.denials.get((self.number, ledger, last + 1), set())
        fenced = log.went_on.get((self.number, ledger, last + 1), frozenset())
        return Closing(ledger, last, version, frozenset(denied), fenced)

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
            if status == OK or status in NEGATIVES:
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
        return None
