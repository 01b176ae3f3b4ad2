"""Who may have changed a bookie's disk, and when."""

import pytest

from checkers.facts.alterations import alterations, disturbed
from evidence.codes import NEVER
from tests.histories.boots import boot, commanded, fault
from tests.histories.story import run_facts

EVERYBODY = set(range(1, 10))


@pytest.mark.parametrize(
    ("faults", "hit"),
    [
        ([fault(kind=kind) for kind in ("kill", "stop", "pause", "isolate", "power_loss")], set()),
        ([fault(kind="wipe", target="b2")], {2}),
        ([fault(kind="wipe", target="b2", injected_ns=NEVER)], set()),
        ([fault(kind="wipe", target="everything")], EVERYBODY),
        ([fault(kind="wipe_metadata", target="zookeeper")], EVERYBODY),
        ([fault(kind="a kind of another version", target="writer-b2")], EVERYBODY),
    ],
)
def test_a_fault_that_is_not_known_to_be_harmless_may_change_a_disk(faults, hit):
    assert disturbed(run_facts(faults=tuple(faults))) == hit


@pytest.mark.parametrize(("kind", "done_ns"), [("wipe", 2), ("corrupt", 40), ("read_only", 40), ("new", 40)])
def test_what_is_gone_is_gone_at_once_and_what_is_damaged_may_be_met_until_it_is_healed(kind, done_ns):
    (change,) = alterations(run_facts(faults=(fault(kind=kind, healed_ns=40),)))
    assert (change.bookies, change.began_ns, change.done_ns, change.over_ns) == ({1}, 2, done_ns, 40)


def changes(*rows):
    return [(one.bookies, one.began_ns, one.over_ns, one.by) for one in alterations(run_facts(servers=rows))]


def test_a_command_on_a_bookies_own_files_changes_them_from_its_beginning_to_its_end():
    first = [*commanded("b2", at=10, until=20), *boot(1, killed=50)]
    second = commanded("b3", at=30, until=40, command="rebuild_ledgers_index", number=2)
    assert changes(*first, *second) == [
        ({2}, 10, 20, "an operator's rebuild_index"),
        ({3}, 30, 40, "an operator's rebuild_ledgers_index"),
    ]


def test_a_command_whose_end_was_not_recorded_goes_on():
    assert changes(*commanded("b2", at=10)) == [({2}, 10, NEVER, "an operator's rebuild_index")]


def test_a_command_on_the_metadata_store_changes_no_disk_and_an_unknown_one_may():
    assert changes(*commanded("b2", at=10, until=20, command="cookie_delete")) == []
    assert changes(*commanded("b2", at=10, until=20, command="of another version"))
