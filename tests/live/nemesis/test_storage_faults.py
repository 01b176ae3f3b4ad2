"""Wipes, an expired session, a refusal and a roll on a real bookie: what its next boot makes of them.

The bookie is alone and journals its adds, so what it denies exists nowhere. These tests use BookKeeper's own
cookie check (no protection); ``tests/live/scenarios`` has the check of BP-46's protection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cluster.interface import ProcessState
from cluster.waiting import wait_until
from harness.conditions.servers import Refused, Said, refused, said
from harness.steps.faults import Roll, roll
from nemesis.nemesis import Nemesis
from plans.grammar.steps import Start
from tests.live.clusters import running
from tests.live.nemesis.lone import ENTRIES, Lone
from tests.nemesis_contract.fault_stories import WHOLE, Lines, inject, phases, proof

KEPT, NO_LEDGER = {"present": ENTRIES}, {"no ledger": ENTRIES}
OTHER = "4.17.2"
BEFORE = {"ledgerDirectories": "ledgers", "allowStorageExpansion": "false"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with running(tmp_path_factory.mktemp("storage"), bookies=1, clients=("writer",)) as opened:
        yield opened


@pytest.fixture
def lone(cluster: Any, number: Callable[[], int]) -> Iterator[Lone]:
    """Running before each test; a bookie that a test left down or refusing is replaced."""
    lines: Lines = []
    nemesis = Nemesis(cluster, lambda line: lines.append(dict(line)))
    bookie = Lone(cluster, nemesis, lines, number)
    yield bookie
    if bookie.process.state is ProcessState.DOWN:
        bookie.renew()
    nemesis.heal()
    assert cluster.unplanned() == []


@pytest.mark.parametrize(
    ("how", "what", "left"),
    [
        ("kill", "journal", NO_LEDGER),  # they were in the journal only
        ("stop", "ledgers", KEPT),  # the mark is gone too, so the whole journal is replayed
        ("stop", "index", NO_LEDGER),  # the mark says that there is nothing to replay
        ("stop", "all", NO_LEDGER),
    ],
)
def test_with_its_cookies_kept_it_boots_and_denies_what_was_wiped(
    lone: Lone, how: str, what: str, left: dict[str, int]
) -> None:
    ledger = lone.written()
    lone.end(how)
    lone.wipe(what=what, cookie="keep")
    assert lone.start() is None
    assert lone.holds(ledger) == left


def test_a_journal_that_the_mark_names_has_to_be_there(lone: Lone) -> None:
    """The bookie closes what it had opened; its process stays, but serves no requests."""
    lone.written()
    lone.end("stop")
    lone.wipe(what="journal", cookie="keep")
    lone.start(wait=False)
    assert lone.outcome_of_boot() == "failed to replay"
    assert b"Recovery log" in lone.cluster.bookie("b1").log.read_bytes()
    assert lone.process.state is ProcessState.RUNNING
    assert "b1" not in lone.cluster.metadata.registered()
    lone.renew()


def test_a_missing_cookie_is_refused_until_it_is_removed_everywhere(lone: Lone) -> None:
    ledger = lone.written()
    lone.end("stop")
    for what in ("journal", "all"):
        lone.wipe(what=what, cookie="remove")
        refusal = lone.start(expect="refuses")
        assert refusal is not None and refusal.ended.code == 2
        assert any("InvalidCookieException" in line for line in refusal.log_lines), refusal.log_lines
    lone.wipe(what="all", cookie="remove_everywhere")
    assert lone.start() is None
    assert lone.holds(ledger) == NO_LEDGER
    assert lone.cluster.metadata.cookie("b1") is not None
    lone.nemesis.heal()
    assert phases(lone.lines, 2) == WHOLE


def test_a_journal_wiped_with_its_cookie_forgotten_is_taken_for_a_new_disk(lone: Lone) -> None:
    """The ledgers' folder still has its cookie: only folders without one are asked whether they are empty."""
    ledger = lone.written()
    lone.end("kill")
    lone.wipe(what="journal", cookie="remove_everywhere")
    assert lone.start() is None
    assert lone.holds(ledger) == NO_LEDGER


def test_a_refusal_is_seen_by_a_condition_and_by_the_log(lone: Lone) -> None:
    context = lone.context
    lone.end("stop")
    lone.wipe(what="journal")
    assert not refused(context, Refused(target="b1"))[0]
    assert lone.start(expect="any", wait=False) is None
    result = wait_until(lambda: refused(context, Refused(target="b1")), 60, "b1 to refuse")
    assert "refused with exit code 2" in result
    assert said(context, Said(target="b1", event="cookie_refused"))[0]
    assert not said(context, Said(target="b1", event="cookie_stamped"))[0]


def test_an_expired_session_is_made_anew_by_the_same_boot(lone: Lone) -> None:
    ledger, boot = lone.written(), lone.process.boot
    inject(lone.nemesis, "expire", target="b1")
    assert "b1" not in lone.cluster.metadata.registered()
    assert proof(lone.lines, "confirmed")["state"] == "running"
    assert lone.nemesis.heal() == ["expire b1"]
    assert "b1" in lone.cluster.metadata.registered()
    assert (lone.process.boot, lone.process.state) == (boot, ProcessState.RUNNING)
    assert lone.holds(ledger) == KEPT
    assert lone.holds(lone.written()) == KEPT


def test_a_roll_to_another_release_and_back_keeps_what_each_wrote(lone: Lone) -> None:
    newest = lone.process.version
    ledgers = [lone.written()]
    for version in (OTHER, newest):
        boot = lone.process.boot
        roll(lone.context, Roll(targets=("b1",), version=version))
        assert (lone.process.version, lone.process.boot) == (version, boot + 1)
        assert [lone.holds(ledger) for ledger in ledgers] == [KEPT] * len(ledgers)
        ledgers.append(lone.written())
    assert [phases(lone.lines, fault) for fault in (1, 2)] == [WHOLE, WHOLE]


def test_a_bookie_with_two_ledger_directories_looks_where_an_id_belongs(lone: Lone) -> None:
    """Ids go to directories by their remainder: once there are two, odd ids are looked for in the second."""
    lone.renew()
    even, odd = sorted((lone.written(), lone.written()), key=lambda ledger: ledger % 2)
    assert (even % 2, odd % 2) == (0, 1)
    lone.end("stop")
    more = {"ledgerDirectories": "ledgers,more"}
    assert lone.start(expect="refuses", conf=more) is not None
    assert lone.start(conf={"allowStorageExpansion": True}) is None
    assert (lone.holds(even), lone.holds(odd)) == (KEPT, NO_LEDGER)
    assert set(lone.process.places()) == {"journal", "ledgers", "more"}
    lone.end("stop")
    lone.wipe(cookie="remove_everywhere")
    assert not any(lone.process.places()["more"].iterdir())
    lone.nemesis.start(Start(target="b1", conf=BEFORE))
