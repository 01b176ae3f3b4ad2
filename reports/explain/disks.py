"""What bookies' disks held at their unclean deaths, as lines: of one entry, or how much of a ledger."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from checkers.facts.wording import counted
from evidence.codes import Place
from reports.explain.moments import Moment
from reports.explain.rows import Names

_READ, _UNREADABLE = "disk_read", "disk_unreadable"

Row = Mapping[str, Any]
Life = tuple[int, int]


def disk_moments(
    servers: Iterable[Row],
    holdings: Iterable[Row],
    names: Names,
    entry: int | None,
    until_ns: int,
    *,
    first_ns: int = 0,
) -> Iterator[Moment]:
    """A line for each disk that was copied between two times; ``holdings`` are rows of one ledger."""
    servers = list(servers)
    bookies = {name: number for number, name in names.numbers.items()}
    held = _held(holdings, entry)
    ends = {(row["server"], row["boot"]): row["latest_ns"] for row in servers if row["event"] == "exit"}
    for row in servers:
        life = bookies.get(row["server"], 0), row["boot"]
        at_ns = row["latest_ns"] or ends.get((row["server"], row["boot"]), 0)
        if row["event"] in (_READ, _UNREADABLE) and first_ns <= at_ns <= until_ns:
            yield Moment(at_ns, 0, names.boot(*life), _told(row, held.get(life, {}), entry))


def _held(holdings: Iterable[Row], entry: int | None) -> dict[Life, dict[Place, int]]:
    """Life -> how many entries (of all, or of the one) each place of its disk held."""
    found: dict[Life, dict[Place, int]] = {}
    for row in holdings:
        if entry is None or row["entry"] <= entry <= row["last"]:
            places = found.setdefault((row["bookie"], row["boot"]), {})
            place = Place(row["place"])
            places[place] = places.get(place, 0) + row["last"] - row["entry"] + 1
    return found


def _told(row: Row, places: Mapping[Place, int], entry: int | None) -> str:
    if row["event"] == _UNREADABLE:
        return f"what its disk held is not known: {json.loads(row['detail']).get('why')}"
    if entry is not None:
        where = " and ".join(place.name.lower() for place in sorted(places))
        return f"its disk held it ({where})" if places else "its disk did not hold it"
    parts = [
        f"{counted(number, 'entry', 'entries')} in the {place.name.lower()}"
        for place, number in sorted(places.items())
    ]
    return f"its disk held {' and '.join(parts)}" if parts else "its disk held nothing of it"
