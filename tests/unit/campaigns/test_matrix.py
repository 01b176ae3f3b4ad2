"""The cells of a matrix: their plans, what the documents say of them, and how the table shows both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.campaigns.listing import units_of
from harness.campaigns.matrix import Heat, Measured, heat_map, measured, table
from harness.experiments.store import begin
from harness.vocabulary import words
from plans.campaign import load_campaign
from plans.load import load
from plans.matrix import ENTRIES, MODES, Cell, Matrix, cells, kept, plan_of
from plans.reading.writing import plan_text
from protocol.quorums import Quorums

SHAPES = st.integers(1, 6).flatmap(lambda wide: st.tuples(st.just(wide), st.integers(1, wide)))


@given(SHAPES, st.integers(1, 6))
def test_what_the_documents_say_follows_from_who_would_answer_what(shape: tuple[int, int], lost: int) -> None:
    """Counts the possible answers: entry found, entry denied, unknown."""
    write, ack = shape
    quorums = Quorums(write, write, ack)
    cell = Cell(quorums, min(lost, ack), "process")
    have, never = ack - cell.lost, write - ack
    assert kept(cell, "journal") == "all"
    closable = never + have >= quorums.coverage  # those who know, of the entry after the last one
    assert kept(cell, "protected") == ("all" if have and closable else "refused")
    denied = never + cell.lost >= quorums.coverage
    assert denied
    assert kept(cell, "unprotected") == ("perhaps" if have else "none")
    empty = replace(cell, loss="disks")  # no bookie knows, so none answers "unknown"
    assert {kept(empty, mode) for mode in MODES} == {kept(cell, "unprotected")}


SHAPED = ("2/2/1", "3/3/2", "4/4/3", "4/3/2", "5/3/2")
SMALL = list(cells(Matrix(quorums=SHAPED, lost=(1, 2, 3), loss=("process", "disks"))))


@pytest.mark.parametrize("cell", SMALL, ids=lambda one: one.name)
def test_every_plan_loads_and_loses_what_its_cell_says(cell: Cell, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(plan_text(plan_of(cell)))
    plan = load(file, words())
    names = [step.name for step in plan.steps]
    assert names.count("kill") == cell.lost
    assert names.count("wipe") == (cell.lost if cell.loss == "disks" else 0)
    assert plan.cluster.bookies == cell.quorums.ensemble


@pytest.mark.parametrize("cell", SMALL, ids=lambda one: one.name)
def test_the_last_entry_has_just_the_copies_that_the_cell_says(cell: Cell) -> None:
    """And each entry before it a copy that is not lost, if the ledger is striped."""
    steps = [next(iter(step.items())) for step in plan_of(cell)["steps"]]
    (order,) = [row["bookies"] for name, row in steps if name == "create" and row["ledger"] == "main"]
    cut = {row["to"] for name, row in steps if name == "cut"}
    lost = {row["target"] for name, row in steps if name == "kill"}
    write_sets = [{order[place] for place in cell.quorums.write_set(entry)} for entry in range(ENTRIES)]
    assert all(len(one - cut) >= cell.quorums.ack for one in write_sets)
    assert len(write_sets[-1] - cut) == cell.quorums.ack
    assert lost <= write_sets[-1]
    kept_before = write_sets[-2] - cut - lost
    assert bool(kept_before) == (cell.quorums.ensemble > cell.quorums.write or cell.lost < cell.quorums.ack)


def test_no_cell_loses_more_bookies_than_there_are() -> None:
    assert {cell.lost for cell in cells(Matrix(quorums=("2/2/1",), lost=(1, 2, 3, 4)))} == {1, 2}


def test_a_table_says_what_differs_and_what_is_not_proven() -> None:
    cell = Cell(Quorums(3, 3, 2), 1, "process")
    row = [
        Measured(cell, "unprotected", Heat.CUT, "50 cut off", proven=True),
        Measured(cell, "protected", Heat.CUT, "50 cut off", proven=False),
        Measured(cell, "journal", Heat.ALL, "all kept", proven=False),
    ]
    line = next(line for line in table(row) if line.startswith("| 3/3/2"))
    message = "50 cut off [kept or cut off] | 50 cut off (!) [all kept] | all kept (?) [all kept]"
    assert line == f"| 3/3/2 | 1 | process | {message} |"
    assert heat_map(row).count('class="cut otherwise"') == 1


def test_what_was_not_carried_out_is_said(tmp_path: Path) -> None:
    campaign = load_campaign("matrix")
    assert campaign.matrix is not None
    store = begin(tmp_path, "matrix", units_of(campaign, plans=tmp_path / "plans"))
    found = measured(campaign.matrix, store)
    assert len(found) == len(store.state.units)
    assert {one.heat for one in found} == {Heat.NOTHING}
    assert [one.mode for one in found[: len(MODES)]] == list(MODES)
