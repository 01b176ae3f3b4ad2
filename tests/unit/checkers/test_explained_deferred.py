"""A loss of power may take an add that was deferred and not forced on its bookie afterwards."""

import pytest

from evidence.codes import Message
from protocol.faults import Loses
from tests.histories.boots import said, took
from tests.histories.story import closed, deferred, forced, found, kept, opened
from tests.unit.checkers.test_explained import (
    BORN,
    KILLS,
    POWER_LOSS,
    UNDETERMINED,
    UNEXPLAINED,
    classes,
    denied,
)


@pytest.mark.parametrize(
    ("forced_ns", "faults", "expected"),
    [
        (None, POWER_LOSS, UNDETERMINED),
        (102, POWER_LOSS, UNDETERMINED),
        (103, POWER_LOSS, UNEXPLAINED),
        (None, KILLS, UNEXPLAINED),
    ],
)
def test_a_loss_of_power_takes_a_deferred_add_that_its_bookie_acknowledged_after_its_force(
    forced_ns, faults, expected
):
    """The others had it when the client forced the ledger, and what became of them is another matter."""
    at = {"least_loss": dict.fromkeys(("b1", "b3"), Loses.STORED)}
    history = [deferred(0), deferred(1), forced(1), BORN, closed(1), opened(1), kept(0), found(0), denied(1)]
    asked = [] if forced_ns is None else [said(Message.FORCE, 3, forced_ns + 9, asked_ns=forced_ns)]
    assert classes(history, took(1, 3, 101), asked, faults=faults, **at) == expected
