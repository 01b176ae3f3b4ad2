"""The lines about versions of a ledger's metadata, including versions that a fault restored."""

from __future__ import annotations

from reports.explain.cluster import metadata_moments
from tests.histories.story import closed, created, metadata, vanished


def told(*parts: tuple[str, dict[str, object]], entry: int | None = None) -> list[str]:
    return [moment.what for moment in metadata_moments([row for _, row in parts], entry)]


def test_each_version_is_told_and_one_that_a_fault_put_back_as_such() -> None:
    assert told(created(), closed(3), vanished(2), entry=5) == [
        "version 0: OPEN (from 0: b1:3181 b2:3181 b3:3181)",
        "version 1: CLOSED at 3, below this entry (from 0: b1:3181 b2:3181 b3:3181)",
        "version 2: deleted (from 0: b1:3181 b2:3181 b3:3181)",
    ]
    assert told(created(put_back=True), metadata(1, 0, put_back=True, fragments={})) == [
        "put back by a fault to version 0: OPEN (from 0: b1:3181 b2:3181 b3:3181)",
        "put back by a fault: there is none",
    ]
