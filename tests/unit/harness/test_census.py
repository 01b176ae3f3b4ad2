"""What is asked of every bookie at the end of a run, and what its answers are called."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.commands import CensusCounts
from evidence.codes import Kind
from evidence.folder import RunFolder
from evidence.raw.history import SLOTS
from harness.recording.finals import take_census
from protocol.errors import ClientError
from tests.unit.evidence.history_slots import RUN_ID, add, census, history

BOOKIES = ["b1", "b2"]
CLOSED_AT = {5: 3, 6: 9, 7: -1, 8: None}
"""The last entries of the ledgers in the metadata store; the metadata of ledger 9 is gone."""


class Observer:
    """Counts like this, and keeps what it was asked."""

    def __init__(self, counts: CensusCounts) -> None:
        self.counts = counts
        self.asked: list[tuple[int, list[Any]]] = []

    def census(self, number: int, spans: list[Any], outstanding: int) -> CensusCounts:
        self.asked.append((number, spans))
        return self.counts


def context(tmp_path: Path, observer: Observer) -> Any:
    """One client tried adds to the ledgers 5 and 9, and was given an entry of ledger 8."""
    folder = RunFolder.create(tmp_path, "journal")
    folder.write_run({"run_id": str(RUN_ID)})
    given = ({"kind": Kind.ENTRY, "ledger": 8, "entry": 1}, {"entry": 1, "outcome": 1})
    read = ({"kind": Kind.READ, "ledger": 5, "entry": 30, "last": 40}, {"entry": 0, "outcome": 1})
    slots = (add(7, result={}), add(2), add(4, ledger=9), given, read, census(20, 1))
    for name, some in (("reader-001-000001", slots[1:2]), ("writer-002-000001", slots)):
        (folder.operations / f"{name}.hist").write_bytes(history(*some))
    ledgers = {ledger: (SimpleNamespace(last_entry=last), 0) for ledger, last in CLOSED_AT.items()}
    metadata = SimpleNamespace(ledgers=lambda: [*ledgers, 9], ledger=ledgers.get)
    cluster = SimpleNamespace(bookies=dict.fromkeys(reversed(BOOKIES)), metadata=metadata, observer=None)
    notes: list[str] = []
    return SimpleNamespace(
        folder=folder,
        cluster=cluster,
        censuses=0,
        not_asked=0,
        attempts={},
        commands=lambda *_: observer,
        notes=notes,
        note=notes.append,
    )


def test_every_entry_that_may_exist_is_asked_of_every_bookie(tmp_path: Path) -> None:
    observer = Observer(CensusCounts(ok=True, codes={0: 1200, -13: 3, -7: 2, -108: 1, -23: 4}, damaged=5))
    on = context(tmp_path, observer)
    assert take_census(on) == (
        "census 1 of 4 ledgers: 1 unknown (limbo), 4 error -23, 3 no such entry, "
        "2 no such ledger, 1,200 present, 5 damaged"
    )
    take_census(on, only=6)
    assert [
        (number, [(one["ledger"], one["last"]) for one in spans]) for number, spans in observer.asked
    ] == [(1, [(5, 7), (6, 9), (8, 1), (9, 4)]), (2, [(6, 9)])]
    assert all((one["first"], one["bookies"]) == (0, BOOKIES) for _, spans in observer.asked for one in spans)


def test_a_full_file_is_read_for_one_census_only(tmp_path: Path) -> None:
    observer = Observer(CensusCounts(ok=True))
    on = context(tmp_path, observer)
    full = on.folder.operations / "writer-001-000001.hist"
    full.write_bytes(history(*[add(entry) for entry in range(SLOTS)]))
    take_census(on)
    assert on.attempts == {full: {5: SLOTS - 1}}
    full.write_bytes(history(add(0)))
    take_census(on)
    assert [spans[0]["last"] for _, spans in observer.asked] == [SLOTS - 1, SLOTS - 1]


def test_the_questions_that_were_not_asked_are_counted(tmp_path: Path) -> None:
    on = context(tmp_path, Observer(CensusCounts(ok=True, codes={-23: 500}, skipped=700)))
    assert take_census(on).endswith("500 error -23, 700 skipped")
    take_census(on)
    assert on.not_asked == 1400


def test_a_ledger_with_too_large_ids_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CLOSED_AT, 6, 2**60)
    observer = Observer(CensusCounts(ok=True))
    on = context(tmp_path, observer)
    take_census(on)
    assert [one["ledger"] for one in observer.asked[0][1]] == [5, 8, 9]
    assert on.notes == [
        "no census of ledger 6: its ids go up to 1,152,921,504,606,846,976, beyond 50,000,000"
    ]


def test_a_census_that_was_refused_is_an_error(tmp_path: Path) -> None:
    refused = Observer(CensusCounts(ok=False, error="LedgerFenced", code=-101, message="why"))
    with pytest.raises(ClientError, match=r"the observer could not do 'census': LedgerFenced \(-101\) why"):
        take_census(context(tmp_path, refused))
