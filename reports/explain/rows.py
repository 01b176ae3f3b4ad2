"""The data of an explanation: rows of a run's tables, and the names of the numbers in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from evidence.collection import read_collection
from evidence.folder import RunFolder
from evidence.recorders import NAMED, ledger_names, read_lines
from evidence.schemas import ROWS, TABLES, FaultRow, ServerRow
from evidence.shapes import RunTree, StepLine

Row = TypeVar("Row")


@dataclass(frozen=True)
class Tables:
    """The tables of one mode's folder."""

    folder: RunFolder

    def table(
        self, name: str, where: pc.Expression | None = None, *, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """The rows of a table for which ``where`` holds, in no order; all columns unless some are named."""
        files = sorted(map(str, (self.folder.tables / name).rglob("*.parquet")))
        rows = ds.dataset(files, schema=TABLES[name], format="parquet")
        return rows.to_table(filter=where, columns=None if columns is None else list(columns))

    def rows(self, row: type[Row], where: pc.Expression | None = None) -> list[Row]:
        """The same rows as dictionaries, of the table that has this type of row."""
        (name,) = (name for name, one in ROWS.items() if one is row)
        rows: list[Row] = self.table(name, where).to_pylist()
        return rows

    @cached_property
    def damage(self) -> tuple[str, ...]:
        """What is damaged; ``EvidenceError`` when there are no tables yet, or old ones."""
        return read_collection(self.folder).damage

    @cached_property
    def run(self) -> RunTree:
        """``run.json``."""
        return self.folder.run()

    @cached_property
    def ledgers(self) -> dict[int, str]:
        """Ledger -> its name in the plan."""
        return ledger_names(self.folder)

    @property
    def began_ns(self) -> int:
        """When the run began."""
        return int(self.run["clock"]["monotonic_ns"])

    def round_of(self, ledger: int) -> tuple[int, int] | None:
        """Begin and end of the round in which a ledger was created; None in a run of one round."""
        rounds: dict[int, list[StepLine]] = {}
        named_ns: int | None = None
        records: Iterable[StepLine] = read_lines(self.folder.steps).records
        for record in records:
            if record.get("step") == NAMED and record.get("ledger") == ledger and named_ns is None:
                named_ns = record.get("at_ns")
            elif "round" in record:
                rounds.setdefault(record["round"], []).append(record)
        if named_ns is None or len(rounds) < 2:
            return None
        for steps in rounds.values():
            first_ns, last_ns = steps[0]["began_ns"], max(step["ended_ns"] for step in steps)
            if first_ns <= named_ns <= last_ns:
                return first_ns, last_ns
        return None

    def ledger(self, subject: str) -> int | None:
        """The ledger that a user names by its name or its number; None for an unknown name."""
        if subject.isdigit():
            return int(subject)
        return next((number for number, name in self.ledgers.items() if name == subject), None)


@dataclass(frozen=True)
class Names:
    """Names for the numbers of clients, bookies and rules."""

    numbers: Mapping[int, str]
    restarted: frozenset[int]
    rules: Mapping[int, str]

    @classmethod
    def of(cls, run: RunTree, servers: Iterable[ServerRow], faults: Iterable[FaultRow]) -> Names:
        """From ``run.json`` and the rows of the two tables."""
        bookies = run["bookies"]
        later = {bookies[row["server"]] for row in servers if row["boot"] > 1 and row["server"] in bookies}
        numbers = {
            number: name for name, number in {**run["clients"], **bookies, **run.get("others", {})}.items()
        }
        rules = {number: fault_name(fault) for fault in faults for number in _rules_of(fault)}
        return cls(numbers, frozenset(later), rules)

    def of_number(self, number: int) -> str:
        """A client or bookie; an unknown one by its number."""
        return self.numbers.get(number, f"number {number}")

    def boot(self, bookie: int, boot: int) -> str:
        """``b1``, or ``b1 boot 2`` for a bookie with several boots."""
        name = self.of_number(bookie)
        if bookie not in self.restarted:
            return name
        return f"{name} boot {boot}" if boot else f"{name} boot unknown"

    def rule(self, number: int) -> str:
        """The fault that a rule of the proxy belongs to."""
        return self.rules.get(number, f"rule {number}")


def stretches(rows: Iterable[Row], continues: Callable[[Row, Row], bool]) -> list[list[Row]]:
    """The rows in their order, cut where one does not continue the row before it."""
    found: list[list[Row]] = []
    for row in rows:
        if found and continues(found[-1][-1], row):
            found[-1].append(row)
        else:
            found.append([row])
    return found


def fault_name(fault: FaultRow) -> str:
    """``fault 3 (drop writer-b1, late)``: its number as in verdicts, and the name that the plan gave it."""
    given = json.loads(fault["params"]).get("as")
    return f"fault {fault['fault']} ({fault['kind']} {fault['target']}{f', {given}' if given else ''})"


def _rules_of(fault: FaultRow) -> set[int]:
    """The numbers of a fault's rules in the wire log, as its proofs tell them."""
    numbers: set[int] = set()
    for proof in json.loads(fault["proof"]).values():
        number = proof.get("number") if isinstance(proof, dict) else None
        numbers |= {one for one in (number if isinstance(number, list) else [number]) if isinstance(one, int)}
    return numbers
