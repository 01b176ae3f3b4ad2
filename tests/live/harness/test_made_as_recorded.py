"""Runs made for measuring hold what real recorders write: a real run of the same shape, row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.raw.folder import make
from bench.raw.shape import Shape
from evidence.codes import Kind
from evidence.folder import RunFolder
from pipeline.collect import collect
from pipeline.judge import judge
from pipeline.tables import read_table
from tests.inline import INLINE
from tests.live.running import Start

pytestmark = pytest.mark.usefixtures("without_spark")
ENTRIES = 250
PLAN = f"""\
name: try/as-recorded
source: {{document: BP-31, section: Durability}}
about: One ledger, written and closed.
clients: [writer]
modes: [protected]
required: []
control: {{nothing: a test}}
steps:
  - create: {{client: writer, ledger: main}}
  - append: {{client: writer, ledger: main, entries: {ENTRIES}}}
  - close: {{client: writer, ledger: main}}
expect:
  protected: [holds]
  unprotected:
    - defect: {{property: durability, kind: lost, reference: BP-46, rate: sometimes}}
"""
_OF_ITS_OWN = {"invoked_ns", "completed_ns", "asked_ns", "answered_ns", "digest", "seq", "lac_before", "last"}
_ALIKE = ("source", "ledger", "entry", "way", "protocol", "kind", "flags", "status", "delivered")


def operations(folder: RunFolder) -> Iterator[tuple[Any, ...]]:
    """Rows without times and numbers; of an entry how far behind its read it stands."""
    for row in read_table(folder.tables, "operations").to_pylist():
        last = row["last"] - row["seq"] if row["kind"] == Kind.ENTRY else row["last"]
        # How many adds were confirmed when the next was sent is a matter of time.
        before = None if row["kind"] == Kind.ADD else row["lac_before"]
        yield (*(value for name, value in row.items() if name not in _OF_ITS_OWN), last, before)


def census(folder: RunFolder) -> Iterator[tuple[Any, ...]]:
    for row in read_table(folder.tables, "census").to_pylist():
        yield tuple(value for name, value in row.items() if name not in _OF_ITS_OWN)


def frames(folder: RunFolder, source: int) -> Counter[tuple[Any, ...]]:
    """Frames of one client; who was asked in a read is a matter of the ensemble."""
    rows = read_table(folder.tables, "frames").to_pylist()
    return Counter(tuple(row[name] for name in _ALIKE) for row in rows if row["source"] == source)


def test_a_made_run_is_what_the_recorders_write(fencepost: Start, tmp_path: Path) -> None:
    run = fencepost("run", PLAN)
    run.ends(0)
    real = RunFolder.open(run.folder)
    made = make(tmp_path / "made", Shape(1, ENTRIES, census=True, frames=True, with_anomalies=False))
    collect(INLINE, made)
    assert Counter(operations(made)) == Counter(operations(real))
    assert Counter(census(made)) == Counter(census(real))
    assert frames(made, 101) == frames(real, 101)
    # The observer asks a second bookie where the first is slow, so how often is a matter of time.
    assert set(frames(made, 250)) == set(frames(real, 250))
    verdicts = [
        {name: one.verdict for name, one in judge(INLINE, folder).judgements.items()}
        for folder in (made, real)
    ]
    assert verdicts[0] == verdicts[1]
