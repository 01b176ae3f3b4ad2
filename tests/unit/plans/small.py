"""A small plan: a good head, for whatever steps a test is about; and runs compared with what is stated."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

from harness.vocabulary import words
from plans.expected.comparison import Comparison, ExpectedOfMode, FoundAnomaly, Judged, compare
from plans.expected.expectations import Expectation
from plans.load import load
from plans.models import Plan

HEAD = """\
name: try/it
source: {document: BP-46}
about: A plan for tests.
clients: [writer, reader]
modes: [protected]
control: {nothing: a test}
expect:
  protected: [holds]
  unprotected: [{breaks: {property: durability}}]
steps:
"""


def plan_of(folder: Path, *steps: str, cluster: str = "{bookies: 3}") -> Plan:
    """A plan that creates the ledger ``main``, and then does these steps."""
    file = folder / "plan.yaml"
    listed = "".join(f"  - {step}\n" for step in ("create: {client: writer, ledger: main}", *steps))
    file.write_text(f"cluster: {cluster}\n{HEAD}{listed}")
    return load(file, words())


def compared(
    stated: Sequence[Expectation],
    found: Sequence[FoundAnomaly],
    verdict: str = "anomaly",
    mode: str = "m",
    version: str = "4.18.0",
    rounds: int = 1,
    counting: Container[str] | None = None,
    **more: Any,
) -> Comparison:
    return compare(
        ExpectedOfMode({mode: stated}, mode, version, rounds, counting), Judged(verdict, found, **more)
    )
