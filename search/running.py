"""The runs of a search: recorded without output, judged whatever happens, and returned as data.

A run's failures have kinds, such as ``fencing/added_after_close``, a loss with its class
(``durability/lost/unexplained``); two failures of one kind count as the same. They are anomalies, and one
kind that no checker reports: the cluster did not become quiet after everything was healed. No document
limits how long that may take, so it is no anomaly, but a search looks for it as well. Of the kinds, those are
*news* that count in the plan of the run and are no known defect.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from checkers.judging.verdict import EVIDENCE, counting_properties, within_allowance
from evidence.findings import Judgement, Verdict, read_verdict
from evidence.folder import FoundRun, RunFolder, modes_of
from evidence.recorders import ledger_names, read_lines
from harness.experiments.parallel import ModeRun, recorded
from harness.experiments.workers import Recorders
from harness.judging import Judge, judging
from harness.narrator import Narrator
from harness.preparing import Prepared
from harness.recording.finals import NOT_QUIET
from harness.run import judge_again, judge_recorded
from plans.expected.comparison import decides_verdict
from plans.expected.expectations import standing
from protocol.errors import EvidenceError, FencepostError
from reports.results import ModeResult
from search.status import StatusLines

ERROR = "error"
NEVER_QUIET = "quiet/never"


@dataclass(frozen=True)
class Ended:
    """How a run ended: what was judged of it, and the error that ended it early (empty: none)."""

    path: Path
    modes: Sequence[ModeResult]
    error: str
    took_s: float

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of what was found, ``closing/closed_below``; none that the allowance excuses.

        Looked up once, so that they are known when the run's folder is gone.
        """
        return frozenset(kind for mode in self.modes for kind in shown(mode.folder, mode.verdict.judgements))

    @cached_property
    def known(self) -> frozenset[str]:
        """Those of the kinds that are known defects which any plan may meet in each of the modes."""
        known = [known_in(mode.folder) for mode in self.modes]
        return self.kinds.intersection(*known) if known else frozenset()

    @cached_property
    def news(self) -> frozenset[str]:
        """Those of the kinds that count in the plan and are no known defects."""
        return frozenset(
            kind for mode in self.modes for kind in news_in(mode.folder, mode.verdict.judgements)
        )

    @property
    def verdict(self) -> str:
        """``anomaly`` of any mode before ``error`` before ``unknown`` before ``valid``.

        A run that was never quiet or went otherwise than planned is ``unknown``, whatever its entries say.
        """
        verdicts = {str(mode.verdict.verdict) for mode in self.modes}
        if Verdict.ANOMALY in verdicts:
            return str(Verdict.ANOMALY)
        if self.error:
            return ERROR
        doubtful = Verdict.UNKNOWN in verdicts or not verdicts or NEVER_QUIET in self.kinds
        return str(Verdict.UNKNOWN if doubtful or self.deviations else Verdict.VALID)

    @property
    def conclusive(self) -> bool:
        """Whether what it does not show did not happen: it went as planned, and its evidence is whole."""
        if self.verdict == Verdict.ANOMALY and not (
            self.error or self.deviations or NEVER_QUIET in self.kinds
        ):
            judged = (mode.verdict.judgements[EVIDENCE].verdict for mode in self.modes)
            return all(verdict is Verdict.VALID for verdict in judged)
        return self.verdict == Verdict.VALID

    def decides(self, properties: Collection[str]) -> bool:
        """Whether no mode leaves one of these properties unknown, for the run or for a ledger."""
        judged = (one for mode in self.modes for one in mode.verdict.judgements.values())
        return not any(
            one.property in properties and (one.verdict is Verdict.UNKNOWN or one.undecided) for one in judged
        )

    @property
    def deviations(self) -> Sequence[str]:
        """What went otherwise than planned, such as a server that died on its own after the last step."""
        return [what for mode in self.modes for what in (mode.folder.end() or {}).get("otherwise", ())]

    @property
    def unexpected(self) -> frozenset[str]:
        """The news, where a mode has an anomaly that its plan does not state."""
        return self.news if any(mode.comparison.unexpected for mode in self.modes) else frozenset()

    @property
    def contradicted(self) -> list[str]:
        """For each mode in which a decision or a figure was otherwise than its plan states, why."""
        return [mode.comparison.reasons[0] for mode in self.modes if mode.comparison.contradicted]

    @property
    def headline(self) -> str:
        """What the verdict says, or the error."""
        texts = [f"otherwise than planned: {what}" for what in self.deviations[:1]]
        for mode in self.modes:
            why = not_quiet(mode.folder)
            texts += [f"never quiet: {why}"] if why else []
            texts += [mode.verdict.headline] if mode.verdict.headline else []
        found = "; ".join(texts)
        return f"{self.error}{f' ({found})' if found else ''}" if self.error else found

    @property
    def folder(self) -> Path:
        """The folder of the only mode, else the whole run's."""
        return self.modes[0].folder.path if len(self.modes) == 1 else self.path


@dataclass(frozen=True)
class Runner:
    """Runs the plans of a search, ``parallel`` at a time; :func:`running` makes one."""

    judge: Judge
    recorders: Recorders
    parallel: int
    status: StatusLines

    def run(
        self,
        prepared: Iterable[Prepared],
        label: Callable[[ModeRun], str],
        *,
        total_s: float | None = None,
    ) -> Generator[tuple[ModeRun, Ended], None, None]:
        """Each run (of a single mode) as it ends, judged whatever happened.

        An error of the harness or of a server ends its run only; an interruption ends all of them. ``label``
        names a run in progress. None begins when less of ``total_s`` is left than one usually takes.
        """

        def begins(one: ModeRun) -> None:
            self.status.begins(label(one), one.folder.harness_log)

        ended = recorded(prepared, self.recorders, parallel=self.parallel, total_s=total_s, begins=begins)
        with closing(ended):
            for one, error, took_s in ended:
                began_s = time.monotonic()
                modes, why = _judged(one.path, error, self.judge)
                self.status.ended(one.folder.harness_log)
                yield one, Ended(one.path, modes, why, took_s + time.monotonic() - began_s)


@contextmanager
def running(results: Path, parallel: int, status: StatusLines) -> Iterator[Runner]:
    """A runner for as long as the block lasts: one Spark session, and the processes that record."""
    with judging(results) as judge, Recorders(None, results, parallel) as recorders, status.live():
        judge.wait_warm()
        yield Runner(judge, recorders, parallel, status)


def _judged(path: Path, error: FencepostError | None, judge: Judge) -> tuple[Sequence[ModeResult], str]:
    """What the evidence proves, also that of a run that ended early, and the error that ended it."""
    found, narrator = FoundRun(path, modes_of(path)), Narrator(quiet=True)
    if error is None:
        try:
            return judge_recorded(found, judge, narrator).modes, ""
        except FencepostError as caught:
            error = caught
    try:
        modes = judge_again(found, judge, narrator).modes
    except FencepostError:  # nothing was recorded that can be judged
        modes = ()
    return modes, str(error) or type(error).__name__


def kinds(judgements: Iterable[Judgement]) -> frozenset[str]:
    """``property/kind`` of every anomaly that no allowance excuses, and the class of a loss."""
    return frozenset(
        "/".join(filter(None, (finding.property, finding.kind, finding.loss)))
        for judgement in judgements
        if judgement.verdict is Verdict.ANOMALY and not within_allowance(judgement)
        for finding in judgement.findings
    )


def shown(folder: RunFolder, judgements: Mapping[str, Judgement]) -> frozenset[str]:
    """All kinds of a run: those of what was judged in it, and whether it was never quiet."""
    return kinds(judgements.values()) | ({NEVER_QUIET} if not_quiet(folder) else frozenset())


def news_in(folder: RunFolder, judgements: Mapping[str, Judgement]) -> frozenset[str]:
    """Those of the kinds of a run that count in its plan and are no known defects."""
    plan = folder.run()["plan"]
    properties = counting_properties(plan.get("required") or (), plan.get("counting"), judgements)
    counting = {*properties, NEVER_QUIET}
    return frozenset(
        kind
        for kind in shown(folder, judgements) - known_in(folder)
        for name, what, *_ in (kind.split("/"),)
        if decides_verdict(name, what, counting)
    )


def known_in(folder: RunFolder) -> frozenset[str]:
    """The kinds that are known defects which any plan may meet in the mode and release of a run."""
    run = folder.run()
    return frozenset(f"{one.property}/{one.kind}" for one in standing(run["mode"], run["bookkeeper"]))


def not_quiet(folder: RunFolder) -> str:
    """Why the cluster did not become quiet at the end of a run; empty when it did, or no step waited."""
    found = (
        record["error"] for record in read_lines(folder.steps).records if record.get("step") == NOT_QUIET
    )
    return str(next(found, ""))


def ledgers_in(folder: RunFolder, judgements: Mapping[str, Judgement]) -> tuple[str, ...]:
    """The ledgers that have findings, by the names that the run gave them, each once."""
    names = ledger_names(folder)
    found = (finding.ledger for judgement in judgements.values() for finding in judgement.findings)
    return tuple(dict.fromkeys(names[ledger] for ledger in found if ledger in names))


def stored_judgements(folder: RunFolder) -> Mapping[str, Judgement]:
    """What was judged in a run; ``EvidenceError`` when it was not judged."""
    if not folder.verdict_json.is_file():
        raise EvidenceError(
            f"{folder.path} has not been judged, so its failure is not known",
            remedy=f"judge it with `fencepost check {folder.path}`",
        )
    return read_verdict(folder).judgements
