"""Who may have changed a bookie's disk, and when."""

import pytest

from checkers.facts.alterations import alterations, disturbed
from evidence.codes import NEVER
from tests.histories.lives import fault
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
