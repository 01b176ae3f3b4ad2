"""A matrix: how many bookies a ledger may lose, by its quorums, the level of the loss and the mode.

Each cell is a separate plan, written as YAML. The last entry is on AQ bookies only, the fewest that may
acknowledge it, and these bookies die; then a client recovers the ledger. Without striping (E = WQ) the same
holds for every entry; with it, each entry before the last is on another bookie as well. The documents define
the expected result (:func:`kept`), so a cell with another result is an anomaly like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Literal

from pydantic import Field

from plans.cluster import MOST_ENSEMBLE, QuorumsText, quorum_keys, quorums_of
from plans.grammar.names import Params, bookie_names
from plans.reading.document import Tree
from protocol.quorums import Quorums

ENTRIES = 50
MODES = ("unprotected", "protected", "journal")
Kept = Literal["all", "perhaps", "none", "refused"]


class Matrix(Params):
    """The cells: every combination in which a ledger has enough bookies to lose."""

    quorums: tuple[QuorumsText, ...] = Field(min_length=1)
    lost: tuple[Annotated[int, Field(ge=1, le=MOST_ENSEMBLE)], ...] = Field(min_length=1)
    loss: tuple[Literal["process", "power", "disks"], ...] = ("process",)


@dataclass(frozen=True)
class Cell:
    """One cell: ``lost`` of the bookies in the last entry's write set are lost, at one level.

    A ``process``, the ``power`` of its machine, or its ``disks``: then it comes back empty, and its cookie
    is nowhere.
    """

    quorums: Quorums
    lost: int
    loss: str

    @property
    def name(self) -> str:
        """``3-3-2-lost-1-process``."""
        shape = self.quorums
        return f"{shape.ensemble}-{shape.write}-{shape.ack}-lost-{self.lost}-{self.loss}"


def cells(matrix: Matrix) -> Iterator[Cell]:
    """Every cell, those of one ledger's shape together."""
    for text, loss, lost in product(matrix.quorums, matrix.loss, matrix.lost):
        quorums = quorums_of(text)
        if lost <= quorums.write:
            yield Cell(quorums, lost, loss)


def kept(cell: Cell, mode: str) -> Kept:
    """What the documents say that a recovery finds, where the last entry has AQ copies.

    With the journal every boot has its entries again. Without it a bookie that died denies them. The client
    believes QC = (WQ - AQ) + 1 denials: WQ - AQ bookies that never had the entries and one bookie that lost
    them are enough, unless a bookie that has them answers first (*Closing Ledgers Safely*). In protected mode
    such a bookie answers "unknown", and a ledger can be closed while QC others know (BP-46, "A note on
    Quorums"). With its disks and its cookie a bookie loses the journal too, and every sign that it has lost
    anything ("A note on cookies").
    """
    if mode == "journal" and cell.loss != "disks":
        return "all"
    if mode == "protected" and cell.loss != "disks":
        return "all" if cell.lost < cell.quorums.ack else "refused"
    return "perhaps" if cell.lost < cell.quorums.ack else "none"


def plan_of(cell: Cell) -> Tree:
    """The plan of a cell as the tree of its YAML, in all modes."""
    shape = cell.quorums
    bookies = list(bookie_names(shape.ensemble))
    lost = bookies[: cell.lost]
    return {
        "name": f"matrix/{cell.name}",
        "source": {"document": "BP-46", "section": "A note on Quorums"},
        "about": f"The last entry is on {shape.ack} of {shape.write} bookies; {cell.lost} of these are lost.",
        "cluster": {
            "bookies": shape.ensemble,
            "loss": "power" if cell.loss == "power" else "process",
            # No flush between the adds and the loss, which would save the entries.
            "bookie_conf": {"flushInterval": 3600000},
            "client_conf": {
                "delayEnsembleChange": True,
                "readEntryTimeoutSec": 2,
                "firstSpeculativeReadTimeout": 200,
            },
        },
        "clients": ["writer", "recoverer"],
        "modes": list(MODES),
        "required": ["durability", "closing", "order", "lac", "metadata"],
        "control": {"mode": "unprotected"}
        if kept(cell, "unprotected") == "none"
        else {"nothing": "with fewer than AQ lost it shows only sometimes; other cells have the control"},
        "limits": {"quiet_s": 30},
        "steps": list(_steps(cell, bookies, lost)),
        "expect": {mode: _expected(cell, mode) for mode in MODES},
    }


def _steps(cell: Cell, bookies: list[str], lost: list[str]) -> Iterator[Tree]:
    shape = cell.quorums
    yield _create("main", shape, bookies=_ensemble(bookies, shape))
    for bookie in bookies[shape.ack : shape.write]:
        yield {"cut": {"from": "writer", "to": bookie}}
    # One at a time, so that each entry carries the LAC of the entries before it: recovery begins there.
    yield {"append": {"client": "writer", "ledger": "main", "entries": ENTRIES, "outstanding": 1}}
    yield from ({"kill": {"target": bookie}} for bookie in lost)
    if cell.loss == "disks":
        yield from ({"wipe": {"target": bookie, "cookie": "remove_everywhere"}} for bookie in lost)
    yield from ({"start": {"target": bookie}} for bookie in lost)
    for bookie in lost:
        yield {"wait_for": {"condition": "known", "client": "recoverer", "target": bookie}}
    yield {"recover": {"client": "recoverer", "ledger": "main", "timeout_s": 30}, "outcome": "any"}
    yield {"heal": {}}
    # A ledger that nothing happened to: what it shows proves that the run could have seen a loss.
    yield _create("after", shape)
    yield {"append": {"client": "writer", "ledger": "after", "entries": 10}}
    yield {"close": {"client": "writer", "ledger": "after"}}
    if cell.lost >= shape.ack:
        # As an operator who gives it up would do: the ledger cannot be closed, and no repair would end.
        yield {"delete": {"client": "recoverer", "ledger": "main"}}


def _ensemble(bookies: list[str], shape: Quorums) -> list[str]:
    """The bookies in the order in which the last entry's write set are the first of them."""
    first = (ENTRIES - 1) % shape.ensemble
    return [bookies[(place - first) % shape.ensemble] for place in range(shape.ensemble)]


def _create(ledger: str, shape: Quorums, **more: object) -> Tree:
    return {"create": {"client": "writer", "ledger": ledger, **quorum_keys(shape), **more}}


def _expected(cell: Cell, mode: str) -> list[object]:
    found = kept(cell, mode)
    decides = {"ledger": "main", "client": "recoverer", "document": "A note on Quorums"}
    broken = {"property": "closing", "kind": "closed_below", "ledger": "main"}
    if found == "all":
        return ["holds", {"decides": {**decides, "outcome": "ok", "last_entry": ENTRIES - 1}}]
    if found == "refused":
        return ["holds", {"decides": {**decides, "outcome": "unknown"}}]
    if found == "none":
        striped = cell.quorums.ensemble > cell.quorums.write
        last = ENTRIES - 2 if striped else -1  # the entry before the last is on a bookie that lost nothing
        return [{"breaks": broken}, {"decides": {**decides, "outcome": "ok", "last_entry": last}}]
    perhaps = {"reference": "BP-46, Scenario 2", "rate": "sometimes"}
    return [
        {"defect": {**broken, **perhaps}},
        {"defect": {"property": "durability", "kind": "lost", "ledger": "main", **perhaps}},
    ]
