"""Commands of clients: what is sent, what a refused one says, and what ends the wait for a reply."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.commands import Commands, within
from evidence.codes import Outcome
from plans.grammar.steps import LedgerShape
from protocol.errors import NotReadyError, PrerequisiteError, UnplannedDeathError

FENCED = {"ok": False, "outcome": "fail", "error": "LedgerFenced", "code": -101, "message": "no"}


def commands(reply: dict[str, Any], sent: list[Any]) -> Commands:
    """A client that replies that to everything."""

    def submit(do: str, **parameters: Any) -> Any:
        sent.append((do, parameters))
        return reply

    client: Any = SimpleNamespace(name="writer", submit=submit)
    at_once: Any = lambda future, do: future  # noqa: E731
    return Commands(client, at_once)


def silent() -> Any:
    return SimpleNamespace(name="writer", submit=lambda do, **_: Future())


def test_what_is_not_asked_for_is_not_sent() -> None:
    sent: list[Any] = []
    created = commands({"id": 1, "ok": True, "ledger": 7, "bookies": ["b1"]}, sent).create("h", LedgerShape())
    assert (created.ledger, created.bookies, created.outcome) == (7, ("b1",), Outcome.OK)
    assert sent == [("create", {"handle": "h", "ensemble": 3, "write_quorum": 3, "ack_quorum": 2})]


def test_a_read_says_how_far_it_may_go() -> None:
    sent: list[Any] = []
    reader = commands({"ok": True, "entries": 2}, sent)
    reader.read("h", 0, 1)
    reader.read("h", 0, 1, unconfirmed=True)
    reader.batch_read("h", 0, 99)
    assert sent == [
        ("read", {"handle": "h", "first": 0, "last": 1}),
        ("read", {"handle": "h", "first": 0, "last": 1, "unconfirmed": True}),
        ("batch_read", {"handle": "h", "first": 0, "last": 99}),
    ]


def test_a_refused_command_says_why() -> None:
    added = commands({**FENCED, "acked": 3}, []).append("h", 10, entry_bytes=64, outstanding=1)
    assert (added.acked, added.unknown, added.outcome) == (3, 0, Outcome.FAIL)
    assert added.refusal == "LedgerFenced (-101)"
    assert not added.goes_on


def test_a_client_without_a_command_is_no_client_that_refuses() -> None:
    reply = {
        "ok": False,
        "outcome": "fail",
        "error": "BadRequest",
        "message": 'unknown command "lac", known are',
    }
    with pytest.raises(PrerequisiteError, match="writer: unknown command") as raised:
        commands(reply, []).lac("h")
    assert raised.value.remedy == "the client was built from older sources: run scripts/setup"


def test_a_wait_for_acknowledgements_that_is_over_is_no_timeout_of_bookkeepers() -> None:
    timeout = {"ok": False, "error": "Timeout", "code": None, "acked": 2}
    assert commands(timeout, []).await_acked("h", 9, 0.1).goes_on
    assert not commands({**timeout, "code": -23}, []).await_acked("h", 9, 0.1).goes_on
    assert commands(timeout, []).lac("h").refusal == "Timeout"


def test_a_reply_is_not_awaited_for_ever() -> None:
    with pytest.raises(NotReadyError, match="no reply to 'writer lac' within 0 s"):
        within(silent(), 0).lac("h")


def test_who_waits_may_end_the_wait() -> None:
    def dies() -> None:
        raise UnplannedDeathError("b1 ended on its own")

    with pytest.raises(UnplannedDeathError):
        within(silent(), 60, dies).close("h")
