"""``fencepost explain`` over the modes of a stored run."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from cli.explain import command
from tests.unit.reports.stored_run import BEGAN, stored_run


def explain(results: Path, subject: str) -> Result:
    return CliRunner().invoke(command, ["bp46/truncation", subject, "--results", str(results)])


def test_a_ledger_that_only_one_mode_has_is_shown_for_that_mode(tmp_path: Path) -> None:
    protected = stored_run(tmp_path).modes[0]
    assert protected.mode == "protected"
    with protected.steps.open("a") as steps:
        steps.write(json.dumps({"step": "named", "ledger": 5, "name": "extra", "at_ns": BEGAN}) + "\n")
    done = explain(tmp_path, "extra")
    assert done.exit_code == 0, done.exception
    assert done.output.splitlines()[:3] == [
        "mode unprotected has no ledger named extra",
        "extra (ledger 5), mode protected",
        "  nothing is recorded of it",
    ]


def test_a_name_that_no_mode_has_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    stored_run(tmp_path)
    done = explain(tmp_path, "extra")
    assert str(done.exception) == "the run has no ledger named 'extra'"
    assert getattr(done.exception, "remedy", "") == "named ledgers: main"


def test_a_ledger_without_a_name_is_titled_by_its_number(tmp_path: Path) -> None:
    stored_run(tmp_path, modes=["protected"])
    assert explain(tmp_path, "7").output.splitlines()[0] == "ledger 7, mode protected"
    assert explain(tmp_path, "4:1").output.splitlines()[0] == "main (ledger 4) entry 1, mode protected"


def test_a_ledger_of_a_plan_with_rounds_is_named_with_its_round(tmp_path: Path) -> None:
    run = stored_run(tmp_path, modes=["protected"]).modes[0]
    names = [{"step": "named", "ledger": 10 + n, "name": f"each.{n}", "at_ns": BEGAN} for n in range(1, 13)]
    with run.steps.open("a") as steps:
        steps.write("".join(json.dumps(name) + "\n" for name in names))
    whole, near = explain(tmp_path, "each"), explain(tmp_path, "eech.7")
    assert str(whole.exception) == "'each' has 12 rounds"
    assert getattr(whole.exception, "remedy", "") == "name one: each.1 to each.12"
    remedy = getattr(near.exception, "remedy", "")
    assert remedy.startswith("named ledgers: each.7, ")
    assert remedy.endswith(" and 3 more")
