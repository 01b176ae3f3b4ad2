"""The lives of bookies: when each boot began and ended, and by what.

Read from the ``servers`` and ``faults`` tables of :class:`checkers.contract.RunFacts`; knows no
operation and no frame. Times are the run's nanoseconds, ``NEVER`` for a boot that lived to the end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checkers.contract import RunFacts
from evidence.codes import NEVER


@dataclass(frozen=True, slots=True)
class Boot:
    """One life of a bookie.

    It answered nothing before ``started_ns`` and nothing that was asked after ``ended_ns``.
    ``unclean`` says that it ended otherwise than by an orderly shutdown (SIGKILL, a crash), so
    that what it kept in memory only is gone. A boot that lived to the end of the run is ended by
    the harness then, in order.
    """

    bookie: int
    number: int
    started_ns: int
    ended_ns: int = NEVER
    unclean: bool = False


def boots_of(run: RunFacts) -> Mapping[int, tuple[Boot, ...]]:
    """Bookie number -> its boots in their order; a bookie without a recorded start has none."""
    started: dict[tuple[int, int], int] = {}
    ended: dict[tuple[int, int], tuple[int, bool]] = {}
    for row in run.servers:
        bookie = run.bookies.get(row["server"])
        if bookie is None:
            continue
        key = bookie, int(row["boot"])
        if row["event"] == "started":
            started[key] = int(row["earliest_ns"])
        elif row["event"] == "exit":
            ended[key] = int(row["latest_ns"]), _unclean(row)
    found: dict[int, list[Boot]] = {}
    for (bookie, number), at_ns in sorted(started.items()):
        end_ns, unclean = ended.get((bookie, number), (NEVER, False))
        found.setdefault(bookie, []).append(Boot(bookie, number, at_ns, end_ns, unclean))
    return {bookie: tuple(boots) for bookie, boots in found.items()}


def _unclean(row: Mapping[str, Any]) -> bool:
    detail = json.loads(row["detail"])
    return detail.get("signal") not in _ORDERLY_SIGNALS or detail.get("code") not in _ORDERLY_CODES


_ORDERLY_SIGNALS = (None, 15)
_ORDERLY_CODES = (None, 0, 143)  # a JVM that was asked to end by SIGTERM exits with 143
