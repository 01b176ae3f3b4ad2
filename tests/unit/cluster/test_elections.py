"""When an auditor's first check of all ledgers is over, according to the metadata store."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.metadata import RepairRecords


class Store:
    """A metadata store that has these names below the path of repair."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def children(self, path: str) -> tuple[str, ...]:
        return self._names if path == "/ledgers/underreplication" else ()


@pytest.mark.parametrize(
    ("names", "over"),
    [
        ((), False),
        (("ledgers", "locks", "auditorelection", "LAYOUT"), False),
        (("ledgers", "checkallledgersctime"), True),
        (("ledgers", "disable"), True),  # an auditor that may not repair does not check either
    ],
)
def test_the_first_check_of_all_ledgers_is_over_when_its_time_is_told(
    names: tuple[str, ...], over: bool
) -> None:
    store: Any = Store(*names)
    assert RepairRecords(store).checked() is over
