"""``fencepost explore``: plans drawn from a seed, each run and judged until an end that the user named."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from checkers.judging.verdict import undecided
from harness.narrator import print_json
from harness.preparing import Prepared, prepare_plan
from harness.request import RunRequest
from harness.vocabulary import offered_faults, words
from nemesis.registry import FAULTS
from plans.exploring.faults import KINDS
from plans.exploring.generate import REQUIRED, GenerateOptions, generate, left_out
from plans.exploring.profile import DEFAULT, Profile, load_profile
from plans.grammar.rounds import every
from plans.load import load_tree
from plans.models import Plan
from plans.reading.document import Tree
from protocol.errors import EvidenceError, FencepostError
from protocol.exit_codes import ExitCode
from protocol.modes import MODES
from protocol.wording import counted
from search.coverage import Coverage, coverage_tables, exercised
from search.running import ERROR, NEVER_QUIET, Ended, Runner, running
from search.status import StatusLines, duration

_SEED_LIMIT = 2**31
_MOST_ERRORS = 3
"""Number of consecutive errors that ends the search: the cause is the machine or the harness."""


@dataclass
class Search:
    """What the user asked for, and the plans of it; None for ``runs`` or ``for_s`` means no such end.

    The same seed gives the same plans, each run the next seed.
    """

    file: Path
    mode: str | None
    version: str | None
    seed: int | None
    runs: int | None
    for_s: float | None
    beyond: int
    keep_going: bool
    parallel: int
    results: Path

    def __post_init__(self) -> None:
        self.profile: Profile = load_profile(self.file)
        self.first = self.seed if self.seed is not None else secrets.randbelow(_SEED_LIMIT)
        self.asked = GenerateOptions(offered_faults(), self.mode, self.version, self.beyond)

    def tree(self, number: int) -> Tree:
        """The plan of run ``number`` (from 0) as the tree of a plan file."""
        return generate(self.profile, self.first + number, self.asked)

    def prepare(self, number: int) -> Prepared:
        """The same plan ready to run."""
        seed = self.first + number
        source = f"profile {self.profile.name}, seed {seed}"
        plan = load_tree(self.tree(number), words(), modes=tuple(MODES), source=source)
        request = RunRequest(
            scenario=plan.name,
            seed=seed,
            version=self.version,
            results=self.results,
            repeat=self._repeat(seed),
        )
        return prepare_plan(request, plan)

    def _repeat(self, seed: int) -> tuple[str, ...]:
        options = [
            *(["--profile", str(self.file)] if self.file != DEFAULT else []),
            *(["--mode", self.mode] if self.mode else []),
            *(["--bookkeeper", self.version] if self.version else []),
            *(["--beyond", str(self.beyond)] if self.beyond else []),
        ]
        return ("fencepost", "explore", "--runs", "1", "--seed", str(seed), *options)


@dataclass
class Exploration:
    """The results up to now."""

    ended: list[Ended] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)

    @property
    def text(self) -> str:
        """``4 runs: 3 valid, 1 anomaly``."""
        verdicts = Counter(one.verdict for one in self.ended)
        numbers = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        runs = counted(len(self.ended), "run")
        return f"{runs}: {numbers}" if numbers else runs


def explore(search: Search, *, quiet: bool, as_json: bool) -> int:
    """Search until the time, the runs or a finding end it; the exit code."""
    status = StatusLines(quiet=quiet or as_json)
    found = Exploration()
    _introduce(search, status)
    search.prepare(0)  # What this machine cannot do at all is said before anything starts.
    try:
        with running(search.results, search.parallel, status) as runner:
            _search(search, found, runner, status)
    except BaseException as error:
        if found.ended or isinstance(error, KeyboardInterrupt):
            how = "interrupted" if isinstance(error, KeyboardInterrupt) else "ended early"
            status.line(f"{how} after {duration(status.took_s)}: {found.text}", style="yellow")
            code = getattr(error, "exit_code", ExitCode.HARNESS)
            _conclude(search, found, status, (code, str(error) or how), as_json=as_json)
        raise
    code, reason = _code(found)
    _conclude(search, found, status, (code, reason), as_json=as_json)
    if not as_json:
        status.last(f"{found.text} in {duration(status.took_s)}; exit {code}: {reason}")
    return code


def _search(search: Search, found: Exploration, runner: Runner, status: StatusLines) -> None:
    errors = 0
    status.counts(found.text)
    left_s = None if search.for_s is None else search.for_s - status.took_s
    runs = runner.run(_plans(search, found), lambda one: f"seed {one.prepared.seed}", total_s=left_s)
    with closing(runs):
        for one, ended in runs:
            found.ended.append(ended)
            status.counts(found.text)
            for mode in ended.modes:
                with suppress(EvidenceError):  # nothing was recorded that could be read
                    found.coverage.add(exercised(mode.folder))
            _tell(one.number, one.prepared, ended, status)
            errors = errors + 1 if ended.verdict == ERROR else 0
            if errors == _MOST_ERRORS:
                raise FencepostError(
                    f"{errors} runs in sequence ended early, the last one: {ended.error}",
                    remedy=f"see {ended.path} and `fencepost doctor`",
                )


def _plans(search: Search, found: Exploration) -> Iterator[Prepared]:
    """The plan of each further run, drawn when it can begin; none once enough was found."""
    for number in count():
        enough = any(one.news for one in found.ended) and not search.keep_going
        over = search.runs is not None and number >= search.runs
        if enough or over:
            return
        yield search.prepare(number)


def _introduce(search: Search, status: StatusLines) -> None:
    ends = [counted(search.runs, "run")] if search.runs is not None else []
    ends += (
        [f"no run begins that would end after {duration(search.for_s)}"] if search.for_s is not None else []
    )
    mode = search.mode or "/".join(dict.fromkeys(search.profile.modes))
    status.line(
        f"exploring {mode} with the profile {search.profile.name}, seeds from {search.first}; "
        f"{', '.join(ends)}",
        style="bold",
    )
    beyond = f" and {search.beyond} more" if search.beyond else ""
    status.line(
        f"  lost copies at a time: at most AQ - 1{beyond}, as the mode loses them (docs/exploring.md)"
    )
    for name in left_out(search.profile, search.asked.offered):
        status.line(f"  left out: {name}, {FAULTS[KINDS[name].needs].unavailable_reason()}", style="yellow")


def _tell(number: int, ready: Prepared, ended: Ended, status: StatusLines) -> None:
    style = "green" if ended.verdict == "valid" else "red" if ended.news - {NEVER_QUIET} else "yellow"
    status.line(
        f"{number:4}  seed {ready.seed}  {ended.verdict:8}{ended.took_s:5.0f} s  {_shape(ready.plan)}",
        style=style,
    )
    if ended.known:
        status.line(f"      met on the way, known: {', '.join(sorted(ended.known))}")
    if ended.verdict != "valid":
        status.line(f"      {ended.headline}")
        for line in _what_to_do(ended):
            status.line(f"      {line}")


def _what_to_do(ended: Ended) -> Iterator[str]:
    """The path of a run, and the commands for the next steps; a known defect alone needs none."""
    yield f"folder:  {ended.folder}"
    if ended.kinds:
        yield f"proof:   fencepost check {ended.folder}"
    if ended.news or not _conclusive(ended):
        yield f"again:   fencepost replay {ended.folder} --times 5"
    if ended.news:
        yield f"smaller: fencepost shrink {ended.folder}"


def _shape(plan: Plan) -> str:
    faults = sum(step.name in words().faults for step in every(plan.steps))
    shape = plan.about.partition(": ")[2].partition(". ")[0]
    return f"{shape}, {faults} faults"


def _conclude(
    search: Search, found: Exploration, status: StatusLines, ending: tuple[int, str], *, as_json: bool
) -> None:
    """Say what was exercised, as JSON with the exit code and its reason."""
    if not as_json:
        for table in coverage_tables(found.coverage) if found.ended else ():
            status.show(table)
        return
    runs = [
        {
            "folder": str(one.path),
            "verdict": one.verdict,
            "headline": one.headline,
            "kinds": sorted(one.kinds),
            "known": sorted(one.known),
            "took_s": round(one.took_s, 1),
        }
        for one in found.ended
    ]
    code, reason = ending
    head = {"exit": code, "reason": reason, "seed": search.first, "runs": runs}
    without = left_out(search.profile, search.asked.offered)
    print_json({**head, "coverage": found.coverage.seen, "left_out": without})


def _code(found: Exploration) -> tuple[int, str]:
    for code, no_anomaly in ((ExitCode.ANOMALY, {NEVER_QUIET}), (ExitCode.UNKNOWN, set())):
        for one in found.ended:
            if one.news - no_anomaly:
                return code, f"found {', '.join(sorted(one.news))} in {one.path}"
    silent = sum(not _conclusive(one) for one in found.ended)
    if not found.ended:
        return ExitCode.UNKNOWN, "no run began before the time was over"
    if silent:
        return ExitCode.UNKNOWN, f"{silent} of {len(found.ended)} runs say nothing"
    known = ", ".join(sorted(frozenset().union(*(one.known for one in found.ended))))
    reason = f"nothing was found but what is known: {known}" if known else "nothing was found"
    return ExitCode.AS_EXPECTED, reason


def _conclusive(ended: Ended) -> bool:
    """Whether what a run does not show did not happen: no checker failed, and nothing required is unknown."""
    unknown = (undecided(REQUIRED, mode.verdict.judgements) for mode in ended.modes)
    return ended.conclusive and not any(map(any, unknown))
