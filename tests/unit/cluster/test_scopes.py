"""Everything begun is ended in reverse, and no error hides another."""

from __future__ import annotations

import pickle
from contextlib import contextmanager

import pytest

from cluster.processes.scopes import Scopes, TeardownError


def fail(what: str) -> None:
    raise OSError(what)


def test_ends_come_in_reverse_also_after_one_failed() -> None:
    ended: list[str] = []
    with pytest.raises(TeardownError) as raised, Scopes() as scopes:
        scopes.on_end("first", lambda: ended.append("first"))
        scopes.on_end("second", lambda: fail("disk"))
        scopes.on_end("third", lambda: fail("network"))
        scopes.on_end("fourth", lambda: ended.append("fourth"))
    assert ended == ["fourth", "first"]
    assert "third: OSError: network; second: OSError: disk" in str(raised.value)
    carried = pickle.loads(pickle.dumps(raised.value))  # from the process that records a run
    assert (type(carried), str(carried)) == (TeardownError, str(raised.value))


def test_the_error_of_the_body_goes_on_and_carries_the_others() -> None:
    with pytest.raises(ZeroDivisionError) as raised, Scopes() as scopes:
        scopes.on_end("the server", lambda: fail("disk"))
        _ = 1 / 0
    assert raised.value.__notes__ == ["while ending the server: OSError: disk"]


def test_a_context_manager_is_entered_once_and_left_once() -> None:
    steps: list[str] = []

    @contextmanager
    def scope():  # type: ignore[no-untyped-def]
        steps.append("in")
        yield 7
        steps.append("out")

    with Scopes() as scopes:
        assert scopes.enter("it", scope()) == 7
        assert scopes.close() == []
    assert steps == ["in", "out"]


def test_an_interrupt_goes_on_when_everything_had_its_turn() -> None:
    ended: list[str] = []

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Scopes() as scopes:
        scopes.on_end("first", lambda: ended.append("first"))
        scopes.on_end("second", interrupted)
    assert ended == ["first"]
