"""Whether every add of a writer was answered as it should be, and at once."""

import pytest

from checkers.found import Found
from checkers.recovery.writers import AT_ONCE_NS, Writers, writer_rows
from checkers.sets.spans import ints
from evidence.codes import Message, Status
from tests.histories.exchanges import frame
from tests.histories.lives import said
from tests.histories.story import WRITER, chunk, facts, run_facts


def smooth(*parts):
    return Writers(Found.of(*writer_rows(chunk(facts(*parts)), ints([1, 2]))), run_facts())


def exchange(bookie, **answer):
    """An add of entry 0 and its answer."""
    sent = frame(Message.ADD, entry=0, bookie=bookie, seq=bookie)
    return [sent, said(Message.ADD, bookie, 10, entry=0, **{"source": WRITER, **answer})]


def test_as_many_adds_as_are_due_were_sent_and_answered():
    seen = smooth(exchange(1), exchange(2))
    assert seen.answered(1, WRITER, 2)
    assert seen.answered(1, WRITER, 1)
    assert not seen.answered(1, WRITER, 3)
    assert not seen.answered(2, WRITER, 1)


@pytest.mark.parametrize(
    ("answer", "good"),
    [
        ({"forwarded_ns": 10 + AT_ONCE_NS}, True),
        ({"forwarded_ns": 11 + AT_ONCE_NS}, False),
        ({"status": Status.EFENCED}, False),
        ({"rule": 1}, False),
    ],
)
def test_an_answer_is_good_when_it_is_eok_by_itself_and_within_a_second(answer, good):
    assert smooth(exchange(1, **answer)).answered(1, WRITER, 1) is good


def test_an_add_without_an_answer_is_not_smooth():
    assert not smooth(exchange(1), exchange(2)[:1]).answered(1, WRITER, 1)
