"""``fencepost shrink``: for a failed run, finds the smallest plan that fails in the same way.

:mod:`plans.shrinking` decides what may be removed; this module runs each smaller plan until the
sequential test says whether it still fails, and writes the smallest as a scenario.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

from checkers.judging.verdict import severity
from evidence.folder import remove_run, write_text
from harness.narrator import print_json
from harness.vocabulary import words
from plans.exploring.schedule import lost_at_most
from plans.grammar.rounds import every
from plans.load import load_tree
from plans.models import Plan, lean_tree
from plans.reading.document import Tree
from plans.reading.writing import plan_text
from plans.resolve import resolve
from plans.shrinking.passes import PASSES, in_order, only_about
from plans.shrinking.units import name_of, params_of, placed
from protocol.errors import FencepostError, PlanError, UsageError
from protocol.exit_codes import ExitCode
from protocol.modes import MODES
from protocol.wording import counted
from search.rates import Rate, rate, rate_of
from search.replay import Again, find_again
from search.running import NEVER_QUIET, Ended, Runner, running
from search.sequential import SequentialTest, sequential_test
from search.status import StatusLines, duration

_FIRST_TRIES = 5
"""Most repetitions of the run itself to learn how often it fails; two failures are enough."""
_KEPT = ("clients", "required", "counting", "allowance")
_ENOUGH = 2
_MOST_ROUNDS = 3
NAME = "shrunk"


@dataclass(frozen=True)
class Options:
    """The user's options; ``kind`` is the finding that must stay, None for the severest that is sought."""

    reference: str
    mode: str | None
    kind: str | None
    confidence: float
    for_s: float | None
    confirm: int
    output: Path | None
    parallel: int
    results: Path
    jars: Path | None = None


class NotAgainError(FencepostError):
    """The run itself did not fail again, so no smaller plan can be compared with it."""

    exit_code = ExitCode.UNKNOWN


class TimeIsUpError(Exception):
    """The time box of the shrinking is over; what was reached stands."""


@dataclass
class Shrinker:
    """Answers whether a smaller plan still fails, by running it."""

    again: Again
    kind: str
    options: Options
    output: Path
    runner: Runner
    status: StatusLines
    test: SequentialTest | None = None
    with_error: bool = False
    """Whether the run itself, where it failed again, ended with an error too."""
    runs: int = 0
    asked: dict[str, bool] = field(default_factory=dict)
    kept: list[Tree] = field(default_factory=list)
    """Every plan that was found to fail, each smaller than the one before it."""

    @property
    def best(self) -> Tree:
        """The smallest plan found up to now; empty before the first."""
        return self.kept[-1] if self.kept else {}

    def fails(self, tree: Tree) -> bool:
        """Whether the tree is a plan that still fails often; remembered, so that nothing is tried twice."""
        key = json.dumps(tree, sort_keys=True)
        if key not in self.asked:
            try:
                self.asked[key] = not self._loses_more(tree) and self._decided(self.plan(tree))
            except PlanError:
                self.asked[key] = False
        if self.asked[key] and tree != self.best:
            self.kept.append(tree)
            self.write()  # kill -9 leaves this plan
            self.status.line(
                f"  {self.status.took_s:6.0f} s  {self.runs:3} runs  {_size(tree)}", style="green"
            )
        return self.asked[key]

    def _loses_more(self, tree: Tree) -> bool:
        """Whether more bookies have lost copies at a time than in the run itself: a loss is lawful then."""
        small, whole = (
            lost_at_most(
                ((name_of(step), params_of(step)) for step in in_order(one["steps"])), self.again.mode
            )
            for one in (tree, self.kept[0])
        )
        return small > whole

    def shows(self, ended: Ended) -> bool:
        """Whether a run shows the finding; one that ended with an error only where the run itself did."""
        return self.kind in ended.kinds and (self.with_error or not ended.error)

    def measure(self, tree: Tree) -> Rate:
        """How often the whole plan fails; ``NotAgainError`` when it never does.

        The time limit does not end this, because without it there is no plan to write.
        """
        plan = self.plan(tree)
        tried: list[Ended] = []
        failed: list[Ended] = []
        while len(tried) < _FIRST_TRIES and len(failed) < _ENOUGH:
            missing = min(_ENOUGH - len(failed), _FIRST_TRIES - len(tried))
            tried += self.run(plan, missing, boxed=False)
            failed = [one for one in tried if self.kind in one.kinds]
        if not failed:
            raise NotAgainError(
                f"the run did not fail again with {self.kind} in {len(tried)} tries, "
                "so nothing can be decided",
                remedy=f"see how often it fails: fencepost replay {' '.join(self.again.words)} --times 20",
            )
        self.with_error = any(one.error for one in failed)
        # Decisions count a run that says nothing as passed, so this rate does as well.
        self.test = sequential_test(len(failed) / len(tried), self.options.confidence)
        self.kept = [tree]
        return rate_of(self.kind, tried)

    def run(self, plan: Plan, needed: int = 1, *, boxed: bool = True) -> list[Ended]:
        """Run a plan once, or as many of the ``needed`` times as may run at a time, within the time limit.

        The folder of a run is removed unless it failed in any way.
        """
        if boxed and self.options.for_s is not None and self.status.took_s > self.options.for_s:
            raise TimeIsUpError
        repeated = ("fencepost", "shrink", *self.again.words)
        ready = self.again.prepare(plan, self.options.results, repeated)
        self.status.counts(_size(self.best))
        before, ended = self.runs, []
        times = min(needed, self.options.parallel)
        for _, one in self.runner.run(repeat(ready, times), lambda one: f"run {before + one.number}"):
            self.runs += 1
            ended.append(one)
            if not (one.kinds or one.error):
                remove_run(self.options.results, one.path)
        return ended

    def _decided(self, plan: Plan) -> bool:
        """Run until the test decides; a run that ends by an error speaks against the smaller plan at once.

        Where the run itself failed with an error, the error belongs to the failure.
        """
        assert self.test is not None  # noqa: S101  # measured first
        failed = passed = 0
        while (decision := self.test.decide(failed, passed)) is None:
            for ended in self.run(plan, self.test.fewest(failed, passed)):
                shows = self.shows(ended)
                if ended.error and not shows:
                    return False
                failed, passed = failed + shows, passed + (not shows)
        return decision

    def write(self, confirmed: Sequence[Ended] = ()) -> None:
        """Write the smallest plan found up to now as a scenario."""
        write_text(self.output, scenario_text(self, confirmed))

    def plan(self, tree: Tree) -> Plan:
        """The tree as a plan; ``PlanError`` when it is none."""
        whole = {
            "name": f"{NAME}/{self.again.plan.name.replace('/', '-')}",
            "source": {"document": "fencepost shrink"},
            "about": "A smaller plan on trial.",
            **{key: value for key, value in tree.items() if key not in ("name", "source", "about", "modes")},
            "modes": [self.again.mode],
            "control": {"nothing": "a plan on trial"},
            "expect": {self.again.mode: ["holds"]},
        }
        plan = load_tree(whole, words(), modes=tuple(MODES), source="smaller plan")
        resolve(plan, self.again.seed, self.again.mode)
        return plan


def shrink(options: Options, *, quiet: bool, as_json: bool) -> int:
    """Shrink a stored run; 0 when the smallest plan was written and failed when it was confirmed, else 3."""
    status = StatusLines(quiet=quiet or as_json)
    again = find_again(options.results, options.reference, options.mode, options.jars)
    kind = _kind(again, options.kind)
    output = options.output or again.path.parent / f"{NAME}.yaml"
    _require_writable(output)
    for line in (*again.changes, *again.differences):
        status.line(line, style="yellow")
    status.line(f"shrinking {again.path}: {again.mode}, {kind}", style="bold")
    if again.beside and not options.kind:
        status.line(f"  {again.beside}; --finding names one")
    confirmed: list[Ended] = []
    with running(options.results, options.parallel, status) as runner:
        shrinker = Shrinker(again, kind, options, output, runner, status)
        first = lean_tree(again.plan)
        often = shrinker.measure(first)
        status.line(f"  it fails {often}; {_rule(shrinker.test)}")
        status.line(f"  {status.took_s:6.0f} s  {shrinker.runs:3} runs  {_size(first)}")
        try:
            _reduce(shrinker)
            _confirm(shrinker, confirmed)
        finally:  # the smallest plan found is written, however the shrinking ends
            shrinker.write(confirmed)
            status.line(f"scenario: {output} ({_size(shrinker.best)})")
    return _conclude(shrinker, confirmed, status, as_json=as_json)


def _require_writable(output: Path) -> None:
    """Refuse at once what would be refused when all runs are done."""
    with suppress(OSError):
        output.parent.mkdir(parents=True, exist_ok=True)
    if output.is_dir() or not (output.parent.is_dir() and os.access(output.parent, os.W_OK)):
        raise UsageError(f"cannot write {output}", remedy="--output names another file")


def _reduce(shrinker: Shrinker) -> None:
    """Run every pass in turn until none of them gains anything, or the time is over."""
    try:
        only_about(shrinker.best, shrinker.again.ledgers, shrinker.fails)
        for _ in range(_MOST_ROUNDS):
            before = shrinker.best
            for make_less in PASSES.values():
                make_less(shrinker.best, shrinker.fails)
            if shrinker.best == before:
                return
    except TimeIsUpError:
        shrinker.status.line("  time limit reached; this is the smallest plan until now", style="yellow")


def _confirm(shrinker: Shrinker, confirmed: list[Ended]) -> None:
    """Run the smallest plan again; if chance has kept it, an earlier one is taken.

    A plan that fails seldom may pass several times, so it is given up only after more runs without a failure
    than the confidence of a decision allows.
    """
    back = 1
    while shrinker.options.confirm:
        confirmed[:] = []
        plan = shrinker.plan(shrinker.best)
        while missing := _missing(shrinker, confirmed):
            confirmed += shrinker.run(plan, missing, boxed=False)
        if len(shrinker.kept) == 1 or any(map(shrinker.shows, confirmed)):
            return
        del shrinker.kept[max(1, len(shrinker.kept) - back) :]
        back *= 2
        shrinker.status.line(f"  it did not fail again; back to {_size(shrinker.best)}", style="yellow")


def _missing(shrinker: Shrinker, confirmed: Sequence[Ended]) -> int:
    """How many runs of a plan are at least missing before it is confirmed or given up."""
    assert shrinker.test is not None  # noqa: S101  # measured first
    least = shrinker.options.confirm - len(confirmed)
    if least > 0 or any(map(shrinker.shows, confirmed)):
        return max(least, 0)
    return max(shrinker.test.enough_passes - len(confirmed), 0)


def scenario_text(shrinker: Shrinker, confirmed: Sequence[Ended]) -> str:
    """The smallest plan as a scenario file that states what it shows."""
    again, best = shrinker.again, shrinker.best
    seen = {kind for one in confirmed for kind in one.kinds} if confirmed else again.kinds
    kinds = sorted((seen | {shrinker.kind}) - {NEVER_QUIET})
    shown = {kind: sum(kind in one.kinds for one in confirmed) for kind in kinds}
    kept = {key: value for key, value in best.items() if key in _KEPT}
    tree: Tree = {
        "name": f"{NAME}/{again.plan.name.replace('/', '-')}",
        "source": {"document": "fencepost shrink", "section": f"{again.plan.name}, seed {again.seed}"},
        "about": _about(again, shrinker, confirmed),
        "cluster": {**best.get("cluster", {}), "version": again.version},
        **kept,
        "modes": [again.mode],
        "control": {"mode": again.mode}
        if any(seen == len(confirmed) for seen in shown.values() if seen)
        else {"nothing": "nothing that a checker reports shows in each run"},
        **{key: value for key, value in best.items() if key in ("alone", "limits", "rounds")},
        "steps": best["steps"],
        "expect": {
            again.mode: [_stated(kind, shown[kind], len(confirmed), again) for kind in kinds] or ["holds"]
        },
    }
    return plan_text(tree, comment=f"fencepost run FILE --seed {again.seed}")


def _stated(kind: str, seen: int, of: int, again: Again) -> Tree:
    """What always showed must show again; what showed sometimes may."""
    tree: Tree = dict(zip(("property", "kind", "class"), kind.split("/"), strict=False))
    if of and seen == of:
        return {"breaks": tree}
    reference = f"found in {again.plan.name}, seed {again.seed}"
    return {"defect": {**tree, "reference": reference, "rate": "sometimes"}}


def _about(again: Again, shrinker: Shrinker, confirmed: Sequence[Ended]) -> str:
    often = rate(confirmed, shrinker.shows, {shrinker.kind})
    text = f"In this form it failed {often}." if confirmed else "It was not confirmed."
    return (
        f"Shrunk from a run of {again.plan.name} with {len(list(every(again.plan.steps)))} steps to "
        f"{len(list(every(shrinker.plan(shrinker.best).steps)))}, in {shrinker.runs} runs. "
        f"What is left shows {shrinker.kind}. {text}"
    )


def _kind(again: Again, asked: str | None) -> str:
    if asked is not None:
        found = [kind for kind in again.kinds if asked in (kind, kind.rpartition("/")[0])]
        if "/" not in asked or not found:
            shown = ", ".join(sorted(again.kinds)) or "nothing"
            raise UsageError(f"the run does not show {asked!r}; found in it: {shown}")
        return min(found, key=_severity)
    if not again.kinds:
        raise UsageError(
            f"nothing was found in {again.path}, so there is nothing to shrink",
            remedy="name a run that failed; `fencepost list runs` shows them",
        )
    return min(again.sought, key=_severity)


def _severity(kind: str) -> tuple[int, bool, str]:
    """Sorts the severest kind first; of losses those that nothing in the run explains."""
    return severity(kind.partition("/")[0]), not kind.endswith("/unexplained"), kind


def _size(tree: Tree) -> str:
    if not tree:
        return "the run itself"
    steps = sum(1 for _ in placed(tree["steps"]))
    bookies = tree.get("cluster", {}).get("bookies", 3)
    clients = len(tree["clients"])
    return f"{counted(steps, 'step')}, {counted(bookies, 'bookie')}, {counted(clients, 'client')}"


def _rule(test: SequentialTest | None) -> str:
    assert test is not None  # noqa: S101  # measured first
    return (
        f"a smaller plan is kept when it fails at {test.often:.0%} rather than at {test.rarely:.0%}, "
        f"decided with {test.confidence:.0%} confidence each time"
    ).replace("%", " %")


def _conclude(shrinker: Shrinker, confirmed: list[Ended], status: StatusLines, *, as_json: bool) -> int:
    often = rate(confirmed, shrinker.shows, {shrinker.kind})
    code = ExitCode.AS_EXPECTED if often.seen else ExitCode.UNKNOWN
    how = f"it fails {often}" if confirmed else "it was not confirmed"
    if as_json:
        tree = {"exit": code, "scenario": str(shrinker.output), "runs": shrinker.runs}
        print_json({**tree, "failed": often.seen, "of": len(confirmed), "steps": shrinker.best["steps"]})
        return code
    status.last(
        f"{_size(shrinker.best)} after {shrinker.runs} runs in {duration(status.took_s)}; {how}; exit {code}"
    )
    return code
