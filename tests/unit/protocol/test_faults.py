"""What kinds of fault do to servers."""

import pytest

from protocol.faults import EFFECTS, UNPLANNED, Loses, effects_of, unclean


def having(**wanted: object) -> set[str]:
    return {
        kind
        for kind, effects in EFFECTS.items()
        if all(getattr(effects, name) == value for name, value in wanted.items())
    }


def test_what_ends_processes_is_down_and_so_is_what_pauses_them() -> None:
    assert having(ends=True) == {"kill", "stop", "power_loss"}
    assert having(down=True) == {"kill", "stop", "power_loss", "pause"}


def test_what_takes_more_than_an_unclean_end_may() -> None:
    stored = having(loses=Loses.STORED)
    assert stored == {"wipe", "corrupt", "swap_disks", "read_only", "wipe_metadata", "restore_metadata"}
    assert having(loses=Loses.UNSYNCED) == {"power_loss"}
    assert having(at_once=True) == {"kill", "stop", "power_loss", UNPLANNED, "wipe", "corrupt"}


def test_a_loss_of_power_of_the_process_alone_takes_what_a_kill_takes() -> None:
    power = effects_of("power_loss")
    assert power.loses_with({"level": "process"}) is Loses.MEMORY
    assert power.loses_with({"level": "power"}) is power.loses_with({}) is Loses.UNSYNCED
    assert effects_of("wipe").loses_with({"level": "process"}) is Loses.STORED


def test_which_step_undoes_it() -> None:
    assert having(undone_by="start") == {"kill", "stop"}
    assert having(undone_by="resume") == {"pause"}


def test_a_kind_that_nobody_knows_may_take_anything_and_is_no_excuse_for_a_death() -> None:
    assert effects_of("of another version").loses is Loses.STORED
    assert not effects_of("of another version").ends


@pytest.mark.parametrize(
    ("signal", "code", "expected"),
    [
        (None, 0, False),
        (None, 143, False),
        (15, None, False),
        (None, None, False),
        (9, None, True),
        (6, None, True),
        (None, 1, True),
        (None, 137, True),
        (15, 1, True),
    ],
)
def test_an_end_is_in_order_or_unclean(signal: int | None, code: int | None, expected: bool) -> None:
    assert unclean(signal=signal, code=code) is expected
