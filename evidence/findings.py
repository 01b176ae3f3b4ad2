"""Findings, judgements and verdicts: the result of judging, as data.

Shapes only. ``checkers.judging.verdict`` merges judgements into a verdict; the harness shows it. Nothing here
holds a host, a path or a wall-clock time, so that two judgements of the same evidence are equal byte for
byte. Source: the rules in ``docs/verdicts.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from evidence.folder import RunFolder, damaged, read_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter


class Verdict(StrEnum):
    """What the evidence proves about one property or one run."""

    VALID = "valid"
    ANOMALY = "anomaly"
    UNKNOWN = "unknown"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True)
class Finding:
    """One anomaly, or one kind of anomaly over a span of entries of one ledger."""

    property: str
    kind: str
    ledger: int = -1
    first_entry: int = -1
    last_entry: int = -1
    """Inclusive; -1, as ``first_entry``, for a finding about no entry."""
    count: int = 1
    """Exact number of entries (or events) that it stands for."""
    loss: str = ""
    """The class of a loss (explained, unexplained, forged, put_back, undetermined), else empty."""
    text: str = ""
    proof: Sequence[str] = ()
    """The smallest set of facts, each a sentence with its numbers."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one checker concludes: the verdict, what it needed, what it saw, what it found."""

    property: str
    verdict: Verdict
    needed: str
    seen: Mapping[str, int] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    """Anomalies, at most 100 for each kind, class and ledger."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Exact totals."""
    notes: Sequence[str] = ()
    """Remarks that do not affect the verdict: ``unavailable``, ``undetermined``, a document that differs."""
    undecided: Sequence[int] = ()
    """Ledgers for which the property is unknown, also beside anomalies on others; none when it is unknown
    for the whole run.
    """


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The verdict over one run folder (one mode): merged, with every property's judgement."""

    scenario: str
    mode: str
    verdict: Verdict
    headline: str
    judgements: Mapping[str, Judgement]
    damage: Sequence[str] = ()

    def as_json(self) -> dict[str, object]:
        """A plain tree with sorted keys, ready for ``json.dumps``; same evidence, same tree."""
        return asdict(self)


def read_verdict(folder: RunFolder) -> RunVerdict:
    """What a mode's ``verdict.json`` says; ``EvidenceError`` when it is missing or damaged."""
    try:
        return _verdicts().validate_python(read_json(folder.verdict_json))
    except ValueError as error:
        raise damaged(folder.verdict_json, f"{error}") from error


@cache
def _verdicts() -> TypeAdapter[RunVerdict]:
    from pydantic import TypeAdapter  # judging does without

    return TypeAdapter(RunVerdict)
