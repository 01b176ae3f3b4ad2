"""One row for each key, however many were told of it: columns, for what is known of each ledger or handle.

A summary of many ledgers is thus as quick to make, send and join as one of few. Joining is concatenating
and folding again; each column has its own rule. Knows no ledger and no operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.sets.ordering import is_sorted
from checkers.sets.packing import Packed, packed, unpacked
from checkers.sets.spans import Ints, ints

LEAST, MOST, FIRST = np.minimum, np.maximum, None
"""Rules. ``FIRST`` columns are kept from one row, the first by all of these columns in their order."""
Rule = np.ufunc | None


@dataclass(frozen=True, eq=False)
class Folded:
    """Rows sorted by key, each key once: ``columns`` are those of the key, then one for each of ``rules``."""

    columns: tuple[Ints, ...]
    rules: tuple[Rule, ...]

    @classmethod
    def of_rows(cls, key: Sequence[NDArray[Any]], *values: tuple[NDArray[Any], Rule]) -> Folded:
        """Of rows in any order; ``values`` are columns and their rules."""
        rules = tuple(rule for _, rule in values)
        return _folded(tuple(map(ints, (*key, *(column for column, _ in values)))), rules)

    def __or__(self, other: Folded) -> Folded:
        if not (len(self) and len(other)):
            return self if len(self) else other
        pairs = zip(self.columns, other.columns, strict=True)
        return _folded(tuple(np.concatenate(pair) for pair in pairs), self.rules)

    def __len__(self) -> int:
        return len(self.columns[0])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled in as little room as the numbers allow: summaries travel."""
        return _unpickled, (
            tuple(map(packed, self.columns)),
            tuple(_RULES.index(rule) for rule in self.rules),
        )

    def of(self, *key: int) -> list[tuple[int, ...]]:
        """The rows whose key begins so, whole, in order."""
        begin, end = 0, len(self)
        for column, value in zip(self.columns, key, strict=False):
            begin, end = (begin + np.searchsorted(column[begin:end], [value, value + 1])).tolist()
        return list(zip(*(column[begin:end].tolist() for column in self.columns), strict=True))

    def among(self, keys: Folded) -> NDArray[np.bool_]:
        """Which rows begin with a key of the other."""
        width, mine = len(keys.columns), len(self)
        both = (np.concatenate(pair) for pair in zip(self.columns[:width], keys.columns, strict=True))
        numbers = np.unique(np.stack(list(both), axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        return np.isin(numbers[:mine], numbers[mine:])


_RULES: tuple[Rule, ...] = (LEAST, MOST, FIRST)


def _unpickled(columns: tuple[Packed, ...], rules: tuple[int, ...]) -> Folded:
    return Folded(tuple(map(unpacked, columns)), tuple(_RULES[rule] for rule in rules))


def _folded(columns: tuple[Ints, ...], rules: tuple[Rule, ...]) -> Folded:
    if not len(columns[0]):
        return Folded(columns, rules)
    width = len(columns) - len(rules)
    values = zip(columns[width:], rules, strict=True)
    order_by = [*columns[:width], *(column for column, rule in values if rule is FIRST)]
    if not is_sorted(order_by):
        order = np.lexsort(tuple(reversed(order_by)))
        columns = tuple(column[order] for column in columns)
    new = np.ones(len(columns[0]), dtype=np.bool_)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns[:width]])
    if new.all():
        return Folded(columns, rules)
    begin = np.flatnonzero(new)
    folded = (
        column[begin] if rule is FIRST else rule.reduceat(column, begin)
        for column, rule in zip(columns[width:], rules, strict=True)
    )
    return Folded((*(column[begin] for column in columns[:width]), *folded), rules)
