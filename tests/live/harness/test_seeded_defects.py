"""Every row of "What was tried" in ``docs/seeded-defects.md``, on real servers: the defect acts, and is seen.

A night runs them all; CI runs one defect of a client, and one of a bookie in ``test_sensitivity.py``.
"""

from __future__ import annotations

import json

import pytest

from tests.live.running import ROOT, Start, document_in

pytestmark = pytest.mark.usefixtures("without_spark")
FORCE = """\
name: test/forced-too-soon
source: {document: BP-14, section: force}
about: The client takes a force for confirmed after one bookie too few; the other's confirmation comes late.
cluster: {bookies: 2, seed_defects: [ack-quorum-minus-one]}
clients: [writer]
modes: [journal]
control: {nothing: a test}
steps:
  - create: {client: writer, ledger: main, ensemble: 2, write_quorum: 2, ack_quorum: 2, deferred: true}
  - append: {client: writer, ledger: main, entries: 20, outstanding: 1}
  - delay: {from: writer, to: b2, kinds: [force], way: answers, delay_ms: 3000, as: late}
  - force: {client: writer, ledger: main}
  - wait_for: {condition: acted, fault: late, times: 1}
  - heal: {}
expect:
  journal:
    - breaks: {property: lac, kind: acked_too_soon, ledger: main}
    - breaks: {property: lac, kind: forced_too_soon, ledger: main, count: 1}
"""
IN_CI = "close-drops-last-entry"


def tried() -> list[list[str]]:
    """The cells of each row: defect, scenario, mode, exit code, and what the run says."""
    page = (ROOT / "docs" / "seeded-defects.md").read_text(encoding="utf-8")
    rows = page.partition("## What was tried")[2].partition("\n## ")[0].splitlines()
    return [
        [cell.strip(" `") for cell in row.strip("|").split(" | ")] for row in rows if row.startswith("| `")
    ]


def cases() -> list[object]:
    return [
        pytest.param(*row, marks=[] if row[0] == IN_CI else pytest.mark.long, id=row[0]) for row in tried()
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


@pytest.mark.long
def test_a_force_that_one_bookie_too_few_confirmed_is_found(fencepost: Start) -> None:
    fencepost("run", FORCE).ends(0)
