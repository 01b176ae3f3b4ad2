"""Collection: the raw evidence of a run to its tables.

One Spark task for some neighbouring raw segments decodes them and leaves its rows by bucket
(:mod:`pipeline.decoding`); then a task for some buckets merges what was left (:mod:`pipeline.blocks`). Can
be repeated from the folder alone, and gives the same files. Judges nothing.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path

import pyarrow as pa

from checkers.facts.boots import boots_of
from checkers.judging.contract import RunFacts
from evidence.collect.clock import WallClock
from evidence.collect.crosscheck import (
    boots_incomplete,
    copies_missing,
    ends_unexplained,
    faults_missing,
    histories_cut,
    histories_missing,
    steps_missing,
)
from evidence.collect.faults import collect_faults
from evidence.collect.frames import BootTimes, WireNames
from evidence.collect.histories import SegmentFile, damage_to_histories, segment_files
from evidence.collect.holdings import lacking
from evidence.collect.ledgers import collect_chains, collect_ledgers
from evidence.collect.logs import log_events
from evidence.collect.result import Collected
from evidence.collect.sealing import damage_to_seal
from evidence.collect.servers import collect_servers
from evidence.collect.wirelogs import LINKS, damage_to_log, is_logged, link_ends, wire_files
from evidence.collection import Collection, write_collection
from evidence.folder import RunFolder
from evidence.raw.disk_layout import copies
from evidence.raw.history import Segment
from evidence.recorders import Lines, read_lines
from evidence.schemas import OPERATIONS, FaultRow, ServerRow
from evidence.shapes import EndTree, EventLine, RunTree
from pipeline.blocks import PARTS, TASKS_OF_CORE, Bucket, merge_all, shared_out
from pipeline.decoding import Target, collect_copy, collect_frames, collect_segments, neighbours
from pipeline.session import Session
from pipeline.tables import replacing, write_table
from protocol.errors import EvidenceError

_LOG_NAME = re.compile(r"boot-(\d+)\.log")
ROWS_IN_BUCKET = 1_000_000
MOST_BUCKETS = 128
"""More buckets are more and smaller files, and each task of judging costs some milliseconds."""
MOST_TOGETHER, FEWEST_TASKS = 16, 8
"""Segments in one task (a million operations), and tasks that a larger run has at least."""
Transactions = Callable[[RunFolder], None]
"""Reads ZooKeeper's files of a run offline and writes ``raw/ledgers/transactions.jsonl``."""


def collect(session: Session, folder: RunFolder, *, transactions: Transactions | None = None) -> Collection:
    """Build the tables of one mode's folder again and say what they hold.

    ``transactions`` is called when a run that was not closed (its harness was killed) did not leave
    ZooKeeper's transactions behind. Damaged evidence is no error, it is named in the result. Raises
    ``EvidenceError`` when the folder cannot be read or written, ``JudgementError`` when Spark
    or a task fails; the former tables stay then.
    """
    run, end = folder.run(), folder.end()
    if transactions is not None and not (folder.transactions.exists() or folder.end_json.exists()):
        transactions(folder)
    seal = damage_to_seal(folder, end)
    if folder.run_json in seal:
        raise EvidenceError(
            f"{folder.run_json} is not the one with which the evidence was closed",
            remedy=f"put that one back; its SHA-256 is in {folder.end_json}",
        )
    raw = _Raw(session, folder, run, end, seal)
    size = sum(file.slots for file in raw.histories) + sum(file.records for file in raw.wires)
    buckets = min(MOST_BUCKETS, max(1, -(-size // ROWS_IN_BUCKET)))
    with replacing(folder) as tables:
        target = Target(int(run["run_id"]), tables, buckets)
        done, rows = raw.collect_histories(target)
        disks, rows["holdings"] = raw.collect_disks(target)
        servers = raw.servers(disks)
        wire_damage, rows["frames"] = raw.collect_wires(target, servers.table)
        shares = shared_out(dict.fromkeys(range(buckets), 1), session.cores * TASKS_OF_CORE)
        merging = [[Bucket(tables, number) for number in share] for share in shares]
        with ThreadPoolExecutor(1) as meanwhile:  # this process has nothing else to do than wait for Spark
            others = meanwhile.submit(raw.small_tables, done.values())
            session.map(f"merging the tables of {folder.mode}", merge_all, merging)
        small = {"servers": servers, **others.result()}
        damage = [*wire_damage, *damage_to_histories(done, end, run["clients"]), *seal.values()]
        damage += raw.contradictions(servers.table.to_pylist(), small["faults"].table.to_pylist(), done)
        for name, found in small.items():
            rows[name] = write_table(tables, name, found.table)
            damage += found.damage
        shutil.rmtree(tables / PARTS, ignore_errors=True)
        collection = Collection(buckets, dict(sorted(rows.items())), tuple(sorted(set(damage))))
        write_collection(tables, collection)
    return collection


def together(segments: int, *, most: int = MOST_TOGETHER) -> int:
    """How many raw segments a task takes: few files for each bucket, and work for several cores."""
    return max(1, min(most, segments // FEWEST_TASKS))


class _Raw:
    """The raw evidence of one run, with the trees of ``run.json`` and ``end.json``.

    ``spoiled`` says what is wrong with the files that are not what they were when the evidence was closed.
    """

    def __init__(
        self,
        session: Session,
        folder: RunFolder,
        run: RunTree,
        end: EndTree | None,
        spoiled: Mapping[Path, str],
    ) -> None:
        self.session, self.folder, self.run, self.end, self.spoiled = session, folder, run, end, spoiled
        self.histories, self.wires = segment_files(folder.operations), wire_files(folder.frames)
        logs = ((log, _LOG_NAME.fullmatch(log.name)) for log in folder.boot_logs())
        self.logs = [(log.parent.name, int(boot[1]), log) for log, boot in logs if boot]
        self.clock = WallClock.of(run["clock"], end["clock"] if end else None)
        self.transactions = self._transactions()

    def _transactions(self) -> Lines:
        """ZooKeeper's transactions; none of a file that was changed, for no line of it proves itself."""
        path = self.folder.transactions
        if path in self.spoiled:
            return Lines(())
        if not path.exists():
            return Lines((), (f"{path.name} is missing: ZooKeeper's transactions were not read",))
        return read_lines(path)

    def collect_histories(self, target: Target) -> tuple[dict[SegmentFile, Segment], Counter[str]]:
        """What became of each history file, and how many rows each table got."""
        task = partial(collect_segments, target, self.run["clients"])
        groups = neighbours(self.histories, together(len(self.histories)), lambda file: file.client)
        parts = self.session.map(f"collecting {self.folder.mode}", task, groups)
        rows = Counter(operations=0, census=0, frames=0)
        for _, written in parts:
            rows.update(written)
        done = chain.from_iterable(done for done, _ in parts)
        return dict(zip(self.histories, done, strict=True)), rows

    def collect_disks(self, target: Target) -> tuple[list[EventLine], int]:
        """One event for each copy of a disk, and rows written; neither where no bookie died uncleanly."""
        bookies = self.run["bookies"]
        found = [copy for copy in copies(self.folder.holdings) if copy[0] in bookies]
        task = partial(collect_copy, target, bookies, self.spoiled)
        done = self.session.map(f"reading disks of {self.folder.mode}", task, found)
        return [event for event, _ in done], sum(rows for _, rows in done)

    def collect_wires(self, target: Target, servers: pa.Table) -> tuple[list[str], int]:
        """Sentences on damage to the wire log, and rows written; a run without a log has neither."""
        folder, bookies = self.folder.frames, self.run["bookies"]
        if not is_logged(folder, self.end):
            return [], 0
        sources = {**self.run["clients"], **bookies, **self.run.get("others", {})}
        ends, damage = link_ends(read_lines(folder / LINKS), sources, bookies)
        unstamped = frozenset(file.path for file in self.wires if file.path in self.spoiled)
        task = partial(collect_frames, target, WireNames(ends, _boot_times(self.run, servers)), unstamped)
        most = together(len(self.wires), most=MOST_TOGETHER // 2)
        groups = neighbours(self.wires, most, lambda file: file.path in unstamped)
        done = self.session.map(f"collecting frames of {self.folder.mode}", task, groups)
        counts = dict(zip(self.wires, chain.from_iterable(found for found, _ in done), strict=True))
        return damage + damage_to_log(counts, self.end), sum(rows for _, rows in done)

    def servers(self, disks: Sequence[EventLine]) -> Collected:
        """The events of servers: as recorded, of copied disks, and from the logs of all boots."""
        logged = [event for server, boot, log in self.logs for event in log_events(server, boot, log)]
        events = read_lines(self.folder.events)
        lines, changes = [*events.records, *disks], self.transactions.records
        return collect_servers(lines, self.clock, logged, events.damage, transactions=changes)

    def small_tables(self, done: Iterable[Segment]) -> dict[str, Collected]:
        """The tables that are kept whole, but ``servers``."""
        faults, changes = read_lines(self.folder.faults), self.transactions
        watched = pa.concat_tables([OPERATIONS.empty_table(), *(part.table("watched") for part in done)])
        return {
            "faults": collect_faults(faults.records, faults.damage),
            "ledgers": collect_ledgers(changes.records, self.clock, watched, changes.damage),
            "chains": collect_chains(changes.records, self.clock),
        }

    def contradictions(
        self,
        servers: Sequence[ServerRow],
        faults: Sequence[FaultRow],
        done: Mapping[SegmentFile, Segment],
    ) -> list[str]:
        """Where parts of the record disagree. A run that left steps out lacks their faults rightly."""
        damage = list(histories_cut(done, servers))
        damage += histories_missing(done, servers, self.run["clients"])
        steps = read_lines(self.folder.steps)
        damage += [f"record: {what}" for what in steps.damage]
        if self.end:
            logged = {(server, boot) for server, boot, _ in self.logs}
            damage += boots_incomplete(servers, self.run["bookies"], logged)
            damage += ends_unexplained(servers, faults, steps.records)
            copied = {(server, boot): lacking(path) for server, boot, path in copies(self.folder.holdings)}
            damage += copies_missing(servers, faults, self.run["bookies"], copied)
        if self.end and not self.end.get("left_out"):
            damage += faults_missing(self.run["plan"], faults)
            damage += steps_missing(self.run["plan"], steps.records)
        return damage


def _boot_times(run: RunTree, servers: pa.Table) -> dict[int, BootTimes]:
    """Bookie number -> its boots, from the collected events of servers."""
    facts = RunFacts(
        scenario=run["scenario"],
        mode=run["mode"],
        run_id=int(run["run_id"]),
        bookies=run["bookies"],
        clients=run["clients"],
        servers=tuple(servers.to_pylist()),
    )
    return {
        bookie: BootTimes(tuple((boot.number, boot.started_ns, boot.ended_ns) for boot in boots))
        for bookie, boots in boots_of(facts).items()
    }
