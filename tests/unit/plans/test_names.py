"""Names in parameters: form always, existence when the plan's names are known."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from plans.names import (
    BookieName,
    ClientName,
    DestinationName,
    LedgerName,
    ModeName,
    Names,
    ServerName,
    SourceName,
    TargetName,
)
from plans.reading.nearest import nearest, unknown

NAMES = Names(bookies=("b1", "b2"), clients=("writer",), ledgers=("main",), modes=("journal",))


def check(kind: Any, value: str, names: Names | None = NAMES) -> str:
    context = names.context() if names else None
    return str(TypeAdapter(kind).validate_python(value, context=context))


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        (BookieName, ["b1", "b2"], ["b3", "zk1", "writer", "any-bookie"]),
        (ClientName, ["writer"], ["b1", "observer", "reader", "any-client"]),
        (ServerName, ["b2", "zk1", "writer"], ["b3", "observer", "proxy", ""]),
        (SourceName, ["writer", "b1"], ["zk1", "observer"]),
        (DestinationName, ["b1", "zk1"], ["writer", "observer"]),
        (LedgerName, ["main"], ["other", "Main", "a-b"]),
        (ModeName, ["journal"], ["protected"]),
        (TargetName, ["b1", "writer-b2", "b1-zk1"], ["b1-", "-b1", "b1-writer", "zk1-b1", "writer-b1-b2"]),
    ],
)
def test_what_exists_and_what_does_not(kind: Any, right: list[str], wrong: list[str]) -> None:
    assert [check(kind, value) for value in right] == right
    for value in wrong:
        with pytest.raises(ValidationError):
            check(kind, value)


def test_without_a_plan_only_the_form_is_checked() -> None:
    assert check(BookieName, "b99", None) == "b99"
    assert check(ClientName, "anyone", None) == "anyone"
    for kind, value in ((BookieName, "b100"), (ClientName, "Any One"), (LedgerName, "a" * 17)):
        with pytest.raises(ValidationError):
            check(kind, value, None)


def test_placeholders_stand_in_chaos_where_they_make_sense() -> None:
    chaos = NAMES.within_chaos()
    assert check(ServerName, "any-bookie", chaos) == "any-bookie"
    assert check(SourceName, "any-client", chaos) == "any-client"
    assert check(DestinationName, "any-bookie", chaos) == "any-bookie"
    for kind, value in ((DestinationName, "any-client"), (ClientName, "any-bookie")):
        with pytest.raises(ValidationError, match="cannot stand here"):
            check(kind, value, chaos)


@pytest.mark.parametrize(
    ("name", "close"), [("kil", "kill"), ("rate", "rate_per_s"), ("xyz", None), ("re", None), ("", None)]
)
def test_the_nearest_name(name: str, close: str | None) -> None:
    assert nearest(name, ["kill", "rate_per_s", "quiet"]) == close


def test_what_is_said_of_an_unknown_name() -> None:
    assert unknown("fault", "kil", ["pause", "kill"]) == (
        "unknown fault `kil`; did you mean `kill`? Allowed: kill, pause"
    )
    assert unknown("fault", "x", []) == "unknown fault `x`; allowed: none"
