"""Corruption on a real bookie, by what it does at its next boot and answers at the next read.

The bookie is alone, so no other bookie repairs its data. It may refuse to boot, deny, fail, or return an
entry that does not prove itself. It must not be unharmed, which these tests exclude, because then the fault
would have had no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nemesis.nemesis import Nemesis
from tests.live.clusters import running
from tests.live.nemesis.lone import ENTRIES, Lone
from tests.nemesis_contract.fault_stories import WHOLE, Lines

KEPT = {"present": ENTRIES}
BITS = 4000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with running(tmp_path_factory.mktemp("corruption"), bookies=1, clients=("writer",)) as opened:
        yield opened


@pytest.fixture
def lone(cluster: Any, number: Callable[[], int]) -> Iterator[Lone]:
    """New before each test, so that only that test's ledger is corrupted."""
    lines: Lines = []
    bookie = Lone(cluster, Nemesis(cluster, lambda line: lines.append(dict(line))), lines, number)
    bookie.renew()
    lines.clear()
    yield bookie
    assert cluster.unplanned() == []


@pytest.fixture
def snapshot(number: Callable[[], int]) -> str:
    """The name of a snapshot that was not taken yet."""
    return f"new{number()}"


def to(how: str, snapshot: str) -> dict[str, str]:
    return {"to": snapshot} if how == "roll_back" else {}


def sizes_of_journals(lone: Lone) -> dict[Path, int]:
    found = (path for place in lone.process.places().values() for path in place.rglob("*.txn"))
    return {path: path.stat().st_size for path in found}


def answers_after_boot(lone: Lone, ledger: int) -> dict[str, int]:
    """The answers of its next boot, or how the boot ended when it does not answer."""
    lone.start(expect="any", wait=False)
    outcome = lone.outcome_of_boot()
    return lone.holds(ledger) if outcome == "ready" else {outcome: 1}


@pytest.mark.parametrize(
    ("how", "params"), [("flip", {"bits": BITS}), ("truncate", {"cut_share": 0.5}), ("roll_back", {})]
)
def test_a_damaged_entry_log_is_an_error_and_no_denial(
    lone: Lone, snapshot: str, how: str, params: dict[str, Any]
) -> None:
    """Also of entries before the cut: each answer carries the LAC, which the last entry tells."""
    ledger = lone.written_after(snapshot, end="stop")
    assert lone.corrupt("entry_log", how, **params, **to(how, snapshot))["changed"]
    assert answers_after_boot(lone, ledger) == {"error -1": ENTRIES}
    lone.nemesis.heal()
    assert [line["phase"] for line in lone.lines if line["kind"] == "corrupt"] == WHOLE


@pytest.mark.parametrize(
    ("how", "params"), [("flip", {"bits": 400}), ("truncate", {"cut_share": 1}), ("roll_back", {})]
)
def test_a_damaged_index_is_not_noticed_and_what_it_had_is_denied(
    lone: Lone, snapshot: str, how: str, params: dict[str, Any]
) -> None:
    """RocksDB's own log holds all of it; it is read up to the first damage, and the rest is dropped."""
    ledger = lone.written_after(snapshot, end="stop")
    assert lone.corrupt("index", how, **params, **to(how, snapshot))["changed"]
    answers = answers_after_boot(lone, ledger)
    assert answers.keys() <= {"no ledger", "no entry"} and sum(answers.values()) == ENTRIES


def test_a_journal_is_replayed_up_to_where_it_was_cut(lone: Lone, snapshot: str) -> None:
    ledger = lone.written_after(snapshot, end="kill")
    done = lone.corrupt("journal", "truncate", cut_share=0.5)
    answers = answers_after_boot(lone, ledger)
    assert answers.keys() == {"present", "no entry"} and sum(answers.values()) == ENTRIES
    assert done["cut_bytes"] < done["written_bytes"]


def test_a_journal_that_was_rolled_back_has_nothing_to_replay(lone: Lone, snapshot: str) -> None:
    ledger = lone.written_after(snapshot, end="kill")
    assert lone.corrupt("journal", "roll_back", to=snapshot)["brought_back"] == 1
    assert answers_after_boot(lone, ledger) == {"no ledger": ENTRIES}


def test_a_journal_with_other_bits_is_refused_or_replayed_wrongly(lone: Lone, snapshot: str) -> None:
    """Its records have no checksum: a wrong length ends the boot, a wrong entry is replayed."""
    ledger = lone.written_after(snapshot, end="kill")
    before = sizes_of_journals(lone)
    assert lone.corrupt("journal", "flip", bits=BITS)["bits"] == BITS
    assert before and sizes_of_journals(lone) == before
    answers = answers_after_boot(lone, ledger)
    if answers not in ({"refused": 1}, {"failed to replay": 1}):
        assert answers != KEPT
        answers.pop("damaged", None)  # they are present too
        assert answers.keys() <= {"present", "no entry", "no ledger", "error -1"}
        assert sum(answers.values()) == ENTRIES
