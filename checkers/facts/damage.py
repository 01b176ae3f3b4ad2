"""What is missing of the evidence a property rests on: then nothing can be proven ``valid``."""

from __future__ import annotations

from collections.abc import Collection

from checkers.contract import RunFacts
from evidence.schemas import TABLES

_OF_WIRE = ("frames", "holdings")


def recorded(run: RunFacts) -> tuple[str, ...]:
    """The tables that the run kept. Where it kept a wire log, its damage may hide an anomaly."""
    return tuple(table for table in TABLES if run.wire or table not in _OF_WIRE)


def damage_to(run: RunFacts, tables: Collection[str]) -> list[str]:
    """The damage that concerns the tables: it begins with one's name, or with no table's name."""
    named = {damage: damage.split(":")[0].strip().split("/")[0] for damage in run.damage}
    return [damage for damage, table in named.items() if table in tables or table not in TABLES]


def shortcomings(run: RunFacts, tables: Collection[str]) -> list[str]:
    """Sentences on why the evidence in these tables is not whole; empty when it is."""
    open_ended = [] if run.complete else ["the evidence was not closed in order"]
    return open_ended + [f"damaged evidence: {damage}" for damage in damage_to(run, tables)]
