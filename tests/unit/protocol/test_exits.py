"""Which ends of a process are in order; the copying of disks and the judging of deaths both ask this."""

import pytest

from protocol.faults import unclean


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
