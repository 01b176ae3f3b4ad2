"""One run of a search: executed without output, judged whatever happens, and returned as data."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from evidence.findings import Verdict
from evidence.folder import FoundRun, modes_of, new_run
from harness.judging import Judge
from harness.narrator import Narrator
from harness.preparing import Prepared
from harness.run import judge_again, run
from protocol.errors import FencepostError
from reports.results import ModeResult
from search.kinds import NEVER_QUIET, known_kinds, not_quiet, shown

ERROR = "error"


@dataclass(frozen=True)
class Ended:
    """How a run ended: what was judged of it, and the error that ended it early (empty: none)."""

    path: Path
    modes: Sequence[ModeResult]
    error: str
    took_s: float

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of what was found, ``durability/lost``; none that the allowance excuses.

        Looked up once, so that they are known when the run's folder is gone.
        """
        return frozenset(kind for mode in self.modes for kind in _kinds(mode))

    @cached_property
    def known(self) -> frozenset[str]:
        """Those of the kinds that are known defects which any plan may meet in each of the modes."""
        known = [known_kinds(mode.folder) for mode in self.modes]
        return self.kinds.intersection(*known) if known else frozenset()

    @property
    def news(self) -> frozenset[str]:
        """The kinds that are not known defects."""
        return self.kinds - self.known

    @property
    def verdict(self) -> str:
        """``anomaly`` of any mode before ``error`` before ``unknown`` before ``valid``.

        A run that was never quiet is ``unknown``, whatever its entries say.
        """
        verdicts = {str(mode.verdict.verdict) for mode in self.modes}
        if Verdict.ANOMALY in verdicts:
            return str(Verdict.ANOMALY)
        if self.error:
            return ERROR
        doubtful = Verdict.UNKNOWN in verdicts or not verdicts or NEVER_QUIET in self.kinds
        return str(Verdict.UNKNOWN if doubtful else Verdict.VALID)

    @property
    def headline(self) -> str:
        """What the verdict says, or the error."""
        told = "; ".join(
            text for mode in self.modes for text in (_never_quiet(mode), mode.verdict.headline) if text
        )
        return f"{self.error}{f' ({told})' if told else ''}" if self.error else told

    @property
    def folder(self) -> Path:
        """The folder of the only mode, else the whole run's."""
        return self.modes[0].folder.path if len(self.modes) == 1 else self.path


def _kinds(mode: ModeResult) -> frozenset[str]:
    return shown(mode.folder, mode.verdict.judgements.values())


def _never_quiet(mode: ModeResult) -> str:
    told = not_quiet(mode.folder)
    return f"never quiet: {told}" if told else ""


def carry_out(prepared: Prepared, judge: Judge, watch: Callable[[str], None]) -> Ended:
    """Run and judge once; an error of the harness or of a server ends this run only.

    ``watch`` is called with progress messages. An interruption is not caught.
    """
    began = time.monotonic()
    path = new_run(prepared.request.results, prepared.plan.name, prepared.seed)
    narrator = Narrator(quiet=True, watch=watch)
    try:
        modes, error = run(prepared, judge, narrator, path=path).modes, ""
    except FencepostError as caught:
        modes, error = _judged_anyway(path, judge, narrator), str(caught) or type(caught).__name__
    return Ended(path, modes, error, time.monotonic() - began)


def _judged_anyway(path: Path, judge: Judge, narrator: Narrator) -> Sequence[ModeResult]:
    """What the evidence of a run that ended early proves, if there is any."""
    try:
        return judge_again(FoundRun(path, modes_of(path)), judge, narrator).modes
    except (FencepostError, IndexError):
        return ()
