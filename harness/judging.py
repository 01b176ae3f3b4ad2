"""From a run folder to its verdict (collect, judge, write), and whether the run met its plan.

Never needs a cluster. The same code judges right after a run and a year later; ``verdict.json`` is the same,
byte for byte. What clients and servers decided is read from the recorded steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from checkers.availability import NO_ANSWERS
from checkers.judging.sufficiency import Sufficiency
from checkers.judging.verdict import counting_properties, undecided, within_allowance
from evidence.codes import ErrorCode
from evidence.findings import RunVerdict, Verdict
from evidence.folder import RunFolder
from evidence.recorders import CONTRADICTED, ledger_name, ledger_names, read_lines
from plans.expected.comparison import (
    Comparison,
    ExpectedOfMode,
    FoundAnomaly,
    Judged,
    compare,
    decides_verdict,
    unstated,
)
from plans.expected.decisions import Decision
from plans.expected.expectations import standing
from plans.reading.document import Tree
from plans.resolve import from_json

if TYPE_CHECKING:
    from pipeline.session import Session

_SILENT = (*NO_ANSWERS, ErrorCode.NOT_ENOUGH_BOOKIES, ErrorCode.ADD_QUORUM_TIMEOUT)
"""Also too few registered bookies, and no quorum of answers to an add in time."""
_DECIDING = ("create", "append", "read", "tail", "recover", "close")


class Judge:
    """Judges run folders on one Spark session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def wait_warm(self) -> None:
        """Wait until the session is idle, so that it does not compete with the servers under test."""
        self._session.wait()

    def collect(self, folder: RunFolder) -> RunFolder:
        """Make tables of the raw evidence; the folder as Spark's workers find it."""
        from cluster.servers.offline import transactions
        from pipeline.collect import collect

        folder = RunFolder(folder.path.resolve())  # workers run elsewhere
        self._session.share(folder.path)
        collect(self._session, folder, transactions=transactions)
        return folder

    def verdict(self, folder: RunFolder) -> RunVerdict:
        """Collect the raw evidence into tables, judge them, and write ``verdict.json``."""
        from pipeline.judge import judge

        return judge(self._session, self.collect(folder))


@contextmanager
def session_in(folder: Path, *, master: str | None = None) -> Iterator[Session]:
    """A Spark session for as long as the block lasts, which starts to warm up at once.

    ``folder``, that of the runs, takes Spark's scratch files (``.spark-...``), which are gone afterwards.
    ``master`` is Spark's, by default all cores of this machine.
    """
    from cluster.releases.artifacts import cache_root
    from pipeline.session import LOCAL, Session, archive_in

    archive = archive_in(cache_root() / "class-data")
    with Session(folder, master=master or LOCAL, archive=archive) as session:
        yield session


@contextmanager
def judging(folder: Path, *, master: str | None = None) -> Iterator[Judge]:
    """A judge for as long as the block lasts, on a separate session (:func:`session_in`)."""
    with session_in(folder, master=master) as session:
        yield Judge(session)


def compare_with_plan(verdict: RunVerdict, folder: RunFolder) -> Comparison:
    """Compare a verdict with what its plan expects in this mode and version."""
    facts = folder.run()
    plan = from_json(facts).plan
    names = ledger_names(folder)
    found = _found(verdict, folder, names)
    counting = counting_properties(plan.required, plan.counting, verdict.judgements)
    comparison = compare(
        ExpectedOfMode(plan.expect, verdict.mode, facts["bookkeeper"], plan.rounds, counting),
        Judged(
            verdict.verdict.value,
            found,
            whole=_evidence_known(verdict),
            decisions=tuple(decisions(folder)),
            undecided=[
                (name, ledger_name(names, ledger))
                for name, ledger in undecided(plan.required, verdict.judgements)
            ],
            figures={name: judgement.seen for name, judgement in verdict.judgements.items()},
        ),
    )
    deviations = (folder.end() or {}).get("otherwise", ())
    if not deviations:
        return comparison
    known = {(one.property, one.kind) for one in standing(verdict.mode, facts["bookkeeper"])}
    anomaly = any(
        decides_verdict(one.property, one.kind, counting) and (one.property, one.kind) not in known
        for one in found
    )
    return with_deviations(
        comparison,
        deviations,
        decided="" if verdict.damage else who_deviated(folder),
        anomaly=verdict.headline if anomaly and verdict.verdict is Verdict.ANOMALY else "",
    )


def _found(verdict: RunVerdict, folder: RunFolder, names: Mapping[int, str]) -> list[FoundAnomaly]:
    """The anomalies of a verdict; what the plan's allowance excuses needs no statement."""
    from pipeline.tables import read_findings

    return [
        FoundAnomaly(
            finding.property,
            finding.kind,
            ledger_name(names, finding.ledger),
            finding.loss,
            finding.first_entry,
            finding.last_entry,
            finding.count,
        )
        for finding in read_findings(folder.findings, verdict)
        if not within_allowance(verdict.judgements[finding.property])
    ]


def anomalies_unstated(verdict: RunVerdict, folder: RunFolder) -> list[FoundAnomaly]:
    """The anomalies that neither the plan nor the list of known defects states."""
    facts = folder.run()
    plan = from_json(facts).plan
    found = _found(verdict, folder, ledger_names(folder))
    return unstated(plan.expect, found, mode=verdict.mode, version=facts["bookkeeper"], rounds=plan.rounds)


def broken_unstated(verdict: RunVerdict, folder: RunFolder) -> tuple[str, ...]:
    """The properties with an anomaly that would not show without a seeded defect: nothing states it."""
    return tuple(sorted({one.property for one in anomalies_unstated(verdict, folder)}))


def whole_but_for_skipped_steps(verdict: RunVerdict, folder: RunFolder) -> bool:
    """Whether the evidence is complete, except for what the steps that were left out would have added."""
    left_out = (folder.end() or {}).get("left_out")
    return _evidence_known(verdict) or (not verdict.damage and bool(left_out))


def _evidence_known(verdict: RunVerdict) -> bool:
    return verdict.judgements[Sufficiency.name].verdict is not Verdict.UNKNOWN


def with_deviations(
    comparison: Comparison, deviations: Sequence[str], *, decided: str, anomaly: str = ""
) -> Comparison:
    """The comparison of a run that deviated from its plan, which meets no expectation.

    A plan's expectation covers only a run that follows the plan, so any ``anomaly`` is unexpected, also one
    that the plan states. The first of ``deviations`` is a reason; ``decided`` says
    whose decision it was, if any.
    """
    first = f"the {decided} decided otherwise: {deviations[0]}" if decided else deviations[0]
    others = () if comparison.met else comparison.reasons
    if comparison.unexpected:
        reasons = (*others, first)
    elif anomaly:
        reasons = (f"an anomaly in a run that went otherwise than planned: {anomaly}", first, *others)
    else:
        reasons = (first, *others)
    return replace(
        comparison,
        met=False,
        missed=False,
        as_stated=0,
        reasons=reasons,
        unexpected=comparison.unexpected or bool(anomaly),
        contradicted=comparison.contradicted or bool(decided),
    )


def decisions(folder: RunFolder) -> Iterator[Decision]:
    """Every decision, in the order in which the steps ended; a step that raised decided nothing."""
    for record in read_lines(folder.steps).records:
        if record.get("step") in _DECIDING and "outcome" in record:
            yield _decision(record)


def who_deviated(folder: RunFolder) -> str:
    """Who decided otherwise than planned and so ended the steps, ``client`` or ``server``; empty for neither.

    What a client learned or a server was seen to do is a decision; a missing reply is not.
    """
    for record in read_lines(folder.steps).records:
        if record.get(CONTRADICTED):
            return "server"
        if _deviates(record):
            return "client"
    return ""


def _deviates(record: Tree) -> bool:
    if "outcome" not in record or "client" not in record["params"]:
        return False
    outcome, code = record["outcome"], record.get("facts", {}).get("code") or 0
    silent = code in _SILENT if outcome == "unknown" else outcome == "fail" and not code
    return record["planned"] not in ("any", outcome) and not silent


def _decision(record: Tree) -> Decision:
    params, facts = record["params"], record.get("facts", {})
    code = facts.get("code") or 0
    return Decision(
        step=record["step"],
        client=params["client"],
        ledger=params["ledger"],
        round=record.get("round", 1),
        began_ns=record["began_ns"],
        outcome=record["outcome"],
        last_entry=facts.get("last_entry"),
        error=facts.get("error", ""),
        code=code,
        entries=facts.get("entries"),
        lac=facts.get("lac"),
        silent=record["step"] == "recover" and record["outcome"] == "unknown" and code in NO_ANSWERS,
    )
