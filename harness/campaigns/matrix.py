"""A campaign's matrix as a table and a heat map: what each recovery found, beside what the documents say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from markupsafe import Markup

from evidence.folder import RunFolder
from harness.experiments.experiment import Outcome, Status
from harness.experiments.store import RUNS, Store
from harness.judging import decisions
from plans.matrix import ENTRIES, MODES, Cell, Kept, Matrix, cells, kept
from protocol.errors import EvidenceError
from reports import marks
from reports.document import render

_ALLOWED: dict[Kept, str] = {"all": "all", "perhaps": "all cut", "none": "cut", "refused": "refused"}
_THEORY: dict[Kept, str] = {
    "all": "all kept",
    "perhaps": "kept or cut off",
    "none": "cut off",
    "refused": "refused",
}
_HEADS = ("E/WQ/AQ", "lost", "of", *MODES)


class Heat(StrEnum):
    """Severity: all entries kept, ledger cannot be closed, entries cut off, unknown."""

    ALL = "all"
    REFUSED = "refused"
    CUT = "cut"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Measured:
    """One cell in one mode: what was found, in words; ``proven`` says that the run was as expected."""

    cell: Cell
    mode: str
    heat: Heat
    text: str
    proven: bool

    @property
    def as_documented(self) -> bool:
        """Whether the documents say so."""
        return self.heat is Heat.NOTHING or self.heat in _ALLOWED[kept(self.cell, self.mode)].split()


def measured(matrix: Matrix, store: Store) -> list[Measured]:
    """Every cell in every mode, in the order of the matrix; cells that did not run have no heat."""
    done = {(one.scenario, one.mode): one for one in store.outcomes}
    return [
        _measured(cell, mode, done.get((f"matrix/{cell.name}", mode)), store.path / RUNS)
        for cell in cells(matrix)
        for mode in MODES
    ]


def table(found: Sequence[Measured]) -> Iterator[str]:
    """The lines of a Markdown table, a row for each cell."""
    rows = (
        (*_of_cell(row[0].cell), *(f"{one.text}{_mark(one)} [{_expected(one)}]" for one in row))
        for row in _rows(found)
    )
    below = f"The last of {ENTRIES} entries is on AQ bookies only; in brackets what the documents say."
    yield from ("## Matrix", "", *marks.table(_HEADS, rows), "")
    yield from (f"{below} (!) differs, (?) is not proven.", "")


def heat_map(found: Sequence[Measured]) -> Markup:
    """The same coloured by how bad it is."""
    rows = [(_of_cell(row[0].cell), row) for row in _rows(found)]
    return render("matrix.html", entries=ENTRIES, heads=_HEADS, rows=rows, mark=_mark, expected=_expected)


def _measured(cell: Cell, mode: str, outcome: Outcome | None, runs: Path) -> Measured:
    if outcome is None:
        return Measured(cell, mode, Heat.NOTHING, "not run", proven=False)
    proven = outcome.status is Status.AS_EXPECTED
    decided = _decision(runs / outcome.folder / mode) if outcome.folder else None
    if decided is None:
        return Measured(cell, mode, Heat.NOTHING, outcome.status.value, proven)
    ended, last = decided
    if ended != "ok":
        return Measured(cell, mode, Heat.REFUSED, "refused", proven)
    lost = ENTRIES - 1 - last
    if lost:
        return Measured(cell, mode, Heat.CUT, f"{lost} cut off", proven)
    return Measured(cell, mode, Heat.ALL, "all kept", proven)


def _decision(folder: Path) -> tuple[str, int] | None:
    """(outcome, last entry) of the first recovery; None when the run does not say."""
    try:
        recovered = (one for one in decisions(RunFolder(folder)) if one.step == "recover")
        first = next(recovered, None)
    except EvidenceError:
        return None
    return None if first is None else (first.outcome, -1 if first.last_entry is None else first.last_entry)


def _rows(found: Sequence[Measured]) -> Iterator[Sequence[Measured]]:
    return (found[at : at + len(MODES)] for at in range(0, len(found), len(MODES)))


def _of_cell(cell: Cell) -> tuple[str, ...]:
    quorums = cell.quorums
    return f"{quorums.ensemble}/{quorums.write}/{quorums.ack}", str(cell.lost), cell.loss


def _mark(one: Measured) -> str:
    if not one.as_documented:
        return " (!)"
    return "" if one.proven or one.heat is Heat.NOTHING else " (?)"


def _expected(one: Measured) -> str:
    return _THEORY[kept(one.cell, one.mode)]
