"""Admin commands and autorecovery in plans: which bookie, which names, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from harness.steps.admin import Admin
from plans.names import Names, ServerName, SourceName
from plans.reading.walk import names_of
from protocol.shell import COMMANDS


def test_every_command_stands_in_the_document() -> None:
    text = (Path(__file__).parents[3] / "docs" / "plans.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"`{name}`" not in text] == []


def test_a_command_about_a_bookie_needs_one() -> None:
    assert Admin(command="decommission", target="b1").timeout_s == 120
    with pytest.raises(ValidationError, match="`decommission` needs a `target`"):
        Admin(command="decommission")


def test_a_command_about_the_cluster_takes_none() -> None:
    assert Admin(command="trigger_audit").target is None
    with pytest.raises(ValidationError, match="`trigger_audit` takes no `target`"):
        Admin(command="trigger_audit", target="b1")


def test_an_unknown_command_is_told_with_the_nearest() -> None:
    with pytest.raises(
        ValidationError, match=r"unknown admin command `decomission`; did you mean `decommission`"
    ):
        Admin(command="decomission", target="b1")


def test_a_command_that_works_on_files_is_about_a_bookie_without_naming_it() -> None:
    assert COMMANDS["rebuild_index"].targeted
    assert COMMANDS["rebuild_index"].words("b1:3181") == ("rebuild-db-ledger-locations-index",)
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


@pytest.mark.parametrize("wrong", [True, -1, 10, "2", None])
def test_a_wrong_number_of_processes_names_none(wrong: object) -> None:
    tree = {"cluster": {"autorecovery": wrong}, "clients": ["w"]}
    assert names_of(tree, faults=None, modes=None).autorecovery == ()
