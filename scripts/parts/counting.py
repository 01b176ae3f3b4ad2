"""Counting tests: from JUnit reports (pytest, surefire) and from ``go test -json``.

Standard library only; runs nothing.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Counts:
    """How many tests passed, failed (errors included) and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, passed: int = 0, failed: int = 0, skipped: int = 0) -> None:
        """Count these too."""
        self.passed += passed
        self.failed += failed
        self.skipped += skipped

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def junit(reports: Iterable[Path], *, newer_than: float = 0) -> Counts:
    """The sum over JUnit files that exist and were written after ``newer_than`` (seconds since 1970)."""
    counts = Counts()
    for report in reports:
        if not report.is_file() or report.stat().st_mtime < newer_than:
            continue
        root = ElementTree.parse(report).getroot()  # noqa: S314  # written by our own tools a moment ago
        for suite in [root] if root.tag == "testsuite" else root.findall("testsuite"):
            failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            skipped = int(suite.get("skipped", 0))
            counts.add(int(suite.get("tests", 0)) - failed - skipped, failed, skipped)
    return counts


def go(log: Path) -> tuple[Counts, str]:
    """The counts of ``go test -json``, and the output of whatever failed."""
    counts = Counts()
    said: dict[tuple[str, str], str] = {}
    failures = ""
    for line in log.read_text(errors="replace").splitlines():
        event = _event(line)
        key = event.get("Package", event.get("ImportPath", "")), event.get("Test", "")
        action = event.get("Action")
        said[key] = said.get(key, "") + event.get("Output", "")
        if action == "fail":
            failures += said[key]
        if key[1]:
            counts.add(int(action == "pass"), int(action == "fail"), int(action == "skip"))
    return counts, failures


def with_code(counts: Counts, code: int) -> Counts:
    """A command that failed without a failed test (it broke earlier) is one failure more."""
    if code != 0 and counts.failed == 0:
        counts.add(failed=1)
    return counts


def _event(line: str) -> dict[str, str]:
    try:
        event = json.loads(line)
    except ValueError:
        return {"Action": "output", "Output": line + "\n"}
    return {key: str(value) for key, value in event.items()} if isinstance(event, dict) else {}
