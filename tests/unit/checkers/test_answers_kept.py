"""What a bookie flushed at a clean shutdown, or made durable before a crash, no later boot denies."""

import json

import pytest

from evidence.codes import Status
from protocol.faults import Loses
from tests.histories.asking import EIO, ENOENTRY, add, answered, force, plain_read
from tests.histories.boots import copied, fault, on_disk, server
from tests.histories.story import deferred, deleted, judging, kinds, of_known_ledgers

ACK = answered("writer", "b1", add(3), at=10)


answers = judging("answers", wire=True)


def judgement_of(*parts, **run):
    return answers(of_known_ledgers(*parts), **run)


def found(*parts, **run):
    return kinds(judgement_of(*parts, **run))


def denied(what=None, status=ENOENTRY, *, at=20, **columns):
    return answered("reader", "b1", what or plain_read(3), status, at=at, **columns)


FLUSHED = [("denied_flushed", 3, 3)]


def restarted(*story, **run):
    """What is found where b1 took entry 3 in its first boot and denies it in its last.

    ``story`` says how its boots ended, and what else there is.
    """
    ends = [one for one in story if isinstance(one, dict)]
    others = [one for one in story if not isinstance(one, dict)]
    events = [server(1, number, "started", 10 * number, 10 * number) for number in range(1, len(ends) + 2)]
    events += [
        server(1, number, "exit", 10 * number + 5, 10 * number + 5, **how)
        for number, how in enumerate(ends, 1)
    ]
    last = 10 * len(ends) + 12
    ack, late = answered("writer", "b1", add(3), at=12), denied(boot=len(ends) + 1, at=last)
    return found(ack, late, *others, servers=tuple(events), **run)


CLEAN, CRASHED = {"code": 143, "signal": None}, {"code": None, "signal": 9}


def test_a_clean_shutdown_loses_nothing():
    assert restarted(CLEAN) == restarted(CLEAN, CLEAN) == FLUSHED
    assert not restarted(CRASHED)
    assert not restarted(CLEAN, CRASHED)
    assert not restarted(CRASHED, CLEAN)


DURABLE = [("denied_durable", 3, 3)]
JOURNALED, SYNCED = {"least_loss": {"b1": Loses.UNSYNCED}}, {"least_loss": {"b1": Loses.STORED}}
POWER = (fault(1, "power_loss", "b1"),)


def test_a_crash_or_a_loss_of_power_takes_only_what_was_not_durable():
    assert restarted(CRASHED, **JOURNALED) == restarted(CRASHED, CLEAN, **SYNCED) == DURABLE
    assert restarted(CRASHED, faults=POWER, **SYNCED) == DURABLE
    assert not restarted(CRASHED, faults=POWER, **JOURNALED)
    process = fault(1, "power_loss", "b1", params=json.dumps({"level": "process"}))
    assert restarted(CRASHED, faults=(process,), **JOURNALED) == DURABLE
    assert not restarted(CRASHED)
    assert not restarted(CRASHED, faults=(fault(1, "wipe", "b1"),), **SYNCED)
    assert restarted(CLEAN, CLEAN, **SYNCED) == FLUSHED


def test_a_loss_of_power_takes_nothing_from_a_boot_that_answered_before():
    """Boot 1 dies at 15, boot 2 begins at 20 and denies at 22."""
    for planned_ns, expected in ((20, []), (21, DURABLE), (100, DURABLE)):
        times = {"planned_ns": planned_ns, "injected_ns": 110, "confirmed_ns": 111, "healed_ns": 120}
        power = (fault(1, "power_loss", "b1", **times),)
        assert restarted(CRASHED, faults=power, **JOURNALED) == expected
    assert restarted(CRASHED, CLEAN, faults=power, **JOURNALED) == DURABLE
    times = {"planned_ns": 25, "injected_ns": 25, "confirmed_ns": 26, "healed_ns": 30}
    assert not restarted(CRASHED, CRASHED, faults=(fault(1, "power_loss", "b1", **times),), **JOURNALED)


def test_what_the_disk_held_is_denied_once_and_a_deferred_add_may_be_lost():
    died = (server(1, 1, "started", 1, 1), server(1, 1, "exit", 15, 15, **CRASHED))
    events = (*died, copied(1, at=16), server(1, 2, "started", 18, 18))
    run = {"servers": events, **SYNCED}
    assert found(ACK, denied(boot=2), **run) == DURABLE
    assert found(ACK, denied(boot=2), on_disk(1, 0, 9), **run) == [("denied_held", 3, 3)]
    assert not found(ACK, denied(boot=2), deferred(3), **run)


def test_what_a_bookie_confirmed_to_be_synced_outlives_its_crash_although_the_add_was_deferred():
    def forced(who="b1", status=Status.EOK, **columns):
        return restarted(CRASHED, deferred(3), answered("writer", who, force(), status, **columns), **SYNCED)

    assert forced(at=14) == DURABLE
    assert not forced(at=14, asked_ns=12)
    assert not forced(at=14, boot=2)
    assert not forced(at=14, ledger=2)
    assert not forced(at=14, status=EIO)
    assert not forced("b2", at=14)


def test_an_end_that_was_not_recorded_may_have_been_a_crash():
    events = (server(1, 1, "started", 1, 1), server(1, 2, "started", 15, 15))
    assert not found(ACK, denied(boot=2), servers=events)


@pytest.mark.parametrize("kind", ["fill", "read_only", "slow_disk", "wipe", "corrupt", "pause"])
def test_a_fault_of_the_bookie_may_have_hindered_the_flush(kind):
    """b1 stops at 15 and denies at 22: what was planned later hindered nothing."""
    assert not restarted(CLEAN, faults=(fault(1, kind, "b1"),))
    assert restarted(CLEAN, faults=(fault(1, kind, "b2"),)) == FLUSHED
    for planned_ns, expected in ((21, []), (900, FLUSHED)):
        times = {"planned_ns": planned_ns, "injected_ns": 901, "confirmed_ns": 902, "healed_ns": 903}
        assert restarted(CLEAN, faults=(fault(1, kind, "b1", **times),)) == expected


@pytest.mark.parametrize("kind", ["fill", "slow_disk", "pause", "file_limit"])
def test_what_was_durable_needs_no_flush(kind):
    assert restarted(CRASHED, faults=(fault(1, kind, "b1"),), **SYNCED) == DURABLE
    assert restarted(CLEAN, faults=(fault(1, kind, "b1"),), **SYNCED) == DURABLE
    assert not restarted(CRASHED, faults=(fault(1, kind, "b1"), fault(2, "wipe", "b1")), **SYNCED)


@pytest.mark.parametrize("kind", ["isolate", "expire", "disconnect", "blackhole"])
def test_the_stop_itself_and_faults_of_links_hinder_no_flush(kind):
    assert restarted(CLEAN, faults=(fault(1, "stop", "b1"), fault(2, "cut", "writer-b1"))) == FLUSHED
    assert restarted(CLEAN, faults=(fault(1, kind, "b1"),)) == FLUSHED
    assert restarted(CRASHED, faults=(fault(1, kind, "b1"),), **SYNCED) == DURABLE


def test_other_settings_may_name_other_directories():
    assert not restarted(CLEAN, changed=frozenset({"b1"}))
    assert restarted(CLEAN, changed=frozenset({"b2"})) == FLUSHED


def test_an_operator_may_have_changed_the_files():
    command = server(0, 1, "command", 16, 16, command="rebuild_index", target="b1") | {"server": "admin"}
    events = (server(1, 1, "started", 1, 1), server(1, 1, "exit", 15, 15, **CLEAN), command)
    events += (server(1, 2, "started", 18, 18),)
    assert not found(ACK, denied(boot=2), servers=events)
    assert found(ACK, denied(boot=2), servers=(*events[:2], events[3])) == FLUSHED


def test_what_the_metadata_release_may_be_forgotten_at_a_clean_restart_too():
    assert not restarted(CLEAN, damage=("faults: torn",))
    events = (server(1, 1, "started", 1, 1), server(1, 1, "exit", 15, 15, **CLEAN))
    events += (server(1, 2, "started", 18, 18),)
    assert not found(ACK, denied(boot=2), deleted(invoked_ns=20), servers=events)


def test_the_proof_names_the_boot_that_acknowledged():
    events = (server(1, 1, "started", 1, 1), server(1, 1, "exit", 15, 15, **CLEAN))
    events += (server(1, 2, "started", 18, 18),)
    (finding,) = judgement_of(ACK, denied(boot=2), servers=events).findings
    assert finding.text == (
        "ledger 1: b1 (boot 2) denied entry 3 that it had acknowledged before a clean shutdown"
    )
    assert finding.proof[0] == (
        "b1 boot 1 answered EOK to the add of entry 3, received by 0.000000010 s; each boot from that one "
        "on was shut down cleanly"
    )
