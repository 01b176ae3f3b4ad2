"""Judging: the tables of a run to its verdict, in Spark tasks that take some buckets each.

Collection has left the facts of ledgers. Tasks check the blocks, the driver concludes. What a property means
is the checkers' part. The same tables give the same verdict, byte for byte.

What judging needs of memory is reckoned before it begins: rows x bytes x cores, and the rest. The shares were
measured by ``scripts/bench judge``, which fails when a run takes more than is reckoned here.
"""

from __future__ import annotations

import pickle
import secrets
import shutil
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from checkers.judging.contract import Batch, LedgerFacts, RunFacts
from checkers.judging.found import CAP, uncapped
from checkers.judging.judge import AllFound, check_all, combined_facts, conclude_all, facts_of, join_all
from evidence.collection import Collection, code_stamp, read_collection
from evidence.findings import RunVerdict
from evidence.folder import RunFolder, write_json
from evidence.schemas import BLOCKED, TABLES
from pipeline.blocks import (
    BLOCKS,
    TASKS_OF_CORE,
    Block,
    Bucket,
    ColumnNames,
    batches,
    largest_blocks,
    rows_of,
    shared_out,
)
from pipeline.session import Session
from pipeline.tables import all_findings, facts_files, read_facts, read_table, rows_in, write_findings
from protocol.errors import EvidenceError, JudgementError

_UNASKED: ColumnNames = {"census": ("digest",), "frames": ("connection", "protocol", "txn")}
_UNASKED_WITHOUT_LOGS: ColumnNames = {**_UNASKED, "operations": ("digest",)}

MB = 1_000_000
JVM, DRIVER, WORKER = 450 * MB, 250 * MB, 150 * MB
"""Spark's JVM, this process, and a worker before it has rows."""
CORE = 1_500 * MB
"""Limit of the memory that judging plans to use, for each core: 3 GB on two cores."""
LEDGER = 2_000
"""Bytes that this process and each worker hold for each version of a ledger's metadata."""
SUMMARY = 4 * MB
"""Bytes of summaries that this process holds for each bucket."""
LOGGED = 1_250
"""Bytes of a row of a log: what this process judges it with, and what the worker that found it keeps."""
JUDGED = 650
"""Bytes of a row while it is judged: as read, as arrays, as parts, and what is kept of the batch before."""
COLLECTED = 420 * MB
"""Bytes that a worker takes while it merges a bucket of a million operations. It keeps them afterwards."""
MOST_ROWS, FEWEST_ROWS = 200_000, 25_000
"""Rows of a batch, where blocks are not larger: two of them, of which a task holds fewer, fit into the memory
that its worker kept from collecting. In small batches each rule's fixed cost is over half of the time."""
BLOCK_ROWS = 500_000
"""Rows that a block may well have, on every core at a time (0.3 GB). A block that has more, because one entry
was read a million times, is reckoned with all of its rows."""
_ANSWERS = ".answers"
"""The folder in the tables' folder for what tasks found; gone when judging has ended."""


def judge(session: Session, folder: RunFolder) -> RunVerdict:
    """Judge the collected tables of one mode's folder and write ``verdict.json``.

    Where that keeps only the first of its findings, ``findings.parquet`` has them all.

    Raises ``EvidenceError`` when there are no tables, when some of their files are missing or when other code
    made them, ``JudgementError`` when Spark or a task fails, or when a block is too large for this machine. A
    checker that fails is no error: its property is ``unknown``.
    """
    collection = read_collection(folder)
    if collection.code != code_stamp():
        raise EvidenceError(
            f"the tables of {folder.path} were made by other code",
            remedy=f"`fencepost check {folder.path}` makes them again",
        )
    sizes = _sizes(folder, collection)
    size = run_size(session.cores, folder, collection)
    rows = batch_rows(size, free_bytes=session.free_bytes(driver_bytes(size)))
    from pipeline.facts import run_facts  # reads plans with packages that a worker need not have

    run = run_facts(folder, collection)
    metadata = Batch({"ledgers": read_table(folder.tables, "ledgers")})
    facts = combined_facts([facts_of(metadata), *read_facts(folder.tables)])
    check = partial(check_buckets, pickle.dumps((run, facts)), rows)
    shares = shared_out(sizes, session.cores * TASKS_OF_CORE)
    tasks = [[Bucket(folder.tables, number) for number in share] for share in shares]
    checked: dict[int, AllFound] = {}
    answers = folder.tables / _ANSWERS
    answers.mkdir(exist_ok=True)
    try:
        with ThreadPoolExecutor(1) as meanwhile:  # this process has nothing else to do than wait for Spark
            here = meanwhile.submit(check_all, metadata, run, facts)
            parts = session.map(f"judging {folder.mode}", check, tasks)
        for part in parts:
            checked |= pickle.loads(part.read_bytes())  # noqa: S301  # our own worker's
    finally:
        shutil.rmtree(answers, ignore_errors=True)
    found = join_all([here.result(), *(checked[number] for number in sorted(checked))])
    verdict = conclude_all(found, run, facts)
    for former in (folder.verdict_json, folder.findings):
        former.unlink(missing_ok=True)
    if _is_cut(verdict):
        with uncapped():
            write_findings(folder.findings, conclude_all(found, run, facts))
    write_json(folder.verdict_json, verdict.as_json())  # last: a verdict without the file has all findings
    return verdict


def _is_cut(verdict: RunVerdict) -> bool:
    """Whether a list of findings is as long as it may be."""
    lengths = Counter((one.property, one.kind, one.loss, one.ledger) for one in all_findings(verdict))
    return max(lengths.values(), default=0) >= CAP


def _sizes(folder: RunFolder, collection: Collection) -> dict[int, int]:
    """Rows of each bucket; ``EvidenceError`` where tables, or the facts, are not as they were collected."""
    tables, buckets = folder.tables, range(collection.buckets)
    rows = {name: [rows_of(Bucket(tables, number), name) for number in buckets] for name in BLOCKED}
    small = {name: [rows_in(tables, name)] for name in collection.rows if name not in BLOCKED}
    files = {
        "facts": [len(facts_files(tables))],
        BLOCKS: [sum(Bucket(tables, number).file(BLOCKS).exists() for number in buckets)],
    }
    due = {**collection.rows, **dict.fromkeys(files, len(buckets))}
    for name, found in {**rows, **small, **files}.items():
        if sum(found) != due.get(name):
            unit = "files" if name in files else "rows"
            raise EvidenceError(
                f"table {name} of {folder.path} is not as it was collected: "
                f"it has {sum(found)} {unit}, {due.get(name)} were collected",
                remedy="collect again; the raw evidence is kept",
            )
    return {number: sum(of_buckets[number] for of_buckets in rows.values()) for number in buckets}


def check_buckets(known: bytes, rows: int, buckets: Sequence[Bucket]) -> Path:
    """Write what every checker finds in each bucket, read in batches of about ``rows`` rows; the file's path.

    Runs in a Spark worker; ``known`` are the run and the facts of ledgers, pickled. The log checker finds
    more rows than Spark's JVM could pass on.
    """
    run, facts = _unpacked(known)
    found = {
        bucket.number: join_all(check_all(batch, run, facts) for batch in batches(bucket, rows, asked(run)))
        for bucket in buckets
    }
    path = buckets[0].tables / _ANSWERS / secrets.token_hex(8)  # Spark may run a task twice at a time
    path.write_bytes(pickle.dumps(found))
    return path


@lru_cache(maxsize=1)
def _unpacked(known: bytes) -> tuple[RunFacts, LedgerFacts]:
    """Unpacked once for all tasks of a worker, so that what is memoized on them is kept."""
    unpacked: tuple[RunFacts, LedgerFacts] = pickle.loads(known)  # noqa: S301  # our own driver's
    return unpacked


def asked(run: RunFacts) -> ColumnNames:
    """The columns that checkers ask for. A checker that asks for another fails by its name."""
    left_out = _UNASKED if run.chains else _UNASKED_WITHOUT_LOGS
    return {
        table: [name for name in TABLES[table].names if name not in left_out.get(table, ())]
        for table in BLOCKED
    }


class RunSize(NamedTuple):
    """What the memory for judging a run depends on: cores, and numbers of what the run has.

    ``versions`` counts the versions of all metadata, ``logged`` the operations of a run with logs of ledgers;
    ``largest`` has the largest blocks, one for each core, the largest first.
    """

    cores: int
    versions: int
    buckets: int
    logged: int = 0
    largest: tuple[Block, ...] = ()


def run_size(cores: int, folder: RunFolder, collection: Collection) -> RunSize:
    """The size of a collected run."""
    rows, buckets = collection.rows, collection.buckets
    logged = rows["operations"] if rows.get("chains") else 0
    return RunSize(
        cores, rows.get("ledgers", 0), buckets, logged, largest_blocks(folder.tables, buckets, cores)
    )


def driver_bytes(size: RunSize) -> int:
    """What this process and the JVM take."""
    return JVM + DRIVER + LEDGER * size.versions + SUMMARY * size.buckets + LOGGED * size.logged


def needed_bytes(size: RunSize, rows: int, *, collected: bool = False) -> int:
    """What driver, JVM and workers take with batches of ``rows``.

    More if the same workers have ``collected`` the run. Each core may have one of the largest blocks at once.
    """
    largest = max((block.rows for block in size.largest), default=0)
    batch = 2 * max(rows, min(largest, BLOCK_ROWS)) * JUDGED
    worker = WORKER + LEDGER * size.versions + max(COLLECTED if collected else 0, batch)
    beyond = sum(2 * max(0, block.rows - BLOCK_ROWS) * JUDGED for block in size.largest)
    return driver_bytes(size) + size.cores * worker + beyond


def batch_rows(size: RunSize, *, free_bytes: int) -> int:
    """Rows of a batch with which judging fits into ``CORE`` bytes a core, and into what is free.

    A block is never cut, however small batches are: ``JudgementError`` names the largest block when the
    largest ones do not fit, and is raised too when not even small batches do.
    """
    least, without_blocks = needed_bytes(size, FEWEST_ROWS), size._replace(largest=())
    if least > free_bytes >= needed_bytes(without_blocks, FEWEST_ROWS):
        largest = size.largest[0]
        raise JudgementError(
            f"{largest.text} have {largest.rows:,} rows of evidence, which are judged together: that takes "
            f"{least / 1e9:.1f} GB on {size.cores} cores, {free_bytes / 1e9:.1f} GB are free",
            remedy="judge on fewer cores, with --master 'local[1]', or where more memory is free",
        )
    if least > free_bytes:
        raise JudgementError(
            f"judging on {size.cores} cores takes {least / 1e9:.1f} GB at least, "
            f"{free_bytes / 1e9:.1f} GB are free",
            remedy="judge on fewer cores, with --master 'local[1]'",
        )
    room = min(free_bytes, max(CORE * size.cores, least))
    spare = room - needed_bytes(without_blocks, 0)
    return max(FEWEST_ROWS, min(MOST_ROWS, spare // (2 * JUDGED * size.cores)))
