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
    """One anomaly, or one kind of anomaly over a span of entries of one ledger.

    ``first_entry``..``last_entry`` is inclusive, -1 where entries have no part in it; ``count``
    is the exact number of entries (or events) it stands for. ``proof`` is the smallest set of
    facts, each a sentence with its numbers. ``loss`` is the class of a loss (explained,
    unexplained, undetermined), empty for other kinds.
    """

    property: str
    kind: str
    ledger: int = -1
    first_entry: int = -1
    last_entry: int = -1
    count: int = 1
    loss: str = ""
    text: str = ""
    proof: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one checker concludes: the verdict, what it needed, what it saw, what it found.

    ``findings`` are the anomalies (at most 100 kept per kind, class and ledger); ``counts`` the
    exact totals; ``notes`` are remarks that do not affect the verdict (``unavailable``,
    ``undetermined``, a difference from a document). ``undecided`` are the ledgers for which the
    property is unknown, also beside anomalies on others; none when it is unknown for the whole run.
    """

    property: str
    verdict: Verdict
    needed: str
    seen: Mapping[str, int] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    undecided: Sequence[int] = ()


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
