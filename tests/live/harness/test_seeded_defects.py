"""Every row of "What was tried" in ``docs/seeded-defects.md``, on real servers: the defect acts, and is seen.

A night runs them all; CI runs one defect of a client and one of a bookie.
"""

from __future__ import annotations

import json

import pytest

from tests.live.running import ROOT, Start, document_in

IN_CI = {"close-drops-last-entry", "integrity-skips-ledger"}


def tried() -> list[list[str]]:
    """The cells of each row: defect, scenario, mode, exit code, and what the run says."""
    page = (ROOT / "docs" / "seeded-defects.md").read_text(encoding="utf-8")
    rows = page.partition("## What was tried")[2].partition("\n## ")[0].splitlines()
    return [
        [cell.strip(" `") for cell in row.strip("|").split(" | ")] for row in rows if row.startswith("| `")
    ]


def cases() -> list[object]:
    return [
        pytest.param(*row, marks=[] if row[0] in IN_CI else pytest.mark.long, id=row[0]) for row in tried()
    ]


@pytest.mark.parametrize(("defect", "scenario", "mode", "code", "says"), cases())
def test_a_defect_acts_and_the_run_says_what_the_page_says(
    defect: str, scenario: str, mode: str, code: str, says: str, fencepost: Start
) -> None:
    run = fencepost("run", scenario, "--mode", *mode.split(), "--seed-defect", defect, "--json", "--quiet")
    ended, text = run.finish()
    run.assert_nothing_left()
    document = document_in(text)
    (judged,) = document["runs"][0]["modes"].values()
    (modified,) = judged["modified"]
    assert " times" in modified, modified
    assert (ended, says in document["reason"]) == (int(code), True), json.dumps(document["reason"])
