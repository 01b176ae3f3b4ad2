"""A small message-level simulator of BookKeeper: whole runs, with the truth beside the record.

It knows the protocol and not the checkers' theory; what the checkers say of its runs is held
against :class:`tests.histories.truth.Truth`, which looks into the bookies themselves.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

from checkers.judging.contract import RunFacts
from protocol.faults import Loses
from tests.histories.clients import Row, Writer
from tests.histories.cluster import CLOSED, Bugs, Cluster, write_set
from tests.histories.network import DROP, Rule
from tests.histories.openers import Opener
from tests.histories.recording import (
    CLIENTS,
    OBSERVER,
    asked,
    fault_rows,
    frames,
    holdings,
    server_rows,
    versions,
)
from tests.histories.repair import FullCheck
from tests.histories.story import BOOKIES, Fact, run_facts
from tests.histories.truth import Truth, named, truth_of

READERS = (120, 121)


@dataclass(frozen=True)
class Settings:
    """What a run is made of.

    ``losses``: crashes lose what was not flushed (no journal of data). ``limbo``: bookies run under
    BP-46's protection. ``contest``: how often a recovery begins. ``fences_dropped``: the chance that
    a recoverer's fencing message is dropped. ``rules`` are in force on all links but the observer's
    until the run is healed. ``old_protocol``: clients speak V2. ``coalesced``: some versions of the
    metadata were not seen; ``dated``: the share of those whose time is known. ``collects``: bookies
    drop ledgers that are gone, and closed ones that do not name them. ``bugs``: what is broken.
    """

    seed: int
    bookies: int = 5
    shape: tuple[int, int, int] = (3, 3, 2)
    writers: int = 2
    steps: int = 150
    losses: bool = False
    limbo: bool = False
    late: bool = False
    coalesced: bool = False
    crashes: int = 2
    flushes: bool = True
    contest: float = 0.3
    fences_dropped: float = 0.0
    rules: tuple[Rule, ...] = ()
    old_protocol: bool = False
    dated: float = 0.8
    collects: bool = False
    bugs: Bugs = field(default_factory=Bugs)


class Simulation:
    """One run: writers, recoverers, readers and crashes at random, then healing and a last look."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.cluster = Cluster(
            settings.seed,
            bookies=settings.bookies,
            journal=not settings.losses,
            limbo=settings.limbo,
            bugs=settings.bugs,
        )
        self.random, self.network = self.cluster.random, self.cluster.network
        self.writers = [Writer(self.cluster, 101 + index) for index in range(settings.writers)]
        self.readers = [Opener(self.cluster, number) for number in READERS]
        self.observer = Opener(self.cluster, OBSERVER)
        self.checks: dict[int, FullCheck] = {}
        self.census: list[Row] = []
        self.crashes = settings.crashes
        self.cluster.at_crash.append(self._check_ends)
        self._create()
        self._break()

    def _create(self) -> None:
        settings = self.settings
        for index, writer in enumerate(self.writers):
            ensemble = tuple(self.random.sample(sorted(self.cluster.bookies), settings.shape[0]))
            writer.create(index + 1, ensemble, *settings.shape[1:], late=settings.late and index == 0)

    def _break(self) -> None:
        """Put the run's rules in force and its client bugs."""
        settings = self.settings
        self.network.never_faulted.add(OBSERVER)
        for rule in settings.rules:
            self.network.act_by(replace(rule, held=[]))
        if settings.fences_dropped:
            fences, chance = ("fence", "recovery read"), settings.fences_dropped
            self.network.act_by(Rule(DROP, fences, sources=READERS, chance=chance))
        if settings.old_protocol:
            self.network.log.old_protocol |= {*READERS, *(w.number for w in self.writers if not w.late)}
        for reader in self.readers:
            reader.hasty_close = settings.bugs.one_negative_closes
            reader.hasty_fence = settings.bugs.one_answer_fences

    def run(self) -> Simulation:
        """Act, heal, look; returns itself."""
        for _ in range(self.settings.steps):
            self._step()
        self._heal()
        self._census(1)
        self._last_look()
        self._census(2)
        return self

    def _step(self) -> None:
        if self.random.random() < 0.7 and self.cluster.deliver():
            self.cluster.deliver()
            return
        acts = [self._add] * 8 + [self._look, self._recover, self._crash, self._start, self._link]
        acts += [self._flush, self._rare, self._force, self._crash, self._start, self._let_go, self._check]
        acts += [self._collect] * 2 if self.settings.collects else []
        self.random.choice(acts)()

    def _add(self) -> None:
        writer = self.random.choice(self.writers)
        if writer.alive and self._exists(writer.ledger):
            writer.add()

    def _exists(self, ledger: int) -> bool:
        return self.cluster.read(ledger) is not None

    def _look(self) -> None:
        self.random.choice(self.readers).look(self._ledger())

    def _recover(self) -> None:
        if self.random.random() < self.settings.contest:
            self.random.choice(self.readers).recover(self._ledger())

    def _ledger(self) -> int:
        return self.random.choice(self.writers).ledger

    def _crash(self) -> None:
        number = self.random.choice(sorted(self.cluster.bookies))
        if self.crashes and all(bookie.up for bookie in self.cluster.bookies.values()):
            self.crashes -= 1
            self.cluster.crash(number)

    def _start(self) -> None:
        for number in self.cluster.bookies:
            self.cluster.start(number)

    def _check(self) -> None:
        """Let guarded bookies that crashed repair themselves."""
        for number, bookie in self.cluster.bookies.items():
            if self.settings.limbo and bookie.up and bookie.unclean:
                self.checks.setdefault(number, FullCheck(self.cluster, number)).check()

    def _check_ends(self, number: int) -> None:
        if check := self.checks.pop(number, None):
            check.alive = False

    def _link(self) -> None:
        link = (self.random.choice([101, 102, *READERS]), self.random.choice(sorted(self.cluster.bookies)))
        (self.network.mend if link in self.network.cuts else self.network.cut)(*link)

    def _let_go(self) -> None:
        for rule in self.network.rules:
            self.network.release(rule)

    def _flush(self) -> None:
        if not self.settings.flushes:
            return
        self.cluster.bookies[self.random.choice(sorted(self.cluster.bookies))].flush()

    def _collect(self) -> None:
        """One bookie's garbage collection (``ScanAndCompareGarbageCollector``)."""
        number = self.random.choice(sorted(self.cluster.bookies))
        for ledger in self.cluster.versions:
            read = self.cluster.read(ledger)
            unnamed = read and all(number not in bookies for _, bookies in read.fragments)
            if self.cluster.bookies[number].up and (not read or (read.state == CLOSED and unnamed)):
                self.cluster.bookies[number].drop(ledger)

    def _force(self) -> None:
        writer = self.writers[0]
        if writer.late and writer.alive and writer.open and writer.acked:
            writer.force()

    def _rare(self) -> None:
        writer = self.random.choice(self.writers)
        act = self.random.choice(["kill", "close", "delete", "replicate"])
        if act == "kill" and self.random.random() < 0.5:
            writer.alive = False
        elif act == "close" and writer.alive and writer.open and self._exists(writer.ledger):
            writer.close()
        elif act == "delete" and writer.alive and not writer.open and self._exists(writer.ledger):
            if self.random.random() < 0.3:
                writer.delete()
        elif act == "replicate":
            self._replicate(writer.ledger)

    def _replicate(self, ledger: int) -> None:
        """Copy a closed fragment's share of one bookie to another, then name that one instead."""
        read = self.cluster.read(ledger)
        if read is None or read.state != CLOSED:
            return
        index = self.random.randrange(len(read.fragments))
        first, bookies = read.fragments[index]
        last = ([after for after, _ in read.fragments] + [read.last + 1])[index + 1] - 1
        spare = [number for number in self.cluster.bookies if number not in bookies]
        if not spare:
            return
        position, target = self.random.randrange(len(bookies)), self.random.choice(spare)
        for entry in range(first, min(last, read.last) + 1):
            if position in write_set(read.shape, entry):
                sources = [self.cluster.bookies[n].holds(ledger, entry) for n in read.targets(entry)]
                copy = next((source for source in sources if source), None)
                if copy is None:
                    return
                self.cluster.bookies[target].durable[ledger, entry] = copy
        moved = tuple(target if place == position else bookie for place, bookie in enumerate(bookies))
        self.cluster.write(ledger, read, read.with_fragment(first, moved))

    def _heal(self) -> None:
        self.network.heal()
        self._start()
        self.drain()
        for _ in range(3):  # one bookie's repair may have to wait for another's
            self._check()
            self.drain()

    def drain(self) -> None:
        """Deliver every message that is under way."""
        while self.cluster.deliver():
            pass

    def _last_look(self) -> None:
        self.observer.final = True
        for ledger in self.cluster.versions:
            self.observer.recover(ledger, lambda end, ledger=ledger: self._read_all(ledger, end))
            self.drain()

    def _read_all(self, ledger: int, end: int | None) -> None:
        if end is not None and end >= 0:
            self.observer.converse(self.observer.reading(ledger, self.observer.handles, end))

    def _census(self, number: int) -> None:
        """Ask every bookie that any version ever named about every entry ever tried."""
        for writer in self.writers:
            bookies = sorted(named(self.cluster, writer.ledger))
            for entry in range(writer.next):
                self.census += [asked(self.cluster, number, writer.ledger, entry, b) for b in bookies]

    def truth(self) -> Truth:
        return truth_of(self.cluster, self.writers, self.readers)

    def history(self) -> list[Fact]:
        """The record of the run, as rows of the tables; the same each time."""
        clients = [*self.writers, *self.readers, self.observer]
        dice = random.Random(self.settings.seed)
        seen = 0.7 if self.settings.coalesced else 1.0
        return [
            *(("operations", row) for client in clients for row in client.rows),
            *(("ledgers", row) for row in versions(self.cluster, dice, seen, self.settings.dated)),
            *(("census", row) for row in self.census),
            *(("frames", row) for row in frames(self.cluster)),
            *(("holdings", row) for row in holdings(self.cluster)),
        ]

    def facts(self) -> RunFacts:
        """What the run is judged with: its boots, its kills, its wire log."""
        guarded = frozenset(f"b{number}" for number in self.cluster.bookies if self.settings.limbo)
        servers, faults = server_rows(self.cluster), fault_rows(self.cluster)
        least = Loses.MEMORY if self.settings.losses else Loses.STORED
        losses = dict.fromkeys(BOOKIES, least)
        return facts_of_run(servers=servers, faults=faults, wire=True, guarded=guarded, least_loss=losses)


def simulated(seed: int, **settings: Any) -> Simulation:
    """One run to its end."""
    return Simulation(replace(Settings(seed), **settings)).run()


def facts_of_run(**changed: Any) -> RunFacts:
    """A run of the simulator's clients; without more it has no boots and no wire log."""
    return run_facts(scenario="simulated", clients=CLIENTS, bookies=BOOKIES, **changed)
