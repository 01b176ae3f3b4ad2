"""A run as Markdown for an issue: found, steps, proof, settings, repeat; without private information."""

from __future__ import annotations

from pathlib import Path

from evidence.folder import read_json, write_json
from reports.issue import issue_markdown
from tests.unit.reports.stored_run import HOSTILE, stored_run


def headings(text: str) -> list[str]:
    return [line.lstrip("# ") for line in text.splitlines() if line.startswith("#")]


def test_the_worst_mode_is_told_with_its_proof(tmp_path: Path) -> None:
    text = issue_markdown(stored_run(tmp_path))
    assert headings(text) == [
        "1 of 50 acknowledged entries lost (BookKeeper 4.18.0)",
        "What was found",
        "Steps",
        "The life of main (ledger 4) entry 49",
        "Settings that matter",
        "Repeat",
    ]
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


def test_no_path_and_no_markup_of_the_evidence_is_in_it(tmp_path: Path) -> None:
    found = stored_run(tmp_path, hostile=HOSTILE)
    path = found.path / "verdict.json"
    write_json(path, read_json(path) | {"note": str(tmp_path)})
    text = issue_markdown(found)
    outside = "".join(text.split("```")[::2])
    assert "<img" not in outside
    assert str(tmp_path) not in text
