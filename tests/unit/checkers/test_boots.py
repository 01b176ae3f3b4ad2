"""The lives of bookies."""

from dataclasses import replace

import pytest

from checkers.facts.boots import Boot, boot_id_of, boot_name, boots_of
from protocol.faults import Loses
from tests.histories.boots import boot, configured, server
from tests.histories.story import run_facts


def boots(*rows):
    return boots_of(run_facts(servers=tuple(rows), least_loss={}))


def test_a_bookie_has_its_boots_in_their_order():
    found = boots(*boot(2, 2, began=70), *boot(2, killed=60), *boot(1))
    assert found[1] == (Boot(1, 1, 1),)
    assert found[2] == (Boot(2, 1, 1, 60, True, 60, "was killed"), Boot(2, 2, 70))
    assert 3 not in found


def test_what_takes_an_acknowledged_entry_is_said_by_the_boots_own_settings_or_else_by_the_runs():
    begun = [*boot(1), *boot(2), configured(2, journalWriteData="false"), *boot(3), configured(3)]
    found = boots_of(run_facts(servers=tuple(begun), least_loss={"b1": Loses.UNSYNCED, "b2": Loses.STORED}))
    assert [found[bookie][0].least_loss for bookie in (1, 2, 3)] == [
        Loses.UNSYNCED,
        Loses.MEMORY,
        Loses.STORED,
    ]
    assert boots(*boot(1))[1][0].least_loss is None


@pytest.mark.parametrize("value", ["FALSE", "off", "No"])
def test_a_setting_is_switched_off_by_each_word_that_a_bookie_takes_for_false(value):
    row = configured(1, journalWriteData=value)
    assert boots(*boot(1), row)[1][0].least_loss is Loses.MEMORY


@pytest.mark.parametrize(
    ("end", "unclean", "how"),
    [
        ({"signal": 9, "code": None}, True, "was killed"),
        ({"signal": 6, "code": None}, True, "was ended by signal 6"),
        ({"signal": None, "code": 2}, True, "ended with code 2"),
        ({"signal": None, "code": 143}, False, "was stopped"),
        ({"signal": 15, "code": None}, False, "was stopped"),
        ({"signal": None, "code": 0}, False, "was stopped"),
    ],
)
def test_how_a_boot_ended(end, unclean, how):
    (one,) = boots(*boot(1), server(1, 1, "exit", 50, 60, **end))[1]
    assert (one.unclean, one.how, one.dying_ns, one.ended_ns) == (unclean, how, 50, 60)


@pytest.mark.parametrize(
    ("end", "by_itself"),
    [
        ((60, 60, {"signal": None, "code": 1}), True),
        ((60, 60, {"signal": None, "code": 0}), True),
        ((60, 60, {"signal": 9, "code": None}), False),
        ((50, 60, {"signal": None, "code": 1}), False),
        ((50, 60, {"signal": None, "code": 1, "signalled": True}), False),
        ((50, 60, {"signal": None, "code": 1, "signalled": False}), True),
        ((50, 60, {"signal": 6, "code": None, "signalled": False}), False),
        ((60, 60, {"signal": None, "code": 143}), False),
    ],
)
def test_a_boot_that_exits_without_a_signal_began_to_end_before(end, by_itself):
    earliest_ns, latest_ns, how = end
    (one,) = boots(*boot(1), server(1, 1, "exit", earliest_ns, latest_ns, **how))[1]
    assert one.by_itself is by_itself


def test_a_boot_whose_start_was_not_recorded_is_none():
    assert not boots(server(1, 1, "exit", 50, 60, signal=9, code=None))


def test_the_boots_of_a_run_are_read_once_and_those_of_another_anew():
    run = run_facts(servers=tuple(boot(1)))
    assert boots_of(run) is boots_of(run)
    other = replace(run, servers=tuple(boot(2)))
    assert list(boots_of(other)) == [2]
    assert run == run_facts(servers=tuple(boot(1))), "a computed value is no separate fact"


def test_a_boot_has_a_name():
    run = run_facts()
    assert boot_name(run, boot_id_of(2, 300)) == "b2 boot 300"
    assert Boot(2, 3, 1).id == boot_id_of(2, 3)
