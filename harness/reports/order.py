"""What ``fencepost report`` was asked for: which page of which runs."""

from __future__ import annotations

from pathlib import Path

from harness.bundles.opening import is_bundle, opened
from harness.reports.index.writing import write_index
from harness.reports.issue import issue_markdown
from harness.reports.page.writing import write_page
from protocol.errors import UsageError


def report(results: Path, run: str | None) -> Path:
    """Write the page of a run, or without one the index over all; return where.

    Raises ``EvidenceError`` when there is no such run, ``UsageError`` when there are no results at all.
    """
    if run is not None:
        with opened(results, run, tables=True) as found:
            beside = Path(run).with_suffix(".html") if is_bundle(run) else None
            return write_page(found, beside)
    if not results.is_dir():
        raise UsageError(
            f"{results} is no folder of results", remedy="--results names another; `fencepost run` makes one"
        )
    return write_index(results)


def issue_text(results: Path, run: str) -> str:
    """The run as Markdown for an issue; ``EvidenceError`` when there is no such run."""
    with opened(results, run, tables=True) as found:
        return issue_markdown(found)
