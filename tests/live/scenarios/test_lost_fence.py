"""BP-46's scenario 1 live: whose fence is lost and whose is not, and what the verdict names."""

from __future__ import annotations

from typing import Any

import pytest

from tests.length import quick_and_long
from tests.live.scenarios.conftest import Stated

FORGOTTEN = "protected lost-limbo"
LONG = (
    "protected damaged-key key-lost never-boots",
    "protected lost-fence-twice lost-fence-unwritten lost-fence-refused lost-fence-grouped",
    "journal lost-fence-idle lost-fence-idle-entries lost-fence-write-back lost-fence-restart",
)


@pytest.mark.parametrize("row", quick_and_long((FORGOTTEN, *LONG), LONG))
def test_each_variant_comes_out_as_stated(stated: Stated, row: str) -> None:
    stated(row)


def test_the_verdict_names_the_add_the_close_and_the_answers(stated: Stated) -> None:
    runs = stated("journal lost-fence lost-fence-first-contact")
    _names_the_add_the_close_and_the_answers(runs["lost-fence-first-contact"])
    _only_the_control_breaks(runs["lost-fence"])


def _names_the_add_the_close_and_the_answers(verdict: dict[str, Any]) -> None:
    """Entry 0 lies behind the close at -1: b2 was fenced before its crash and took it after; b3 never was."""
    (finding,) = verdict["judgements"]["fencing"]["findings"]
    assert (finding["kind"], finding["first_entry"], finding["last_entry"]) == ("added_after_close", 0, 0)
    proof = "\n".join(finding["proof"])
    for row in (
        "CLOSED at -1",
        "writer invoked the add of entry 0",
        "b2 boot 1 answered ENOENTRY to the fencing read of the LAC by recoverer",
        "b2 boot 1 was killed",
        "b2 boot 2 acknowledged entry 0",
        "b3 answered no fencing read of this ledger",
        "b3 boot 1 acknowledged entry 0",
    ):
        assert row in proof, proof
    assert "b1 boot 1 acknowledged" not in proof


def _only_the_control_breaks(verdict: dict[str, Any]) -> None:
    """Ten entries are kept of each of two ledgers; the one add that is acknowledged belongs to the second."""
    findings = [one for judgement in verdict["judgements"].values() for one in judgement["findings"]]
    assert {one["property"] for one in findings} == {"durability", "closing", "fencing", "lac"}
    assert {(one["ledger"], one["last_entry"]) for one in findings} == {(1, 10)}
