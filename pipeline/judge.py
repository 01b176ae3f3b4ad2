"""Judging: the tables of a run to its verdict, one Spark task for each bucket.

Each task scans its bucket and sends back summaries; the driver joins and concludes. Knows no
property: that is the checkers' affair. The same tables give the same verdict, byte for byte.
"""

from __future__ import annotations

from functools import partial, reduce

from checkers.judge import conclude_all, merge_all
from evidence.findings import RunVerdict
from evidence.folder import RunFolder, write_json
from evidence.schemas import BUCKETED
from pipeline.buckets import BucketTask, scan_bucket
from pipeline.facts import run_facts
from pipeline.memory import slice_rows
from pipeline.session import Session
from pipeline.tables import Collection, read_collection, rows_in
from protocol.errors import EvidenceError


def judge(session: Session, folder: RunFolder) -> RunVerdict:
    """Judge the collected tables of one mode's folder and write ``verdict.json``.

    Raises ``EvidenceError`` when there are no tables or some of their files are missing,
    ``JudgementError`` when Spark or a task fails. A checker that fails is no error: its property
    is ``unknown``.
    """
    collection = read_collection(folder)
    sizes = _sizes(folder, collection)
    facts = run_facts(folder, collection)
    rows = slice_rows(session.cores, collection.rows.get("ledgers", 0), collection.buckets)
    # The largest first, so that no worker is left alone with it at the end.
    largest_first = sorted(sizes, key=lambda bucket: (-sizes[bucket], bucket))
    tasks = [BucketTask(folder.tables, bucket, rows) for bucket in largest_first]
    scanned = session.map(f"judging {folder.mode}", partial(scan_bucket, facts), tasks)
    in_order = dict(sorted(zip((task.bucket for task in tasks), scanned, strict=True)))
    verdict = conclude_all(reduce(merge_all, in_order.values()), facts)
    write_json(folder.verdict_json, verdict.as_json())
    return verdict


def _sizes(folder: RunFolder, collection: Collection) -> dict[int, int]:
    """Rows of each bucket; a table that has other rows than were collected is an error."""
    sizes = dict.fromkeys(range(collection.buckets), 0)
    for name in BUCKETED:
        found = {bucket: rows_in(folder.tables, name, bucket) for bucket in sizes}
        if sum(found.values()) != collection.rows.get(name):
            raise EvidenceError(
                f"table {name} of {folder.path} has {sum(found.values())} rows, "
                f"{collection.rows.get(name)} were collected",
                remedy="collect again; the raw evidence is kept",
            )
        for bucket, rows in found.items():
            sizes[bucket] += rows
    return sizes
