"""Progress is made where the protocol promises it, once everything is healed."""

import pytest

from evidence.codes import NEVER, Message, Outcome
from evidence.findings import Verdict
from protocol.faults import Loses
from tests.histories.asking import EIO, answered, asked, write_back
from tests.histories.boots import boot, commanded, fault, said, server
from tests.histories.story import (
    OBSERVER,
    READER,
    acked,
    closed,
    created,
    deleted,
    facts,
    good_ending,
    judged,
    judging,
    opened,
    recovering,
    vanished,
)

RECOVERY, TIMEOUT = -10, -23
BOOKIES = {"b1": 1, "b2": 2, "b3": 3}
UP = (*boot(1), *boot(2), *boot(3))
availability = judging("availability", bookies=BOOKIES, servers=UP)


def refused(error=RECOVERY, at_ns=100, **columns):
    """A final open with recovery that did not succeed, from a time to 0.000000009 s later."""
    times = {"invoked_ns": at_ns, "completed_ns": at_ns + 9}
    return opened(-1, **{"outcome": Outcome.UNKNOWN, "error": error, **times, **columns})


def test_everything_was_opened_and_read():
    judgement = availability(acked(0), acked(1), good_ending(1))
    assert judgement.verdict is Verdict.VALID
    assert judgement.seen == {"opened": 1, "refused": 0, "stalled": 0, "delivered": 2, "denied": 0}


def test_nobody_looked():
    assert availability(acked(0), created(), closed(0)).verdict is Verdict.UNKNOWN


OPEN = [created(), recovering()]
S = 10**9


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (said(Message.RECOVERY_READ, 1, 100, source=OBSERVER, received_ns=100 + 5 * S), Verdict.ANOMALY),
        (said(Message.RECOVERY_READ, 1, 100, source=OBSERVER, received_ns=101 + 5 * S), Verdict.UNKNOWN),
        (said(Message.RECOVERY_READ, 1, 100, source=READER, received_ns=101 + 5 * S), Verdict.ANOMALY),
        (
            said(Message.RECOVERY_READ, 1, 100, source=OBSERVER, ledger=2, received_ns=101 + 5 * S),
            Verdict.ANOMALY,
        ),
        (said(Message.RECOVERY_READ, 1, -6 * S, source=OBSERVER, received_ns=100), Verdict.ANOMALY),
        (said(Message.RECOVERY_READ, 1, 100, source=OBSERVER, received_ns=NEVER), Verdict.ANOMALY),
    ],
)
def test_a_recovery_may_have_timed_out_if_a_bookie_answered_it_late(answer, verdict):
    judgement = availability(OPEN, refused(), answer, wire=True)
    assert judgement.verdict is verdict
    if verdict is Verdict.UNKNOWN:
        assert judgement.notes[0].endswith("(1 attempt, error -10): b1 took over 5 s for an answer")
        assert judgement.undecided == (1,)


LONG = refused(completed_ns=100 + 30 * S)


def test_a_recovery_may_have_timed_out_if_a_bookie_answered_it_not_at_all():
    silent = [asked("observer", bookie, write_back(0), at=110) for bookie in ("b1", "b2")]
    judgement = availability(OPEN, LONG, silent, wire=True)
    assert (judgement.verdict, judgement.findings) == (Verdict.UNKNOWN, ())
    assert judgement.notes[0].endswith("b1 gave no answer within 5 s; b2 gave no answer within 5 s")
    answers = [answered("observer", bookie, write_back(0), EIO, at=111) for bookie in ("b1", "b2")]
    assert availability(OPEN, LONG, silent, answers, wire=True).findings
    assert not availability(OPEN, LONG, silent, answers[:1], wire=True).findings


@pytest.mark.parametrize(
    "request_",
    [
        asked("observer", "b1", write_back(0), at=100 + 25 * S),
        asked("observer", "b1", write_back(0), at=99),
        asked("observer", "b1", write_back(0), at=110, ledger=2),
        asked("reader", "b1", write_back(0), at=110),
    ],
)
def test_a_request_of_another_time_or_client_or_ledger_explains_no_failure(request_):
    assert availability(OPEN, LONG, request_, wire=True).findings


def test_without_a_wire_log_an_open_that_lasted_long_may_have_timed_out():
    assert availability(OPEN, refused(completed_ns=100 + 5 * S)).findings
    judgement = availability(OPEN, refused(completed_ns=101 + 5 * S))
    assert judgement.verdict is Verdict.UNKNOWN
    assert judgement.notes[0].endswith("an open lasted over 5 s, and the run has no wire log")


def test_a_wire_log_with_gaps_may_lack_a_late_answer():
    assert not availability(OPEN, refused(), wire=True, damage=("frames: 3 records lost",)).findings


def test_a_recovery_is_stuck_when_no_bookie_had_lost_state():
    verdict = judged(OPEN, refused(), refused(at_ns=200), bookies=BOOKIES, servers=UP)
    (finding,) = verdict.judgements["availability"].findings
    assert finding.kind == "stuck"
    assert finding.proof == (
        "metadata version 1: IN_RECOVERY",
        "opens with recovery between 0.000000100 s and 0.000000209 s were refused (2 attempts, error -10)",
        "every bookie was up all the while; of write set b1, b2, b3, AQ 2, none had lost state",
    )
    assert "availability: 1 recovery stuck" in verdict.headline


@pytest.mark.parametrize(
    ("about", "kind"), [({"ledgerId": 1}, "key_lost"), ({"ledgerId": 2}, "stuck"), ({}, "stuck")]
)
def test_a_recovery_that_is_stuck_for_a_lost_key_is_named_so(about, kind):
    refusal = server(1, 2, "key_refused", 40, 40, **about)
    judgement = availability(OPEN, refused(), servers=(*once_killed(1), refusal))
    assert [finding.kind for finding in judgement.findings] == [kind]
    assert judgement.counts[kind] == 1
    named = "b1 refused the ledger's key, by its log" in judgement.findings[0].proof
    assert named is (kind == "key_lost")


def test_a_key_that_an_earlier_boot_refused_explains_nothing():
    refusal = server(1, 1, "key_refused", 15, 15, ledgerId=1)
    judgement = availability(OPEN, refused(), servers=(*once_killed(1), refusal))
    assert [finding.kind for finding in judgement.findings] == ["stuck"]


def test_a_stuck_recovery_counts_though_the_plan_does_not_require_it():
    verdict = judged(OPEN, refused(), bookies=BOOKIES, servers=UP, required=("order",))
    assert verdict.verdict is Verdict.ANOMALY


def once_killed(*bookies):
    return tuple(
        row
        for bookie in (1, 2, 3)
        for row in (
            [*boot(bookie, killed=20), *boot(bookie, 2, began=30)] if bookie in bookies else boot(bookie)
        )
    )


@pytest.mark.parametrize(
    ("killed", "ack_quorum", "stuck"),
    [((), 2, True), ((1,), 2, True), ((1, 2), 2, False), ((1, 2), 3, True), ((1,), 1, False), ((), 1, True)],
)
def test_fewer_than_an_ack_quorum_of_lost_states_promise_progress(killed, ack_quorum, stuck):
    versions = [created(ack_quorum=ack_quorum), recovering(ack_quorum=ack_quorum)]
    judgement = availability(versions, refused(), servers=once_killed(*killed))
    assert [finding.kind for finding in judgement.findings] == ["stuck"] * stuck
    if not stuck:
        assert judgement.verdict is Verdict.VALID
        assert judgement.seen["stalled"] == 1
        (note,) = judgement.notes
        assert note.startswith("ledger 1: stalled as promised (1 attempt, error -10): b1 boot 1 was killed")


@pytest.mark.parametrize("killed", [(1, 2), (1, 2, 3)])
def test_a_kill_takes_nothing_from_a_bookie_that_journals(killed):
    synced = {"least_loss": dict.fromkeys(BOOKIES, Loses.STORED)}
    judgement = availability(OPEN, refused(), servers=once_killed(*killed), **synced)
    (finding,) = judgement.findings
    assert finding.kind == "stuck" and "none had lost state" in finding.proof[-1]


def test_a_loss_of_power_takes_state_only_from_an_unsynced_journal():
    lost = {"servers": once_killed(1, 2), "faults": [fault(kind="power_loss", target="b1,b2")]}
    for least, stalled in ((Loses.UNSYNCED, 1), (Loses.STORED, 0)):
        judgement = availability(OPEN, refused(), least_loss=dict.fromkeys(BOOKIES, least), **lost)
        assert judgement.seen["stalled"] == stalled


def test_a_bookie_whose_files_an_operator_worked_on_may_have_lost_state():
    judgement = availability(OPEN, refused(), servers=(*once_killed(1), *commanded("b2", at=40, until=50)))
    assert judgement.seen["stalled"] == 1
    assert "what b2's disk holds was changed by an operator's rebuild_index" in judgement.notes[0]


class Read(tuple):
    """Rows that count how often they are iterated over."""

    __slots__ = ()
    walks = 0

    def __iter__(self):
        Read.walks += 1
        return super().__iter__()


def test_many_refused_ledgers_do_not_read_the_events_of_servers_again_and_again():
    def walks(number):
        Read.walks = 0
        ledgers = range(1, number + 1)
        history = [
            (created(ledger=one), recovering(ledger=one), refused(at_ns=100 + one, ledger=one))
            for one in ledgers
        ]
        judgement = availability(history, servers=Read(once_killed(1)))
        assert judgement.counts["stuck"] == number
        return Read.walks

    assert walks(1) == walks(20)


def test_every_write_set_of_the_last_ensemble_counts_and_no_other():
    shape = {"ensemble": 3, "write_quorum": 2, "ack_quorum": 2}
    versions = [created(**shape), recovering(**shape)]
    assert not availability(versions, refused(), servers=once_killed(1, 2)).findings
    assert availability(versions, refused(), servers=once_killed(1)).findings
    four = {**BOOKIES, "b4": 4, "b5": 5}
    fragments = {0: ("b1", "b2", "b3"), 4: ("b3", "b4", "b5")}
    boots = {"bookies": four, "servers": (*once_killed(1, 2), *boot(4), *boot(5))}
    versions = [created(**shape), recovering(**shape, fragments=fragments)]
    assert availability(versions, refused(), **boots).findings


def read_only(*times):
    """b1 and b2 are registered as read-only from a time, and until one if it is given."""
    events = [*zip(times, ("readonly_created", "readonly_gone"), strict=False)]
    return (*UP, *(server(bookie, 0, name, at, at) for bookie in (1, 2) for at, name in events))


DOUBTS = {
    "bookies were read-only": {"servers": read_only(50)},
    "bookies became writable meanwhile": {"servers": read_only(50, 100)},
    "bookies became read-only meanwhile": {"servers": read_only(109)},
    "a bookie was down": {"servers": (*boot(1), *boot(2), *boot(3, stopped=50))},
    "a bookie came up meanwhile": {"servers": (*boot(1), *boot(2), *boot(3, began=105))},
    "a bookie went down meanwhile": {"servers": (*boot(1), *boot(2), *boot(3, stopped=105))},
    "a bookie ended by itself later": {"servers": (*UP, server(3, 1, "exit", 110, 110, code=1, signal=None))},
    "a bookie was never seen": {"servers": (*boot(1), *boot(2))},
    "a fault was in force": {"faults": (fault(kind="hold", target="writer-b1", healed_ns=101),)},
    "a fault was never healed": {"faults": (fault(kind="hold", target="writer-b1", healed_ns=NEVER),)},
    "ZooKeeper had died": {
        "faults": (fault(-1, "unplanned", "zk1", injected_ns=NEVER, confirmed_ns=50, healed_ns=NEVER),)
    },
}


@pytest.mark.parametrize("doubt", DOUBTS)
def test_where_something_was_still_broken_nobody_is_stuck(doubt):
    judgement = availability(OPEN, refused(), **DOUBTS[doubt])
    assert not judgement.findings
    assert judgement.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    "run",
    [
        {"servers": read_only(50, 99)},
        {"servers": read_only(110)},
        {"faults": (fault(kind="hold", target="writer-b1", healed_ns=99),)},
        {"faults": (fault(injected_ns=NEVER, confirmed_ns=NEVER, healed_ns=NEVER),)},
        {"faults": (fault(-1, "unplanned", "writer", injected_ns=NEVER, confirmed_ns=50),)},
        {"servers": (*boot(1, killed=110), *boot(2, killed=110), *boot(3, killed=110))},
    ],
)
def test_what_was_healed_before_or_is_no_part_of_it_excuses_nothing(run):
    assert availability(OPEN, refused(), **run).findings


def test_a_disk_that_a_fault_changed_is_lost_state():
    wiped = (fault(1, "wipe", "b1"), fault(2, "wipe", "b2"))
    judgement = availability(OPEN, refused(), faults=wiped)
    assert not judgement.findings and judgement.seen["stalled"] == 1


def test_after_a_garble_nobody_knows_what_bookies_hold():
    garbled = fault(1, "garble", "writer-b1")
    judgement = availability(OPEN, refused(), faults=(garbled,))
    assert judgement.verdict is Verdict.UNKNOWN and not judgement.findings
    assert judgement.notes[0].endswith("a fault of the run may have changed what bookies were sent")
    assert availability(OPEN, refused(), faults=({**garbled, "injected_ns": NEVER},)).findings
    stalled = availability(OPEN, refused(), faults=(garbled,), servers=once_killed(1, 2))
    assert stalled.seen["stalled"] == 1 and stalled.verdict is Verdict.VALID


@pytest.mark.parametrize(
    "history",
    [
        *([OPEN, refused(error)] for error in (0, -8, -9, -15, -17, -18, -19, TIMEOUT, -999)),
        [OPEN, refused(-25)],
        [OPEN, refused(-25), refused(at_ns=200)],
        [OPEN, refused(outcome=Outcome.PENDING, error=0, completed_ns=NEVER)],
        [created(), closed(3), refused()],
        [refused()],
        [created(fragments={0: ("b1", "b2", "b9")}), refused()],
        [created(write_quorum=4), refused()],
        [created(fragments={0: ("b1", "b2")}), refused()],
        [created(fragments={}), refused()],
    ],
)
def test_refusals_that_say_nothing_of_the_bookies_answers(history):
    judgement = availability(*history)
    assert not judgement.findings
    assert judgement.verdict is Verdict.UNKNOWN
    assert "could not be opened at the end" in judgement.notes[0]


@pytest.mark.parametrize(
    "history",
    [
        [OPEN, refused(), opened(-1)],
        [OPEN, refused(), deleted()],
        [OPEN, refused(), vanished()],
        [OPEN, refused(-25), vanished()],
        [refused(-25)],
    ],
)
def test_a_ledger_that_was_opened_later_or_is_gone_is_not_stuck(history):
    judgement = availability(acked(0, ledger=2), good_ending(0, ledger=2), *history)
    assert judgement.verdict is Verdict.VALID


@pytest.mark.parametrize("table", ["operations", "census", "ledgers", "servers", "faults"])
def test_damage_leaves_it_unknown(table):
    history = facts(OPEN, refused(), acked(0, ledger=2), good_ending(0, ledger=2))
    judgement = availability(history, damage=(f"{table}: something is missing",))
    assert judgement.verdict is Verdict.UNKNOWN and not judgement.findings
    assert availability(history, damage=("frames: something is missing",)).findings
