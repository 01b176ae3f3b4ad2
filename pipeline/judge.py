"""Judging: the tables of a run to its verdict, in Spark tasks that take some buckets each.

Collection has left the facts of ledgers. Tasks check the blocks, the driver concludes. What a property means
is the checkers' part. The same tables give the same verdict, byte for byte.
"""

from __future__ import annotations

import pickle
from functools import partial

from checkers.contract import Batch
from checkers.judge import check_all, combined_facts, conclude_all, facts_of, join_all
from evidence.collected import Collection, code_stamp, read_collection
from evidence.findings import RunVerdict
from evidence.folder import RunFolder, write_json
from evidence.schemas import BLOCKED
from pipeline.blocks import TASKS_OF_CORE, Bucket, largest_block, rows_of, shared_out
from pipeline.buckets import BucketTask, check_buckets
from pipeline.facts import run_facts
from pipeline.memory import batch_rows
from pipeline.session import Session
from pipeline.tables import read_facts, read_table
from protocol.errors import EvidenceError


def judge(session: Session, folder: RunFolder) -> RunVerdict:
    """Judge the collected tables of one mode's folder and write ``verdict.json``.

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
    tasks = _tasks(session, folder, collection)
    run = run_facts(folder, collection)
    metadata = Batch({"ledgers": read_table(folder.tables, "ledgers")})
    facts = combined_facts([facts_of(metadata), *read_facts(folder.tables)])
    check = partial(check_buckets, pickle.dumps((run, facts)))
    checked = {
        number: found
        for part in session.map(f"judging {folder.mode}", check, tasks)
        for number, found in part.items()
    }
    found = join_all([check_all(metadata, run, facts), *(checked[number] for number in sorted(checked))])
    verdict = conclude_all(found, run, facts)
    write_json(folder.verdict_json, verdict.as_json())
    return verdict


def _tasks(session: Session, folder: RunFolder, collection: Collection) -> list[BucketTask]:
    """A few for each core, of buckets with about as many rows together."""
    sizes = _sizes(folder, collection)
    largest = largest_block(folder.tables, collection.buckets)
    rows = batch_rows(session.cores, collection.rows.get("ledgers", 0), collection.buckets, largest)
    return [
        BucketTask(tuple(Bucket(folder.tables, number) for number in numbers), rows)
        for numbers in shared_out(sizes, session.cores * TASKS_OF_CORE)
    ]


def _sizes(folder: RunFolder, collection: Collection) -> dict[int, int]:
    """Rows of each bucket; a table that has other rows than were collected is an error."""
    sizes = dict.fromkeys(range(collection.buckets), 0)
    for name in BLOCKED:
        found = {number: rows_of(Bucket(folder.tables, number), name) for number in sizes}
        if sum(found.values()) != collection.rows.get(name):
            raise EvidenceError(
                f"table {name} of {folder.path} has {sum(found.values())} rows, "
                f"{collection.rows.get(name)} were collected",
                remedy="collect again; the raw evidence is kept",
            )
        for number, rows in found.items():
            sizes[number] += rows
    return sizes
