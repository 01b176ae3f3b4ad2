"""``fencepost replay``: the schedule that was executed, again and again, and how often it failed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Literal

from cluster.configuration import CAPS
from cluster.releases.artifacts import adopt
from evidence.folder import DEFAULT_BACKEND, RunFolder
from evidence.recorders import read_lines
from evidence.shapes import RunTree
from harness.bundles.reading import is_bundle, opened
from harness.narrator import print_json
from harness.preparing import Prepared, prepare_plan
from harness.provenance import differences
from harness.request import RunRequest
from harness.vocabulary import words
from plans.executed import begins, executed
from plans.models import Plan
from plans.resolve import from_json
from protocol.errors import FencepostError, Interrupted
from protocol.exit_codes import ExitCode
from protocol.wording import counted
from reports.seeded import announced
from search.rates import Rate, rate, rate_of
from search.running import ERROR, Ended, ledgers_in, news_in, running, shown, stored_judgements
from search.status import StatusLines, duration


@dataclass(frozen=True)
class Again:
    """One mode of a stored run: what ran, which kinds of anomaly were found in it, and which are news."""

    folder: RunFolder
    plan: Plan
    seed: int
    mode: str
    version: str
    kinds: frozenset[str]
    measured: bool
    """Whether the plan has the times at which its steps really began."""
    news: frozenset[str] = frozenset()
    """Those of the kinds that count in its plan and are no known defects."""
    ledgers: tuple[str, ...] = ()
    """The ledgers of the findings, as the run named them."""
    backend: str = DEFAULT_BACKEND
    """Backend of the stored run, and of its repetition unless another is requested."""
    bundle: Path | None = None
    """The archive that it came from; its ``folder`` is gone then."""
    jars: Path | None = None
    """The folder of the build that repeats it instead of the release that ran."""
    differences: tuple[str, ...] = ()
    """What its repetition cannot have as the run had it, one line each."""

    @property
    def path(self) -> Path:
        """Where a user finds it."""
        return self.bundle or self.folder.path

    @property
    def sought(self) -> frozenset[str]:
        """The kinds in one of which a repetition must fail to have failed in the same way."""
        return self.news or self.kinds

    @property
    def beside(self) -> str:
        """What was found beside what is sought, in words; empty for nothing."""
        others = ", ".join(sorted(self.kinds - self.sought))
        return others and f"not sought, because it is known or does not count in the plan: {others}"

    @property
    def words(self) -> tuple[str, ...]:
        """How a command names it."""
        mode = () if self.bundle is None else ("--mode", self.mode)
        return (str(self.path), *mode, *(("--jars", str(self.jars)) if self.jars else ()))

    @property
    def changes(self) -> list[str]:
        """Its seeded defects and cures in words; none for a release as it is."""
        return [announced(order) for order in self.plan.cluster.changes]

    def prepare(self, plan: Plan, results: Path, repeat: tuple[str, ...]) -> Prepared:
        """``plan`` (this one, or less of it) ready to run with the seed and the release of the run."""
        only = plan.model_copy(update={"modes": (self.mode,)})
        request = RunRequest(
            scenario=plan.name,
            modes=(self.mode,),
            seed=self.seed,
            version=self.version,
            backend=self.backend,
            results=results,
            repeat=repeat,
        )
        return prepare_plan(request, only)


def find_again(results: Path, reference: str, mode: str | None, jars: Path | None = None) -> Again:
    """The run or bundle that is meant, in one mode; ``UsageError`` where several ran and none is named.

    With ``jars`` it is repeated on that build.
    """
    build = adopt(jars) if jars else None
    with opened(results, reference) as found:
        folder = found.one(mode)
        facts = folder.run()
        resolved = from_json(facts, words(), source=str(folder.run_json))
        judged = stored_judgements(folder)
        began = begins(read_lines(folder.steps).records)
        plan = executed(_with_own_settings(resolved.plan, facts), began)
        ran = str(facts["bookkeeper"])
        other = [f"BookKeeper: {ran} in the run, {build} here"] if build not in (None, ran) else []
        return Again(
            folder=folder,
            plan=plan,
            seed=resolved.seed,
            mode=resolved.mode,
            version=build or ran,
            kinds=shown(folder, judged),
            news=news_in(folder, judged),
            measured=bool(began) and plan.rounds == 1,
            ledgers=ledgers_in(folder, judged),
            backend=str(facts.get("backend", DEFAULT_BACKEND)),
            bundle=Path(reference).resolve() if is_bundle(reference) else None,
            jars=jars,
            differences=(*other, *differences(facts)),
        )


def _with_own_settings(plan: Plan, facts: RunTree) -> Plan:
    """The plan with the user's own settings, which won over the plan's, among its own."""
    cluster = plan.cluster
    settings = {
        "bookie_conf": {**cluster.bookie_conf, **_taken("bookie", facts)},
        "client_conf": {**cluster.client_conf, **_taken("client", facts)},
    }
    return plan.model_copy(update={"cluster": cluster.model_copy(update=settings)})


def _taken(whose: Literal["bookie", "client"], facts: RunTree) -> dict[str, str]:
    """The user's settings that the run took: sizes as it cut them, and none that it replaced or left out."""
    own = facts.get("user_conf", {}).get(whose, {})
    lost = facts["conf"].get("overridden", {}).get(whose, {})
    return {
        key: lost[key]["ours"] if key in lost else value
        for key, value in own.items()
        if key not in lost or key in CAPS
    }


def replay(
    reference: str,
    *,
    mode: str | None,
    times: int,
    parallel: int,
    results: Path,
    quiet: bool,
    as_json: bool,
    backend: str | None = None,
    jars: Path | None = None,
) -> int:
    """Repeat a stored run ``times`` times, ``parallel`` at a time, on its own backend or on another.

    The exit code is 0: it never failed, 3: some run said nothing and none failed, 4: it failed, in the same
    way or in another that its plan does not state, which includes a decision.
    """
    status = StatusLines(quiet=quiet or as_json)
    again = find_again(results, reference, mode, jars)
    again = replace(again, backend=backend or again.backend)
    elsewhere = ("--backend", backend) if backend else ()
    ready = again.prepare(again.plan, results, ("fencepost", "replay", *again.words, *elsewhere))
    _introduce(again, times, status)
    ended: list[Ended] = []
    status.counts(_counts(again, ended))
    try:
        with (
            running(results, parallel, status) as runner,
            closing(runner.run(repeat(ready, times), lambda one: f"run {one.number} of {times}")) as runs,
        ):
            for one, ended_run in runs:
                ended.append(ended_run)
                status.counts(_counts(again, ended))
                _tell(one.number, again, ended_run, status)
    except (FencepostError, Interrupted) as error:
        if ended:
            _conclude(again, ended, status, (error.exit_code, str(error)), as_json=as_json)
        raise
    code, reason = _code(again, ended)
    _conclude(again, ended, status, (code, reason), as_json=as_json)
    if not as_json:
        status.last(f"{reason}; exit {code}; {duration(status.took_s)}")
    return code


def _conclude(
    again: Again, ended: Sequence[Ended], status: StatusLines, ending: tuple[int, str], *, as_json: bool
) -> None:
    """Say how often it failed, as JSON with the exit code and its reason."""
    if as_json:
        code, reason = ending
        print_json({"exit": code, "reason": reason, **_json(again, ended)})
        return
    for line in rate_lines(again, ended):
        status.line(line)


def rate_lines(again: Again, ended: Sequence[Ended]) -> list[str]:
    """How often it failed, each kind with its bounds."""
    lines = []
    for kind in sorted(again.kinds.union(*(one.kinds for one in ended))):
        new = "" if kind in again.kinds or not again.kinds else " (not found in the run that was replayed)"
        lines.append(f"  {kind}: {rate_of(kind, ended)}{new}")
    silent = _rate(again, ended).silent
    if silent:
        lines.append(f"  {silent} of {len(ended)} runs said nothing: the lower bound counts them as passed")
    return lines


def failed(again: Again, ended: Ended) -> bool:
    """Whether it failed in a kind that is sought; in any that is news, if nothing was found in that run."""
    return bool(ended.kinds & again.sought if again.kinds else ended.news)


def _introduce(again: Again, times: int, status: StatusLines) -> None:
    for line in (*again.changes, *again.differences):
        status.line(line, style="yellow")
    found = ", ".join(sorted(again.sought)) or "nothing"
    status.line(
        f"replaying {again.path} {counted(times, 'time')}: {again.mode}, BookKeeper {again.version}, "
        f"seed {again.seed}; found in it: {found}",
        style="bold",
    )
    if again.beside:
        status.line(f"  {again.beside}")
    if not again.measured:
        status.line("  the run has no measured times, so the times of its plan are used", style="yellow")


def _tell(number: int, again: Again, ended: Ended, status: StatusLines) -> None:
    style = "red" if failed(again, ended) else "green" if ended.verdict == "valid" else "yellow"
    outcome = "failed " if failed(again, ended) else ended.verdict
    status.line(f"{number:4}  {outcome:8}{ended.took_s:5.0f} s  {ended.headline}", style=style)
    if ended.verdict in (ERROR, "unknown") or (ended.kinds and not failed(again, ended)):
        status.line(f"      folder: {ended.folder}")


def _counts(again: Again, ended: Sequence[Ended]) -> str:
    return f"{sum(failed(again, one) for one in ended)} of {len(ended)} failed"


def _code(again: Again, ended: Sequence[Ended]) -> tuple[int, str]:
    often = _rate(again, ended)
    sentence = f"{'failed in the same way' if again.kinds else 'failed'} {often}"
    if often.seen:
        return ExitCode.ANOMALY, sentence
    if others := frozenset().union(*(one.unexpected for one in ended)) - again.kinds:
        return ExitCode.ANOMALY, f"{sentence}; failed otherwise: {', '.join(sorted(others))}"
    if decisions := [why for one in ended for why in one.contradicted]:
        return ExitCode.ANOMALY, f"{sentence}; {counted(len(decisions), 'run')}: {decisions[0]}"
    return (ExitCode.UNKNOWN if often.silent else ExitCode.AS_EXPECTED), sentence


def _rate(again: Again, ended: Sequence[Ended]) -> Rate:
    return rate(ended, partial(failed, again), again.sought)


def _json(again: Again, ended: Sequence[Ended]) -> dict[str, object]:
    often = _rate(again, ended)
    return {
        "replayed": str(again.path),
        "modified": again.changes,
        "differences": list(again.differences),
        "kinds": sorted(again.kinds),
        "sought": sorted(again.sought),
        "failed": often.seen,
        "of": often.decided,
        "silent": often.silent,
        "between": list(often.bounds),
        "runs": [
            {"folder": str(one.path), "verdict": one.verdict, "kinds": sorted(one.kinds)} for one in ended
        ],
    }
