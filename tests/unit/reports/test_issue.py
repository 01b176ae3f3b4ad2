"""A run as Markdown for an issue: found, steps, proof, settings, repeat; without private information."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evidence.folder import read_json, write_json
from protocol.errors import EvidenceError
from reports.issue import issue_markdown, pages_of
from tests.unit.reports.stored_run import HOSTILE, stored_run

FINDINGS = Path(__file__).parents[3] / "docs" / "findings"
REPRODUCED = re.compile(r"^\| \*\*Reproduce\*\* \| `fencepost run ([\w/-]+)", re.M)


def headings(text: str) -> list[str]:
    return [line.lstrip("# ") for line in text.splitlines() if line.startswith("#")]


def test_the_worst_mode_is_told_with_its_proof(tmp_path: Path) -> None:
    storage = "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage"
    text = issue_markdown(stored_run(tmp_path, conf={"ledgerStorageClass": storage}))
    assert headings(text) == [
        "Bookie: 1 of 50 acknowledged entries lost (DbLedgerStorage, BookKeeper 4.18.0)",
        "Describe the bug",
        "To reproduce",
        "bookies",
        "clients",
        "Expected behavior",
        "Actual behavior",
        "How often",
        "Environment",
    ]
    assert "**BUG REPORT**" in text
    assert "The life of main (ledger 4) entry 49" in text
    assert "  - writer got ok for entry 49" in text
    assert "recovery read: ENOENTRY" in text
    assert "journalWriteData=false" in text
    assert "--mode unprotected" in text


def test_a_plan_that_was_shrunk_is_the_steps(tmp_path: Path) -> None:
    found = stored_run(tmp_path)
    (found.path / "shrunk.yaml").write_text("name: smallest\nsteps: []\n")
    assert "```yaml\nname: smallest\nsteps: []\n```" in issue_markdown(found)


def test_a_run_without_a_finding_says_so(tmp_path: Path) -> None:
    assert "No anomaly: the verdict is `valid`." in issue_markdown(stored_run(tmp_path, modes=["protected"]))


def test_a_run_that_was_not_judged_is_no_issue_yet(tmp_path: Path) -> None:
    found = stored_run(tmp_path, modes=["protected"])
    found.modes[0].verdict_json.unlink()
    with pytest.raises(EvidenceError, match="the mode protected was not judged to its end"):
        issue_markdown(found)


def test_no_path_and_no_markup_of_the_evidence_is_in_it(tmp_path: Path) -> None:
    found = stored_run(tmp_path, hostile=HOSTILE)
    path = found.path / "verdict.json"
    write_json(path, read_json(path) | {"note": str(tmp_path)})
    text = issue_markdown(found)
    outside = "".join(text.split("```")[::2])
    assert "<img" not in outside
    assert str(tmp_path) not in text


def test_the_store_says_how_often_it_was_shown(tmp_path: Path) -> None:
    found = stored_run(tmp_path)
    stored_run(tmp_path, seed=8)
    stored_run(tmp_path, seed=9, scenario="bp46/other")
    tree = read_json(found.path / "unprotected" / "verdict.json")
    kept = stored_run(tmp_path, seed=10).path / "unprotected" / "verdict.json"
    tree["judgements"]["durability"] |= {"findings": [], "verdict": "valid"}
    write_json(kept, tree | {"verdict": "valid"})
    assert "In 2 of 3 stored runs of `bp46/truncation` in mode `unprotected`" in issue_markdown(
        found, tmp_path
    )


@pytest.mark.parametrize(
    "other", [{"plan": {"vary": {"rate": 9}}}, {"user_conf": {"bookie": {"flushInterval": "9"}}}]
)
def test_a_run_with_other_parameters_or_settings_is_not_counted(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    found = stored_run(tmp_path)
    path = stored_run(tmp_path, seed=8).path / "unprotected" / "run.json"
    tree = read_json(path)
    write_json(path, tree | other | {"plan": tree["plan"] | other.get("plan", {})})
    assert "In 1 of 1 stored runs" in issue_markdown(found, tmp_path)


def test_a_run_that_did_not_decide_the_property_is_not_counted(tmp_path: Path) -> None:
    found = stored_run(tmp_path)
    path = stored_run(tmp_path, seed=8).path / "unprotected" / "verdict.json"
    tree = read_json(path)
    tree["judgements"]["durability"] |= {"findings": [], "verdict": "unknown"}
    write_json(path, tree)
    assert "In 1 of 1 stored runs" in issue_markdown(found, tmp_path)


def test_the_page_of_a_finding_is_named_and_the_bookies_errors_are_quoted_once(tmp_path: Path) -> None:
    found = stored_run(tmp_path, scenario="bp46/never-boots")
    for boot in (1, 2):
        log = found.path / "unprotected" / "servers" / "b1" / f"boot-{boot}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(
            "0 17 ERROR [main] BookieImpl - Exception while replaying journals, shutting down {}\n"
            f"0 18 ERROR [main] BookieImpl - Error reading ledger {boot}\n"
        )
    text = issue_markdown(found)
    assert text.count("Error reading ledger") == 1
    assert "`docs/findings/never-boots.md`: Bookie: after a crash" in text
    assert "b1 boot 1  ERROR [main] BookieImpl - Exception while replaying journals, shutting down {}" in text
    assert text.count("Exception while replaying") == 1
    assert "docs/findings/refused-owner.md" not in text


def test_each_page_is_found_from_the_scenario_that_its_head_names() -> None:
    named = [
        (page.name, one) for page in FINDINGS.glob("*.md") for one in REPRODUCED.findall(page.read_text())
    ]
    assert len(named) == len(list(FINDINGS.glob("*.md"))) - 2  # its README, and its method
    assert [(page, one) for page, one in named if page not in dict(pages_of(one))] == []


def test_a_run_as_stated_has_the_title_of_its_page(tmp_path: Path) -> None:
    found = stored_run(tmp_path, scenario="bp46/never-boots")
    title = f"# {dict(pages_of('bp46/never-boots'))['never-boots.md']} (BookKeeper 4.18.0)"
    assert issue_markdown(found).startswith(title)
    whole = read_json(found.path / "verdict.json")
    whole["modes"]["unprotected"]["met"] = False
    write_json(found.path / "verdict.json", whole)
    assert issue_markdown(found).startswith("# Bookie: 1 of 50 acknowledged entries lost (")


def test_a_wait_for_a_fault_is_no_step_and_a_store_without_such_a_run_is_not_quoted(tmp_path: Path) -> None:
    found = stored_run(tmp_path)
    (tmp_path / "empty").mkdir()
    before = issue_markdown(found, tmp_path / "empty")
    assert "stored runs" not in before
    path = next(one for one in found.modes if one.mode == "unprotected").steps
    written = path.read_text()
    wait = json.loads(written.splitlines()[-1]) | {"text": "f1 has acted 1 of 1 times"}
    path.write_text(f"{written}{json.dumps(wait)}\n")
    assert "f1 has acted" in issue_markdown(found)
    path.write_text(f"{written}{json.dumps(wait | {'params': {'condition': 'acted'}})}\n")
    assert issue_markdown(found, tmp_path / "empty") == before


def test_the_title_names_a_ledger_only_where_the_finding_is_of_one(tmp_path: Path) -> None:
    found = stored_run(tmp_path)
    path = found.path / "unprotected" / "verdict.json"
    tree = read_json(path)
    (finding,) = tree["judgements"]["durability"]["findings"]
    for ledger, where in ((9, " in ledger 9"), (-1, "")):
        finding |= {"kind": "vanished", "ledger": ledger}
        write_json(path, tree)
        assert f": vanished, {finding['count']}{where} (" in issue_markdown(found).splitlines()[0]
