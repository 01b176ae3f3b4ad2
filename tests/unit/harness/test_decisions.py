"""What clients decided: read from the recorded steps, and shown as a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evidence.folder import RunFolder
from harness.judging import decisions
from plans.decisions import Decided, Decision
from reports.decisions import decision_lines, decision_table

RECOVER = {"step": "recover", "params": {"client": "reader", "ledger": "fig9"}, "round": 2, "began_ns": 5}
MET = Decided("fig8", "two negatives close the ledger", "ok", "ok, last entry -1", "", 1, 1, True, False)
DIFFERS = Decided(
    "fig9",
    "the recoverer cannot tell whether entry 11 was acknowledged and must not close | or must wait",
    "unknown",
    "ok, last entry 10",
    "closes",
    0,
    1,
    False,
    True,
    (1,),
)


def recorded(tmp_path: Path, *records: dict[str, Any]) -> list[Decision]:
    folder = RunFolder.create(tmp_path, "protected")
    folder.steps.write_text("".join(json.dumps(one) + "\n" for one in records))
    return list(decisions(folder))


def test_a_read_a_tail_and_an_append_tell_what_they_learned(tmp_path: Path) -> None:
    read = RECOVER | {"step": "read", "outcome": "ok", "facts": {"entries": 5, "lac": 4}}
    fenced = {"entries": 0, "lac": -1, "error": "LedgerFenced", "code": -101}
    append = RECOVER | {"step": "append", "outcome": "unknown", "facts": fenced}
    tail = RECOVER | {"step": "tail", "outcome": "ok", "facts": {"entries": 7}}
    assert [str(one) for one in recorded(tmp_path, read, tail, append)] == [
        "ok, entries 5, LAC 4",
        "ok, entries 7",
        "unknown, entries 0, LAC -1, LedgerFenced (-101)",
    ]


def test_recover_and_close_decide_and_an_open_does_not(tmp_path: Path) -> None:
    ok = RECOVER | {"outcome": "ok", "facts": {"last_entry": 10}}
    refused = RECOVER | {"outcome": "unknown", "facts": {"error": "LedgerFenced", "code": -101}}
    found = recorded(
        tmp_path,
        {"step": "named", "ledger": 0, "name": "fig9.1"},
        ok,
        refused,
        ok | {"step": "close"},
        ok | {"step": "open"},
        RECOVER | {"error": "no reply"},
    )
    assert [(one.step, one.round, str(one)) for one in found] == [
        ("recover", 2, "ok, last entry 10"),
        ("recover", 2, "unknown, LedgerFenced (-101)"),
        ("close", 2, "ok, last entry 10"),
    ]


def test_a_run_recorded_before_there_were_rounds_has_one(tmp_path: Path) -> None:
    (one,) = recorded(tmp_path, {key: RECOVER[key] for key in RECOVER if key != "round"} | {"outcome": "ok"})
    assert (one.round, one.last_entry) == (1, None)


def test_the_table_has_a_row_for_each_decision_and_wraps_long_cells() -> None:
    lines = list(decision_lines([MET, DIFFERS]))
    assert lines[0][0].split() == ["case", "document", "decision", "difference"]
    assert "fig8  two negatives close the ledger" in lines[1][0]
    assert lines[1][0].endswith("-")
    assert all(len(text) < 140 for text, _ in lines)
    assert len(lines) == 5
    assert [style for _, style in lines] == ["dim", "", "red", "red", "red"]
    assert list(decision_lines([])) == []


def test_the_markdown_table_says_what_was_not_as_stated() -> None:
    _, _, met, differs = decision_table([MET, DIFFERS])
    assert met == "| fig8 | two negatives close the ledger | ok, last entry -1 | - | yes |"
    assert differs.endswith("| ok, last entry 10 | closes | NO |")
    assert "\\| or" in differs
