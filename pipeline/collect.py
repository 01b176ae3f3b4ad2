"""Collection: the raw evidence of a run to its tables.

One Spark task for some neighbouring raw segments decodes them and leaves its rows by bucket; then one task
for each bucket merges what was left (:mod:`pipeline.blocks`). Can be repeated from the folder alone, and
gives the same files. Judges nothing.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from evidence.collect.chains import collect_chains
from evidence.collect.clock import WallClock
from evidence.collect.collected import Collected
from evidence.collect.crosscheck import ends_unexplained, faults_missing, histories_cut
from evidence.collect.faults import collect_faults
from evidence.collect.histories import SegmentFile, missing_histories, segment_files, tables_of
from evidence.collect.ledgers import collect_ledgers
from evidence.collect.logs import LogEvent, log_events
from evidence.collect.sealing import damage_to_seal
from evidence.collect.servers import collect_servers
from evidence.collect.wirelogs import wire_files
from evidence.collected import Collection, write_collection
from evidence.folder import RunFolder
from evidence.recorders import Lines, read_lines
from evidence.schemas import OPERATIONS
from pipeline.blocks import PARTS, TASKS_OF_CORE, Bucket, merge_all, shared_out
from pipeline.holdings import collect_holdings
from pipeline.segments import SegmentDone, SegmentTask, collect_segments, neighbours
from pipeline.session import Session
from pipeline.tables import replacing, write_table
from pipeline.wires import WireLog, lives
from protocol.errors import EvidenceError

_LOG_NAME = re.compile(r"boot-(\d+)\.log")
ROWS_IN_BUCKET = 1_000_000
MOST_BUCKETS = 32
"""More buckets are more and smaller files, and each task of judging costs some milliseconds."""
MOST_TOGETHER, FEWEST_TASKS = 16, 8
"""Segments in one task (a million operations), and tasks that a larger run has at least."""
Transactions = Callable[[RunFolder], None]
"""Reads ZooKeeper's files of a run offline and writes ``raw/ledgers/transactions.jsonl``."""


def collect(session: Session, folder: RunFolder, *, transactions: Transactions | None = None) -> Collection:
    """Build the tables of one mode's folder again and say what they hold.

    ``transactions`` is called when the run did not leave ZooKeeper's transactions behind (its
    harness was killed). Damaged evidence is no error, it is named in the result. Raises
    ``EvidenceError`` when the folder cannot be read or written, ``JudgementError`` when Spark
    or a task fails; the former tables stay then.
    """
    run, end = folder.run(), folder.end()
    if transactions is not None and not folder.transactions.exists():
        transactions(folder)
    seal = damage_to_seal(folder, end)
    if folder.run_json in seal:
        raise EvidenceError(
            f"{folder.run_json} is not the one with which the evidence was closed",
            remedy=f"put that one back; its SHA-256 is in {folder.end_json}",
        )
    files, wires = segment_files(folder.operations), wire_files(folder.frames)
    size = sum(file.slots for file in files) + sum(file.records for file in wires)
    buckets = min(MOST_BUCKETS, max(1, -(-size // ROWS_IN_BUCKET)))
    with replacing(folder) as tables:
        numbers, run_id = run["clients"], int(run["run_id"])
        tasks = [
            SegmentTask(group, run_id, numbers.get(group[0].client), tables, buckets)
            for group in neighbours(files, together(len(files)))
        ]
        rows = Counter(operations=0, census=0, frames=0)
        done: list[SegmentDone] = []
        for part in session.map(f"collecting {folder.mode}", collect_segments, tasks):
            rows.update(part.rows)
            done += part.files
        changes = _transactions(folder.transactions, seal)
        rows["holdings"], disks = collect_holdings(
            session, folder, run["bookies"], tables, buckets, spoiled=seal
        )
        servers = _servers(folder, run, end, changes, disks)
        log = WireLog(folder, run, end, tuple(wires), lives(run, servers.table))
        rows["frames"], damage = log.collect(
            session, tables, buckets, most=together(2 * len(wires)) // 2 or 1, spoiled=seal
        )
        damage += [*_damage_to_histories(dict(zip(files, done, strict=True)), run, end), *seal.values()]
        small = {"servers": servers, **_small_tables(folder, run, end, done, changes)}
        damage += _contradictions(folder, run, end, small, dict(zip(files, done, strict=True)))
        for name, found in small.items():
            rows[name] = write_table(tables, name, found.table)
            damage += found.damage
        session.map(
            f"merging the tables of {folder.mode}",
            merge_all,
            [
                [Bucket(tables, number) for number in numbers]
                for numbers in shared_out(dict.fromkeys(range(buckets), 1), session.cores * TASKS_OF_CORE)
            ],
        )
        shutil.rmtree(tables / PARTS, ignore_errors=True)
        collection = Collection(buckets, dict(sorted(rows.items())), tuple(sorted(set(damage))))
        write_collection(tables, collection)
    return collection


def together(segments: int) -> int:
    """How many raw segments a task takes: few files for each bucket, and work for several cores."""
    return max(1, min(MOST_TOGETHER, segments // FEWEST_TASKS))


def _damage_to_histories(
    done: Mapping[SegmentFile, SegmentDone], run: Mapping[str, Any], end: Mapping[str, Any] | None
) -> list[str]:
    damage = missing_histories(
        {file: part.slots for file, part in done.items()}, end["histories"] if end else None, run["clients"]
    )
    for file, part in done.items():
        damage += [f"{tables_of(file.client)}: {file.path.name}: {what}" for what in part.damage]
    return damage


def _contradictions(
    folder: RunFolder,
    run: Mapping[str, Any],
    end: Mapping[str, Any] | None,
    tables: Mapping[str, Collected],
    done: Mapping[SegmentFile, SegmentDone],
) -> list[str]:
    """Where parts of the record disagree. A run that left steps out lacks their faults rightly."""
    servers, faults = tables["servers"].table.to_pylist(), tables["faults"].table.to_pylist()
    damage = list(histories_cut({file: (part.slots, part.torn) for file, part in done.items()}, servers))
    if end:
        damage += ends_unexplained(servers, faults, read_lines(folder.steps).records)
    if end and not end.get("left_out"):
        damage += faults_missing(run["plan"], faults)
    return damage


def _small_tables(
    folder: RunFolder,
    run: Mapping[str, Any],
    end: Mapping[str, Any] | None,
    done: Sequence[SegmentDone],
    changes: Lines,
) -> dict[str, Collected]:
    faults = read_lines(folder.faults)
    watched = pa.concat_tables([OPERATIONS.empty_table(), *(part.watched for part in done)])
    return {
        "faults": collect_faults(faults.records, faults.damage),
        "ledgers": collect_ledgers(changes.records, _clock(run, end), watched, changes.damage),
        "chains": collect_chains(changes.records, _clock(run, end)),
    }


def _servers(
    folder: RunFolder,
    run: Mapping[str, Any],
    end: Mapping[str, Any] | None,
    changes: Lines,
    disks: Sequence[Mapping[str, Any]],
) -> Collected:
    events = read_lines(folder.events)
    lines = [*events.records, *disks]
    return collect_servers(
        lines, _clock(run, end), _logs(folder), events.damage, transactions=changes.records
    )


def _clock(run: Mapping[str, Any], end: Mapping[str, Any] | None) -> WallClock:
    return WallClock.of(run["clock"], end["clock"] if end else None)


def _transactions(path: Path, spoiled: Container[Path]) -> Lines:
    """ZooKeeper's transactions. Nothing of a file that was changed is used: no line of it proves itself."""
    if path in spoiled:
        return Lines(())
    if not path.exists():
        return Lines((), (f"{path.name} is missing: ZooKeeper's transactions were not read",))
    return read_lines(path)


def _logs(folder: RunFolder) -> list[LogEvent]:
    """The events in the logs of all boots of all bookies and autorecovery processes."""
    events: list[LogEvent] = []
    for log in folder.boot_logs():
        boot = _LOG_NAME.fullmatch(log.name)
        if boot:
            events += log_events(log.parent.name, int(boot[1]), log)
    return events
