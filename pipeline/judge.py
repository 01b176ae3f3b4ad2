"""Judging: the tables of a run to its verdict, in two rounds of Spark tasks, one for each bucket.

The first round works out the facts of ledgers, the second checks the blocks; the driver concludes. What a
property means is the checkers' part. The same tables give the same verdict, byte for byte.
"""

from __future__ import annotations

import pickle
from functools import partial

from checkers.contract import Batch
from checkers.judge import check_all, combined_facts, conclude_all, facts_of, join_all
from evidence.collected import Collection, read_collection
from evidence.findings import RunVerdict
from evidence.folder import RunFolder, write_json
from evidence.schemas import BLOCKED
from pipeline.blocks import Bucket, largest_block, rows_of
from pipeline.buckets import BucketTask, check_bucket, facts_of_bucket
from pipeline.facts import run_facts
from pipeline.memory import batch_rows
from pipeline.session import Session
from pipeline.tables import read_table
from protocol.errors import EvidenceError


def judge(session: Session, folder: RunFolder) -> RunVerdict:
    """Judge the collected tables of one mode's folder and write ``verdict.json``.

    Raises ``EvidenceError`` when there are no tables or some of their files are missing,
    ``JudgementError`` when Spark or a task fails, or when a block is too large for this machine. A checker
    that fails is no error: its property is ``unknown``.
    """
    collection = read_collection(folder)
    tasks = _tasks(session, folder, collection)
    run = run_facts(folder, collection)
    metadata = Batch({"ledgers": read_table(folder.tables, "ledgers")})
    parts = session.map(f"judging ledgers of {folder.mode}", facts_of_bucket, tasks)
    facts = combined_facts([facts_of(metadata), *parts])
    check = partial(check_bucket, pickle.dumps((run, facts)))
    checked = session.map(f"judging {folder.mode}", check, tasks)
    in_order = dict(sorted(zip((task.bucket.number for task in tasks), checked, strict=True)))
    found = join_all([check_all(metadata, run, facts), *in_order.values()])
    verdict = conclude_all(found, run, facts)
    write_json(folder.verdict_json, verdict.as_json())
    return verdict


def _tasks(session: Session, folder: RunFolder, collection: Collection) -> list[BucketTask]:
    """One for each bucket, the largest first, so that no worker is left alone with it at the end."""
    sizes = _sizes(folder, collection)
    largest = largest_block(folder.tables, collection.buckets)
    rows = batch_rows(session.cores, collection.rows.get("ledgers", 0), collection.buckets, largest)
    largest_first = sorted(sizes, key=lambda bucket: (-sizes[bucket], bucket))
    return [BucketTask(Bucket(folder.tables, number), rows) for number in largest_first]


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
