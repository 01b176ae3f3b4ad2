"""A small message-level simulator of BookKeeper: whole runs, with the truth beside the record.

It knows the protocol and not the checkers' theory; what the checkers say of its runs is held
against ``Truth``, which looks into the bookies themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from checkers.contract import RunFacts
from evidence.codes import NEVER, Holding, Kind, Outcome
from tests.histories.clients import Row, Writer
from tests.histories.cluster import CLOSED, DELETED, Cluster, Metadata, write_set
from tests.histories.openers import Opener
from tests.histories.story import Fact, run_facts

OBSERVER = 250


@dataclass(frozen=True)
class Settings:
    """What a run is made of. ``losses``: crashes lose what was not flushed (no journal of data)."""

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


@dataclass(frozen=True)
class Truth:
    """What really became of the acknowledged entries of ledgers that were not deleted."""

    acked: frozenset[tuple[int, int]]
    cut_off: frozenset[tuple[int, int]]
    nowhere: frozenset[tuple[int, int]]
    unreadable: frozenset[tuple[int, int]]


class Simulation:
    """One run: writers, a recoverer, a reader and crashes at random, then healing and a last look."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.cluster = Cluster(
            settings.seed, bookies=settings.bookies, journal=not settings.losses, limbo=settings.limbo
        )
        self.random = self.cluster.random
        self.writers = [Writer(self.cluster, 101 + index) for index in range(settings.writers)]
        self.readers = [Opener(self.cluster, 120), Opener(self.cluster, 121)]
        self.observer = Opener(self.cluster, OBSERVER)
        self.census: list[Row] = []
        self.crashes = settings.crashes
        for index, writer in enumerate(self.writers):
            ensemble = tuple(self.random.sample(sorted(self.cluster.bookies), settings.shape[0]))
            writer.create(index + 1, ensemble, *settings.shape[1:], late=settings.late and index == 0)

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
            return
        acts = [self._add] * 8 + [self._look, self._recover, self._crash, self._start, self._link]
        acts += [self._flush, self._rare, self._force, self._crash, self._start]
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
        if self.random.random() < 0.3:
            self.random.choice(self.readers).recover(self._ledger())

    def _ledger(self) -> int:
        return self.random.choice(self.writers).ledger

    def _crash(self) -> None:
        number = self.random.choice(sorted(self.cluster.bookies))
        if self.crashes and all(bookie.up for bookie in self.cluster.bookies.values()):
            self.crashes -= 1
            self.cluster.crash(number)

    def _start(self) -> None:
        for bookie in self.cluster.bookies.values():
            bookie.up = True

    def _link(self) -> None:
        link = (self.random.choice([101, 102, 120, 121]), self.random.choice(sorted(self.cluster.bookies)))
        self.cluster.cut.symmetric_difference_update({link})

    def _flush(self) -> None:
        if not self.settings.flushes:
            return
        self.cluster.bookies[self.random.choice(sorted(self.cluster.bookies))].flush()

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
                sources = [
                    self.cluster.bookies[bookies[p]].holds(ledger, entry)
                    for p in write_set(read.shape, entry)
                ]
                copy = next((source for source in sources if source), None)
                if copy is None:
                    return
                self.cluster.bookies[target].durable[ledger, entry] = copy
        moved = tuple(target if place == position else bookie for place, bookie in enumerate(bookies))
        self.cluster.write(ledger, read, read.with_fragment(first, moved))

    def _heal(self) -> None:
        self.cluster.cut.clear()
        self._start()
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
            named = self._named(writer.ledger)
            for entry in range(writer.next):
                self.census += [self._asked(number, writer.ledger, entry, bookie) for bookie in sorted(named)]

    def _named(self, ledger: int) -> set[int]:
        """Bookies that some version of the metadata names; nobody would look anywhere else."""
        fragments = [fragment for version in self.cluster.versions[ledger] for fragment in version.fragments]
        return {bookie for _, bookies in fragments for bookie in bookies}

    def _asked(self, number: int, ledger: int, entry: int, bookie: int) -> Row:
        copy = self.cluster.bookies[bookie].holds(ledger, entry)
        limbo = ledger in self.cluster.bookies[bookie].limbo
        holding = Holding.PRESENT if copy else Holding.UNKNOWN if limbo else Holding.ABSENT
        return {
            "ledger": ledger,
            "entry": entry,
            "pass_number": number,
            "bookie": bookie,
            "holding": int(holding),
            "error": {Holding.PRESENT: 0, Holding.UNKNOWN: -108, Holding.ABSENT: -13}[holding],
            "asked_ns": self.cluster.tick(),
            "answered_ns": self.cluster.tick(),
            "digest": 0,
            "origin": copy.writer if copy else 0,
            "size_bytes": copy.size if copy else 0,
        }

    def truth(self) -> Truth:
        """Where the acknowledged entries really are."""
        acked, cut_off, nowhere, unreadable = set(), set(), set(), set()
        for ledger, entry in self._promised():
            read = self.cluster.read(ledger)
            if read is None:
                continue
            acked.add((ledger, entry))
            holders = {n for n in self._named(ledger) if self.cluster.bookies[n].holds(ledger, entry)}
            targets = {read.ensemble(entry)[p] for p in write_set(read.shape, entry)}
            if read.state == CLOSED and read.last < entry:
                cut_off.add((ledger, entry))
            elif not holders:
                nowhere.add((ledger, entry))
            if (ledger, entry) in cut_off or read.state != CLOSED or not holders & targets:
                unreadable.add((ledger, entry))
        return Truth(frozenset(acked), frozenset(cut_off), frozenset(nowhere), frozenset(unreadable))

    def _promised(self) -> set[tuple[int, int]]:
        """Entries of ok adds; of deferred ones those that an ok force followed."""
        promised = set()
        for writer in self.writers:
            forces = [r for r in writer.rows if r["kind"] == Kind.FORCE and r["outcome"] == Outcome.OK]
            limit = max((row["entry"] for row in forces), default=-1)
            acked = [r for r in writer.rows if r["kind"] == Kind.ADD and r["outcome"] == Outcome.OK]
            kept = [row["entry"] for row in acked if not writer.late or row["entry"] <= limit]
            promised.update((writer.ledger, entry) for entry in kept)
        return promised

    def history(self) -> list[Fact]:
        """The record of the run, as rows of the tables."""
        clients = [*self.writers, *self.readers, self.observer]
        operations: list[Fact] = [("operations", row) for client in clients for row in client.rows]
        ledgers = [
            ("ledgers", self._row(ledger, version))
            for ledger, versions in self.cluster.versions.items()
            for version in self._seen(versions)
        ]
        return operations + ledgers + [("census", row) for row in self.census]

    def _seen(self, versions: list[Metadata]) -> list[Metadata]:
        """All versions, or what a watch that coalesces would have seen of them."""
        if not self.settings.coalesced:
            return versions
        return [v for v in versions[:-1] if self.random.random() < 0.7] + versions[-1:]

    def _row(self, ledger: int, version: Metadata) -> dict[str, Any]:
        named = self.random.random() < 0.8
        return {
            "ledger": ledger,
            "version": version.version,
            "state": version.state,
            "last_entry": version.last if version.state == CLOSED else -2,
            "length_bytes": 0,
            "ensemble": version.shape[0],
            "write_quorum": version.shape[1],
            "ack_quorum": version.shape[2],
            "fragments": [
                {"first_entry": first, "bookies": [f"b{bookie}:3181" for bookie in bookies]}
                for first, bookies in version.fragments
            ],
            "zxid": version.at_ns,
            "earliest_ns": version.at_ns,
            "latest_ns": version.at_ns if named and version.state != DELETED else NEVER,
        }


def simulated(seed: int, **settings: Any) -> Simulation:
    """One run to its end."""
    return Simulation(replace(Settings(seed), **settings)).run()


def facts_of_run() -> RunFacts:
    """What the simulator's runs are judged with."""
    clients = {"w1": 101, "w2": 102, "r1": 120, "r2": 121, "observer": OBSERVER}
    return run_facts(scenario="simulated", clients=clients)
