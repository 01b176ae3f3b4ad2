"""The result of a collection step: a table, and the damage of its raw evidence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from evidence.schemas import TABLES


@dataclass(frozen=True, slots=True)
class Collected:
    """``table`` has the schema of the named evidence table; ``damage`` are whole sentences,
    each beginning with the name of the table that lacks something.
    """

    table: pa.Table
    damage: tuple[str, ...] = ()


def collected(name: str, rows: Iterable[Mapping[str, object]], damage: Iterable[str] = ()) -> Collected:
    """Rows as the evidence table ``name``, damage with that name put before it."""
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=TABLES[name])
    return Collected(table, tuple(f"{name}: {what}" for what in damage))


def as_json(tree: object) -> str:
    """A tree as the text of a column; the same tree gives the same text."""
    return json.dumps(tree, sort_keys=True, ensure_ascii=False)
