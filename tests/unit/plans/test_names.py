"""Names in parameters, and admin commands: form always, existence when the plan's names are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from harness.steps.admin import Admin
from plans.grammar.names import (
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
from plans.reading.walk import names_of
from protocol.shell import COMMANDS

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


def test_every_command_stands_in_the_document() -> None:
    text = (Path(__file__).parents[3] / "docs" / "plan-language.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"`{name}`" not in text] == []


@pytest.mark.parametrize(
    ("command", "target", "message"),
    [
        ("decommission", None, "`decommission` needs a `target`"),
        ("trigger_audit", "b1", "`trigger_audit` takes no `target`"),
        ("decomission", "b1", "unknown admin command `decomission`; did you mean `decommission`"),
    ],
)
def test_a_command_about_a_bookie_needs_one_and_others_take_none(
    command: str, target: str | None, message: str
) -> None:
    assert Admin(command="decommission", target="b1").timeout_s == 120
    assert Admin(command="trigger_audit").target is None
    with pytest.raises(ValidationError, match=message):
        Admin(command=command, target=target)


def test_a_command_that_works_on_files_is_about_a_bookie_without_naming_it() -> None:
    assert COMMANDS["rebuild_index"].targeted
    assert COMMANDS["rebuild_index"].words("b1:3181") == ("rebuild-db-ledger-locations-index",)
    assert COMMANDS["convert_to_db_storage"].targeted
    assert COMMANDS["convert_to_interleaved_storage"].targeted
    assert COMMANDS["recover"].words("b1:3181") == ("recover", "-force", "b1:3181")


def test_a_rebuilt_index_that_threw_is_a_failure_whatever_the_shell_says() -> None:
    output = "0 1 INFO  [main] C - === Rebuilding {}\njava.io.IOException: lock\n\tat x\n0 1 INFO - Done {}\n"
    assert COMMANDS["rebuild_index"].failed(output) == "java.io.IOException: lock"
    assert COMMANDS["rebuild_index"].failed(output.replace("java.io.IOException: ", "no ")) is None
    assert COMMANDS["decommission"].failed(output) is None, "its exit code tells"


@pytest.mark.parametrize("kind", [ServerName, SourceName])
def test_autorecovery_processes_are_known_where_the_plan_has_them(kind: Any) -> None:
    names = names_of(
        {"cluster": {"bookies": 3, "autorecovery": 2}, "clients": ["w"]}, faults=None, modes=None
    )
    adapter: TypeAdapter[str] = TypeAdapter(kind)
    assert adapter.validate_python("ar2", context=names.context()) == "ar2"
    for absent, known in (("ar3", names), ("ar1", Names(bookies=("b1",), clients=()))):
        with pytest.raises(ValidationError, match=f"`{absent}`"):
            adapter.validate_python(absent, context=known.context())


def test_the_second_server_of_zookeeper_has_a_link_where_bookies_use_it() -> None:
    adapter: TypeAdapter[str] = TypeAdapter(SourceName)
    tree = {"cluster": {"zk2": ["b1"]}, "clients": ["w"]}
    used = names_of(tree, faults=None, modes=None)
    assert adapter.validate_python("zk2", context=used.context()) == "zk2"
    without = names_of({"clients": ["w"]}, faults=None, modes=None)
    with pytest.raises(ValidationError, match="`zk2`"):
        adapter.validate_python("zk2", context=without.context())


def test_admin_commands_have_links_where_the_plan_has_such_a_step() -> None:
    adapter: TypeAdapter[str] = TypeAdapter(SourceName)
    tree = {"clients": ["w"], "steps": [{"admin": {"command": "recover", "target": "b1"}}]}
    used = names_of(tree, faults=None, modes=None)
    assert adapter.validate_python("admin", context=used.context()) == "admin"
    without = names_of({"clients": ["w"]}, faults=None, modes=None)
    with pytest.raises(ValidationError, match="`admin`"):
        adapter.validate_python("admin", context=without.context())


@pytest.mark.parametrize("wrong", [True, -1, 10, "2", None])
def test_a_wrong_number_of_processes_names_none(wrong: object) -> None:
    tree = {"cluster": {"autorecovery": wrong}, "clients": ["w"]}
    assert names_of(tree, faults=None, modes=None).autorecovery == ()
