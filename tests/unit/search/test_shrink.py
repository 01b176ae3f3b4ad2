"""Shrinking with simulated runs: its decisions, its output, and its message at the time limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from evidence.folder import new_run, point_latest
from harness.vocabulary import words
from plans.exploring.generate import GenerateOptions, generate
from plans.exploring.profile import load_profile
from plans.grammar.rounds import every
from plans.load import load, load_tree, read
from plans.models import Plan, lean_tree
from plans.reading.document import Tree, parse
from plans.shrinking.passes import PASSES
from plans.shrinking.units import name_of, placed
from protocol.errors import UsageError
from protocol.exit_codes import ExitCode
from protocol.modes import MODES
from search import shrink as shrinking
from search.rates import Rate
from search.replay import Again
from search.running import NEVER_QUIET, Ended
from search.sequential import sequential_test
from search.shrink import NotAgainError, Options, Shrinker, TimeIsUpError, scenario_text
from search.status import StatusLines
from tests.unit.search.simulated import ending

KIND = "durability/lost/unexplained"
Loses = Callable[[Tree], bool]


Told = ending("anomaly", KIND)
EXPLAINED = "durability/lost/explained"
ToldOther = ending("anomaly", "fencing/acked_after_fence")
Held = ending("valid")


def found() -> Plan:
    tree = generate(load_profile(), 1, GenerateOptions(frozenset(words().faults), "unprotected"))
    return load_tree(tree, words(), modes=tuple(MODES), source="found")


def loses(tree: Tree) -> bool:
    names = [name_of(step) for _, step in placed(tree["steps"])]
    return "append" in names and "kill" in names[names.index("append") :]


def written(mode: str, *steps: Tree, **keys: Any) -> Plan:
    """A plan of these steps with one client."""
    tree = {
        "name": "hand/written",
        "source": {"document": "a test"},
        "about": "Steps that fail in a simulation.",
        "clients": ["w"],
        "modes": [mode],
        "control": {"nothing": "a test"},
        "steps": list(steps),
        "expect": {mode: ["holds"]},
        **keys,
    }
    return load_tree(tree, words(), modes=tuple(MODES), source="written")


def runner(ended: Callable[[Plan], Ended]) -> Any:
    """A stand-in for the runner: each plan ends as the given function says."""

    def run(plans: Iterable[Plan], label: Callable[[Any], str]) -> Iterator[tuple[Any, Ended]]:
        for number, plan in enumerate(plans, start=1):
            one = SimpleNamespace(number=number)
            assert label(one)
            yield one, ended(plan)

    return SimpleNamespace(run=run)


@pytest.fixture
def shrinker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Shrinker]:
    """A shrinker of a drawn plan whose runs fail with this chance where ``loses`` holds."""

    def make(
        chance: float = 1.0,
        for_s: float | None = None,
        parallel: int = 1,
        *,
        seed: int = 3,
        plan: Plan | None = None,
        kind: str = KIND,
        loses: Loses = loses,
    ) -> Shrinker:
        plan, random = plan or found(), Random(seed)
        (mode,) = plan.modes
        folder: Any = type("Folder", (), {"path": tmp_path / "run" / mode})()
        again = Again(folder, plan, 1, mode, "4.18.0", frozenset({kind}), measured=True)
        output = tmp_path / "small.yaml"
        options = Options("run", None, None, 0.95, for_s, 3, None, parallel, tmp_path)

        def ended(plan: Plan) -> Ended:
            fails = loses(lean_tree(plan)) and random.random() < chance
            simulated = ending("anomaly", kind) if fails else Held
            return simulated(new_run(tmp_path, "trial", 1), (), "", 0.0)

        monkeypatch.setattr(Again, "prepare", lambda self, plan, results, repeat: plan)
        return Shrinker(again, kind, options, output, runner(ended), StatusLines(quiet=True))

    return make


def reduced(one: Shrinker) -> Tree:
    one.measure(lean_tree(one.again.plan))
    for make_less in PASSES.values():
        make_less(one.best, one.fails)
    return one.best


@pytest.fixture
def small(shrinker: Callable[..., Shrinker]) -> Shrinker:
    """A shrinker that has done its work."""
    one = shrinker()
    reduced(one)
    return one


def test_only_what_the_failure_needs_is_left(shrinker: Callable[..., Shrinker]) -> None:
    one = shrinker()
    small = reduced(one)
    assert sorted(name_of(step) for _, step in placed(small["steps"])) == ["append", "create", "kill"]
    assert one.runs < 120


def test_what_fails_in_two_of_three_runs_is_shrunk_as_well(shrinker: Callable[..., Shrinker]) -> None:
    one = shrinker(chance=0.66)
    small = reduced(one)
    assert len(list(placed(small["steps"]))) < 8


def test_what_fails_in_one_of_five_runs_keeps_what_was_gained(shrinker: Callable[..., Shrinker]) -> None:
    """Three runs without a failure say little about it, and must not lead back to a larger plan."""
    steps: list[Tree] = [
        {"create": {"client": "w", "ledger": "q"}},
        {"append": {"client": "w", "ledger": "q", "entries": 1}},
        {"kill": {"target": "b1"}},
    ]
    whole = lean_tree(written("unprotected", *steps, {"heal": {}}))
    small = lean_tree(written("unprotected", *steps))
    kept = 0
    for seed in range(40):
        one, confirmed = shrinker(chance=0.2, seed=seed), list[Ended]()
        one.test, one.kept = sequential_test(0.2, 0.95), [whole, small]
        shrinking._confirm(one, confirmed)
        kept += one.best == small
        assert 3 <= len(confirmed) <= 14
    assert kept >= 36, "a right result is given up in one of twenty cases"


def test_a_plan_that_ends_with_an_error_is_not_kept_unless_the_run_did(
    shrinker: Callable[..., Shrinker],
) -> None:
    one = shrinker()
    tree = lean_tree(one.again.plan)
    less = {**tree, "steps": tree["steps"][:-1]}
    failing = one.runner
    one.runner = broken = runner(lambda _: Told(Path(), (), "b1 did not start", 0.0))
    assert one.measure(tree) == Rate(2, 2, 2)
    assert one.fails(less)
    again = replace(one, runner=failing, asked={}, kept=[], with_error=False)
    again.measure(tree)
    again.runner = broken
    assert not again.fails(less)


def test_what_is_killed_leaves_the_smallest_plan_until_then(shrinker: Callable[..., Shrinker]) -> None:
    one = shrinker()
    one.measure(lean_tree(one.again.plan))

    def until_the_third(tree: Tree) -> bool:
        fails = one.fails(tree)
        if len(one.kept) == 4:
            raise KeyboardInterrupt
        return fails

    with pytest.raises(KeyboardInterrupt):
        for make_less in PASSES.values():
            make_less(one.best, until_the_third)
    plan = load(one.output, words())
    assert "was not confirmed" in plan.about
    assert len(list(every(plan.steps))) == len(list(placed(one.kept[3]["steps"])))


def test_the_scenario_names_the_release_that_ran(shrinker: Callable[..., Shrinker]) -> None:
    """A run may have had another release than its plan names."""
    steps = [{"create": {"client": "w", "ledger": "q"}}, {"kill": {"target": "b1"}}]
    one = shrinker(plan=written("unprotected", *steps, cluster={"version": "4.16.7"}), loses=bool)
    one.measure(lean_tree(one.again.plan))
    assert scenario(one).cluster.version == "4.18.0"


@pytest.mark.parametrize("parallel", [2, 8])
def test_with_runs_at_a_time_no_more_are_run_and_the_same_is_left(
    shrinker: Callable[..., Shrinker], parallel: int
) -> None:
    alone, together = shrinker(), shrinker(parallel=parallel)
    assert reduced(together) == reduced(alone)
    assert together.runs == alone.runs


def test_no_smaller_plan_takes_more_copies_at_a_time_than_the_run(shrinker: Callable[..., Shrinker]) -> None:
    """Limbo that never ends is lawful when both bookies of an entry have lost it."""
    killed: list[Tree] = [
        {"kill": {"target": "b1"}},
        {"start": {"target": "b1"}},
        {"wait_for": {"condition": "quiet"}},
        {"kill": {"target": "b2"}},
    ]
    plan = written("protected", *killed, {"wait_for": {"condition": "quiet"}})

    def both(tree: Tree) -> bool:
        return sum(name_of(step) == "kill" for step in tree["steps"]) == 2

    small = reduced(shrinker(plan=plan, kind=NEVER_QUIET, loses=both))
    assert [name_of(step) for step in small["steps"]] == ["kill", "wait_for", "kill"]


def test_what_does_not_fail_again_cannot_be_shrunk(shrinker: Callable[..., Shrinker]) -> None:
    one = shrinker(chance=0.0)
    with pytest.raises(
        NotAgainError, match=r"did not fail again with durability/lost/unexplained in 5 tries"
    ) as raised:
        reduced(one)
    assert raised.value.exit_code == ExitCode.UNKNOWN


def test_a_file_that_cannot_be_written_is_refused_before_the_first_run(
    shrinker: Callable[..., Shrinker], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one = shrinker()
    (tmp_path / "file").touch()
    options = replace(one.options, output=tmp_path / "file" / "small.yaml")
    monkeypatch.setattr(shrinking, "find_again", lambda *_: one.again)
    monkeypatch.setattr(shrinking, "running", lambda *_: pytest.fail("a run began"))
    with pytest.raises(UsageError, match=r"cannot write .*small\.yaml"):
        shrinking.shrink(options, quiet=True, as_json=False)


def test_when_the_time_is_up_the_best_so_far_stands(shrinker: Callable[..., Shrinker]) -> None:
    one = shrinker()
    tree = lean_tree(one.again.plan)
    one.measure(tree)
    one.options = replace(one.options, for_s=1e-9)
    with pytest.raises(TimeIsUpError):
        one.fails({**tree, "steps": tree["steps"][:-1]})
    assert one.best == tree


def test_the_run_itself_is_measured_however_short_the_time_is(shrinker: Callable[..., Shrinker]) -> None:
    one = shrinker(for_s=1e-9)
    tree = lean_tree(one.again.plan)
    assert one.measure(tree) == Rate(2, 2, 2)
    shrinking._reduce(one)
    assert one.best == tree


def test_what_was_kept_by_chance_is_given_up_when_it_is_not_confirmed(
    shrinker: Callable[..., Shrinker],
) -> None:
    one = shrinker()
    small = reduced(one)
    by_chance = {**small, "steps": [step for step in small["steps"] if name_of(step) != "kill"]}
    one.kept.append(by_chance)
    confirmed: list[Ended] = []
    shrinking._confirm(one, confirmed)
    assert one.best == small
    assert [kind.kinds for kind in confirmed] == [frozenset({KIND})] * 3


def test_the_run_itself_is_what_is_left_when_nothing_smaller_is_confirmed(small: Shrinker) -> None:
    whole = small.kept[0]
    small.kept[1:] = [{**tree, "steps": tree["steps"][:1]} for tree in small.kept[1:]]
    shrinking._confirm(small, [])
    assert small.best == whole


@pytest.mark.parametrize(
    ("kind", "error", "stays"),
    [(Told, "", True), (ToldOther, "", True), (Held, "b1 did not start", True), (Held, "", False)],
)
def test_only_what_did_not_fail_at_all_is_removed_and_latest_never_dangles(
    shrinker: Callable[..., Shrinker], tmp_path: Path, kind: type[Ended], error: str, stays: bool
) -> None:
    one = shrinker()
    trial = new_run(tmp_path, "trial", 1)
    point_latest(tmp_path, trial)
    one.runner = runner(lambda _: kind(trial, (), error, 0.0))
    one.run(one.again.plan)
    assert trial.exists() == stays
    assert (tmp_path / "latest").is_symlink() == stays


def test_the_severest_kind_is_what_must_stay(shrinker: Callable[..., Shrinker]) -> None:
    found = ("answers/denied_held", "availability/slow", NEVER_QUIET, "closing/closed_below")
    again = replace(shrinker().again, kinds=frozenset(found))
    assert shrinking._kind(again, None) == "closing/closed_below"
    assert shrinking._kind(again, NEVER_QUIET) == NEVER_QUIET
    known = replace(again, news=frozenset({"answers/denied_held", "availability/slow"}))
    assert shrinking._kind(known, None) == "answers/denied_held"
    assert shrinking._kind(known, "closing/closed_below") == "closing/closed_below"
    assert "closing/closed_below" in known.beside
    lost = replace(again, kinds=frozenset({*found, EXPLAINED, KIND}))
    assert {shrinking._kind(lost, asked) for asked in (None, "durability/lost", KIND)} == {KIND}
    assert shrinking._kind(lost, EXPLAINED) == EXPLAINED
    for asked in ("durability", "lost", "durability/lost/forged"):
        with pytest.raises(UsageError, match="the run does not show"):
            shrinking._kind(lost, asked)


def test_a_loss_of_another_class_is_another_failure(shrinker: Callable[..., Shrinker]) -> None:
    one = shrinker()
    tree = lean_tree(one.again.plan)
    one.measure(tree)
    one.runner = runner(lambda _: ending("anomaly", EXPLAINED)(Path(), (), "", 0.0))
    assert not one.fails({**tree, "steps": tree["steps"][:-1]})


def scenario(one: Shrinker, *confirmed: type[Ended]) -> Plan:
    """The scenario file, read, when runs that ended so have confirmed it."""
    text = scenario_text(one, [kind(Path(), (), "", 0.0) for kind in confirmed])
    return read(parse(text, "shrunk.yaml"), words(), modes=tuple(MODES))


def test_the_scenario_states_what_always_showed(small: Shrinker) -> None:
    plan = scenario(small, Told, Told, Told)
    assert "failed in 3 of 3 runs" in plan.about
    assert plan.cluster.version == "4.18.0"
    (stated,) = plan.expect["unprotected"]
    assert (stated.says, plan.control[0].mode) == ("breaks", "unprotected")


def test_the_scenario_states_each_class_of_loss(small: Shrinker) -> None:
    entries = scenario(small, ending("anomaly", KIND, EXPLAINED), Told).expect["unprotected"]
    losses = [(entry.says, getattr(entry, "loss", None)) for entry in entries]
    assert losses == [("defect", "explained"), ("breaks", "unexplained")]


def test_the_scenario_of_a_run_that_was_alone_runs_alone(shrinker: Callable[..., Shrinker]) -> None:
    one = shrinker()
    one.again = replace(one.again, plan=one.again.plan.model_copy(update={"alone": True}))
    reduced(one)
    assert one.plan(one.best).alone
    assert scenario(one).alone


def test_what_was_not_confirmed_states_what_the_run_showed(small: Shrinker) -> None:
    small.again = replace(small.again, kinds=frozenset({KIND, "closing/closed_below"}))
    plan = scenario(small)
    assert [entry.says for entry in plan.expect["unprotected"]] == ["defect", "defect"]


def test_a_plan_that_leaves_the_cluster_in_trouble_is_a_scenario_that_states_nothing_of_it(
    small: Shrinker,
) -> None:
    small.kind, small.again = NEVER_QUIET, replace(small.again, kinds=frozenset({NEVER_QUIET}))
    plan = scenario(small)
    assert "What is left shows quiet/never" in plan.about
    assert [entry.says for entry in plan.expect["unprotected"]] == ["holds"]


def test_the_scenario_of_what_shows_sometimes_says_so(small: Shrinker) -> None:
    assert [entry.says for entry in scenario(small, Told, Held).expect["unprotected"]] == ["defect"]
