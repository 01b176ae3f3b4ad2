"""Each unclean death has a line that says whether the disk held the entry."""

import json
from typing import Any

from evidence.codes import Place
from reports.explain.cluster import disk_moments
from reports.explain.rows import Names

NAMES = Names.of(
    {"clients": {"writer": 101}, "bookies": {"b1": 1, "b2": 2}}, [{"server": "b1", "boot": 2}], []
)


def event(server: str, boot: int, what: str, at_ns: int, **detail: Any) -> dict[str, Any]:
    return {
        "server": server,
        "boot": boot,
        "event": what,
        "earliest_ns": at_ns,
        "latest_ns": at_ns,
        "detail": json.dumps(detail),
    }


def span(bookie: int, boot: int, first: int, last: int, place: Place = Place.INDEX) -> dict[str, Any]:
    return {"bookie": bookie, "boot": boot, "entry": first, "last": last, "place": int(place)}


def told(servers: Any, holdings: Any, entry: int | None, until_ns: int = 99) -> list[tuple[int, str, str]]:
    found = disk_moments(servers, holdings, NAMES, entry, until_ns)
    return [(one.at_ns, one.subject, one.what) for one in found]


READ = [event("b1", 1, "disk_read", 10), event("b1", 2, "disk_read", 20), event("b2", 1, "disk_read", 30)]
HELD = [span(1, 1, 0, 4), span(1, 2, 0, 9), span(1, 2, 4, 12, Place.JOURNAL)]


def test_of_an_entry() -> None:
    assert told(READ, HELD, 4) == [
        (10, "b1 boot 1", "its disk held it (index)"),
        (20, "b1 boot 2", "its disk held it (index and journal)"),
        (30, "b2", "its disk did not hold it"),
    ]
    assert told(READ, HELD, 12)[:2] == [
        (10, "b1 boot 1", "its disk did not hold it"),
        (20, "b1 boot 2", "its disk held it (journal)"),
    ]


def test_of_a_ledger() -> None:
    assert [what for _, _, what in told(READ, HELD, None)] == [
        "its disk held 5 entries in the index",
        "its disk held 10 entries in the index and 9 entries in the journal",
        "its disk held nothing of it",
    ]


def test_a_disk_that_could_not_be_read_says_why_at_its_death() -> None:
    servers = [event("b2", 1, "exit", 44, signal=9), event("b2", 1, "disk_unreadable", 0, why="no index")]
    assert told(servers, [], 4) == [(44, "b2", "what its disk held is not known: no index")]


def test_what_came_before_or_after_the_story_is_left_out() -> None:
    assert [at for at, _, _ in told(READ, HELD, 4, until_ns=20)] == [10, 20]
    later = disk_moments(READ, HELD, NAMES, 4, 99, first_ns=11)
    assert [one.at_ns for one in later] == [20, 30]
