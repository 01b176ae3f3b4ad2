"""Plans drawn from a seed: the same again, all of them plans, and never more lost than the limit."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from itertools import permutations, product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.vocabulary import words
from plans.exploring.faults import KINDS
from plans.exploring.generate import GenerateOptions, draw, generate, left_out
from plans.exploring.profile import DEFAULT, Deviations, Profile, load_profile
from plans.exploring.schedule import LOSING, lost_at_most
from plans.exploring.seeds import between, pick, stream
from plans.grammar.rounds import every
from plans.grammar.sequence import StepSpec, Together
from plans.load import load_tree
from plans.models import Plan
from plans.reading.document import parse
from plans.reading.walk import MODIFIERS, raw_steps
from plans.reading.writing import plan_text
from plans.resolve import resolve
from protocol.addresses import ZOOKEEPER
from protocol.errors import PlanError
from protocol.modes import DB_STORAGE, MODES

PROFILE = load_profile()
EVERY_FAULT = frozenset(words().faults)
any_time = settings(max_examples=60 if settings.get_current_profile_name() == "long" else 25)


@st.composite
def asked(draw_one: Callable[..., Any]) -> GenerateOptions:
    """Any mode, and perhaps more lost copies than it promises to survive."""
    mode = draw_one(st.sampled_from(sorted(MODES)))
    return GenerateOptions(EVERY_FAULT, mode, None, draw_one(st.integers(0, 2)))


@st.composite
def trees(draw_one: Callable[..., Any], profile: Profile = PROFILE) -> tuple[GenerateOptions, dict[str, Any]]:
    """What ``explore`` may generate, with choices that Hypothesis makes and shrinks."""
    wish = draw_one(asked())
    random: Random = draw_one(st.randoms(use_true_random=False))
    return wish, draw(profile, lambda _: random, wish, origin="Hypothesis")


def loaded(tree: dict[str, Any]) -> Plan:
    return load_tree(tree, words(), modes=tuple(MODES), source="drawn")


@given(st.integers(0, 2**63 - 1), asked())
@any_time
def test_the_same_seed_gives_the_same_plan(seed: int, wish: GenerateOptions) -> None:
    assert generate(PROFILE, seed, wish) == generate(PROFILE, seed, wish)


def test_other_seeds_give_other_plans() -> None:
    wish = GenerateOptions(EVERY_FAULT, "protected")
    assert len({repr(generate(PROFILE, seed, wish)["steps"]) for seed in range(50)}) == 50


@given(trees())
@any_time
def test_whatever_is_drawn_is_a_plan(drawn: tuple[GenerateOptions, dict[str, Any]]) -> None:
    wish, tree = drawn
    plan = loaded(tree)
    assert plan.modes == (wish.mode,)
    assert resolve(plan, 1, plan.modes[0]).plan == plan, "something was left for the seed to decide"
    assert [step.name for step in every(plan.steps)].count("heal") >= 1


@given(trees())
@any_time
def test_a_written_plan_is_read_back_the_same(drawn: tuple[GenerateOptions, dict[str, Any]]) -> None:
    _, tree = drawn
    text = plan_text(tree, comment="Drawn.")
    assert parse(text, "written.yaml").tree == tree


def most_lost(tree: dict[str, Any], mode: str) -> int:
    return lost_at_most(((step.name, step.params) for step in raw_steps(tree)), mode)


@given(trees())
@any_time
def test_never_more_copies_are_lost_than_the_mode_promises_to_survive(
    drawn: tuple[GenerateOptions, dict[str, Any]],
) -> None:
    wish, tree = drawn
    created = next(step.params for step in raw_steps(tree) if step.name == "create")
    assert wish.mode is not None
    assert most_lost(tree, wish.mode) <= created["ack_quorum"] - 1 + wish.beyond


def test_a_mode_loses_by_a_fault_what_it_does_not_write_or_sync() -> None:
    drawn = {kind.needs for kind in KINDS.values()}
    lost = {mode: losing & drawn for mode, losing in LOSING.items()}
    without_journal = {"kill", "power_loss"}
    assert lost == {
        "journal": set(),
        "nosync": {"power_loss"},
        "unprotected": without_journal,
        "protected": without_journal,
    }
    assert "wipe" in LOSING["journal"]


def test_a_plan_beyond_the_limit_has_an_allowance_and_no_other_has() -> None:
    within = generate(PROFILE, 5, GenerateOptions(EVERY_FAULT, "unprotected"))
    beyond = generate(PROFILE, 5, GenerateOptions(EVERY_FAULT, "unprotected", beyond=1))
    assert "allowance" not in within
    assert beyond["allowance"]["unprotected"]["each"] > 0


def test_without_journaled_data_some_plan_uses_the_limit_up_and_beyond_more() -> None:
    def most(beyond: int) -> int:
        wish = GenerateOptions(EVERY_FAULT, "unprotected", beyond=beyond)
        return max(most_lost(generate(PROFILE, seed, wish), "unprotected") for seed in range(200))

    assert most(0) == 2, "the ack quorum 3 allows two"
    assert most(1) == 3


def bursts(tree: dict[str, Any]) -> Iterator[Together]:
    return (step for step in loaded(tree).steps if isinstance(step, Together))


def lanes(tree: dict[str, Any]) -> Iterator[tuple[StepSpec | Together, ...]]:
    return (lane for burst in bursts(tree) for lane in burst.branches)


@given(trees())
@any_time
def test_what_a_lane_breaks_it_mends(drawn: tuple[GenerateOptions, dict[str, Any]]) -> None:
    _, tree = drawn
    for lane in lanes(tree):
        down: set[str] = set()
        for step in every(lane):
            target = getattr(step.params, "target", None)
            if step.name in ("kill", "stop", "pause"):
                assert target not in down, f"{target} is hit while it is down"
                down.add(str(target))
            elif step.name == "power_loss":
                down |= set(getattr(step.params, "targets", ()))
            elif step.name in ("start", "resume"):
                down.remove(str(target))
        assert not down


def paused_and_needed(lane: Iterable[StepSpec]) -> tuple[set[str], set[str]]:
    """Whom a lane pauses, and who has to read for the links that it slows down or holds."""
    paused: set[str] = set()
    needed: set[str] = set()
    for step in lane:
        params = step.params
        if step.name == "pause":
            paused.add(getattr(params, "target", ""))
        elif step.name == "slow":
            needed |= {getattr(params, "source", ""), getattr(params, "to", "")}
        elif step.name == "isolate" and getattr(params, "by", "") == "hold":
            needed |= {getattr(params, "target", ""), ZOOKEEPER}
    return paused, needed


def test_no_lane_pauses_whom_the_links_of_another_need() -> None:
    for seed in range(80):
        for burst in bursts(generate(PROFILE, seed, GenerateOptions(EVERY_FAULT, "protected"))):
            for one, other in permutations([paused_and_needed(every(lane)) for lane in burst.branches], 2):
                assert not one[0] & other[1], f"seed {seed}"


@given(trees())
@any_time
def test_times_of_a_lane_never_go_back(drawn: tuple[GenerateOptions, dict[str, Any]]) -> None:
    _, tree = drawn
    for lane in lanes(tree):
        times = [step.at_s for step in every(lane) if step.at_s is not None]
        assert times == sorted(times)


def names_drawn(seeds: int, wish: GenerateOptions, profile: Profile = PROFILE) -> set[str]:
    return {step.name for seed in range(seeds) for step in raw_steps(generate(profile, seed, wish))}


def test_what_this_machine_lacks_is_not_drawn_and_named() -> None:
    here = EVERY_FAULT - {"power_loss", "expire"}
    assert not names_drawn(80, GenerateOptions(here, "protected")) & {"power_loss", "expire"}
    assert left_out(PROFILE, here) == ["power_loss", "expire_bookie"]


def test_every_kind_of_fault_of_the_default_profile_is_drawn_some_time() -> None:
    drawn = names_drawn(150, GenerateOptions(EVERY_FAULT, "protected"))
    assert {KINDS[name].needs for name in PROFILE.faults} <= drawn
    assert set(PROFILE.faults) == set(KINDS)


def test_a_plan_lacks_some_kinds_of_fault_and_never_all() -> None:
    drawn = [names_drawn_by(PROFILE, seed) for seed in range(40)]
    assert sum("cut" not in names for names in drawn) >= 10
    few = PROFILE.schedule.model_copy(update={"kinds_fraction": 0.0})
    one = PROFILE.model_copy(update={"schedule": few, "faults": {"cut": 1.0, "hold": 1.0}})
    assert {len(names_drawn_by(one, seed) & {"cut", "hold"}) for seed in range(20)} == {1}


def names_drawn_by(profile: Profile, seed: int) -> set[str]:
    wish = GenerateOptions(EVERY_FAULT, "protected")
    return {step.name for step in raw_steps(generate(profile, seed, wish))}


def test_a_weight_of_zero_never_comes() -> None:
    quiet = PROFILE.model_copy(update={"faults": {"cut": 1.0, "kill_bookie": 0.0}})
    assert not names_drawn(40, GenerateOptions(EVERY_FAULT, "journal"), quiet) & {"hold", "pause"}


def test_every_profile_of_the_project_gives_plans_with_its_settings() -> None:
    for path in DEFAULT.parent.glob("*.yaml"):
        profile = load_profile(path)
        for seed in range(20):
            tree = generate(profile, seed, GenerateOptions(EVERY_FAULT))
            plan = loaded(tree)
            assert plan.cluster.bookie_conf.keys() >= profile.cluster.bookie_conf.keys()
            assert plan.cluster.client_conf.keys() >= profile.cluster.client_conf.keys()


def test_a_setting_of_a_profile_has_each_of_its_values_some_time() -> None:
    sizes = {"openFileLimit": (4, 100), "journalReuseFiles": (False, True)}
    cluster = PROFILE.cluster.model_copy(update={"bookie_conf": sizes})
    profile = PROFILE.model_copy(update={"cluster": cluster})
    wish = GenerateOptions(EVERY_FAULT)
    drawn = [generate(profile, seed, wish)["cluster"]["bookie_conf"] for seed in range(40)]
    assert {tuple(conf[name] for name in sizes) for conf in drawn} == set(product(*sizes.values()))


def deviating(number: int, *bookie: dict[str, Any], **drawn: Any) -> list[dict[str, Any]]:
    """The settings of bookies in many clusters, in each of which the settings of ``drawn`` are there."""
    deviations = Deviations(number=(number,), bookie_conf=bookie, client_conf=())
    update = {"bookie_conf": {name: (value,) for name, value in drawn.items()}, "deviations": deviations}
    profile = PROFILE.model_copy(update={"cluster": PROFILE.cluster.model_copy(update=update)})
    wish = GenerateOptions(EVERY_FAULT)
    return [generate(profile, seed, wish)["cluster"]["bookie_conf"] for seed in range(60)]


def test_a_cluster_has_the_number_of_deviations_and_none_twice() -> None:
    drawn = deviating(2, {"a": (1, 2)}, {"b": (1,), "c": (1,)}, {"d": (1,)}, gcWaitTime=500)
    names = {"".join(sorted(conf.keys() - {"gcWaitTime"})) for conf in drawn}
    assert names == {"abc", "ad", "bcd"}
    assert {conf["a"] for conf in drawn if "a" in conf} == {1, 2}


def test_a_deviation_contradicts_no_setting_that_is_there() -> None:
    excluding = ({"a": (True,), "b": (False,)}, {"b": (True,), "a": (False,)})
    other = {"gcWaitTime": (1, 2), "c": (1,)}
    drawn = [tuple(sorted(conf.items())) for conf in deviating(3, *excluding, other, gcWaitTime=500)]
    assert set(drawn) == {
        (("a", True), ("b", False), ("gcWaitTime", 500)),
        (("a", False), ("b", True), ("gcWaitTime", 500)),
    }
    assert deviating(1, other, gcWaitTime=2)[0] == {"gcWaitTime": 2, "c": 1}


def test_deviations_change_nothing_else_of_a_plan() -> None:
    deviations = Deviations(number=(1,), bookie_conf=({"a": (1,)},), client_conf=({"b": (1,)},))
    cluster = PROFILE.cluster.model_copy(update={"deviations": deviations})
    with_them = PROFILE.model_copy(update={"cluster": cluster})
    for seed in range(20):
        plain, tree = (generate(one, seed, GenerateOptions(EVERY_FAULT)) for one in (PROFILE, with_them))
        assert {key for key in tree if tree[key] != plain[key]} == {"cluster"}


def test_a_protected_bookie_has_the_only_storage_that_survives_a_crash() -> None:
    for path in DEFAULT.parent.glob("*.yaml"):
        for seed in range(20):
            tree = generate(load_profile(path), seed, GenerateOptions(EVERY_FAULT, "protected"))
            assert tree["cluster"]["bookie_conf"].get("ledgerStorageClass", DB_STORAGE) == DB_STORAGE


def test_modifiers_stand_behind_the_step_they_belong_to() -> None:
    text = plan_text({"steps": [{"heal": {}, "at_s": 1.5, "note": "why: so"}]})
    assert text == 'steps:\n  - heal: {}\n    at_s: 1.5\n    note: "why: so"\n'
    assert set(MODIFIERS) >= {"at_s", "note"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kill_bookie: 8", "kil_bookie: 8", "unknown fault `kil_bookie`; did you mean `kill_bookie`?"),
        ("[3/3/2, 3/3/2", "[3/2/3, 3/3/2", "quorums must satisfy E >= WQ >= AQ >= 1, not E=3 WQ=2 AQ=3"),
        ("lasts_s: [0.5, 4]", "lasts_s: [4, 0.5]", "[4, 0.5] must be [lowest, highest]"),
        ("at_most_down: 2", "at_most_down: none", "`at_most_down` must be a whole number"),
        ("modes: [protected]", "modes: [protectd]", "did you mean `protected`?"),
        ("bursts: [1, 1, 2]", "burst: [1, 1, 2]", "unknown key `burst`; did you mean `bursts`?"),
        ("flushInterval: [1000, 10000, 3600000, 3600000, 3600000]", "flushInterval: []", "is empty"),
    ],
)
def test_a_mistake_in_a_profile_is_told_with_its_place(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = DEFAULT.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    line = 1 + text[: text.index(old)].count("\n")
    with pytest.raises(PlanError) as caught:
        load_profile(path)
    assert message in str(caught.value)
    assert f"mine.yaml:{line}:" in str(caught.value)


def test_a_profile_without_any_weight_is_refused(tmp_path: Path) -> None:
    text = DEFAULT.read_text(encoding="utf-8").partition("faults:")[0]
    path = tmp_path / "mine.yaml"
    path.write_text(text + textwrap.dedent("faults: {cut: 0}\n"), encoding="utf-8")
    with pytest.raises(PlanError, match="no fault has a weight above 0"):
        load_profile(path)


def test_a_stream_gives_the_numbers_it_always_gave() -> None:
    random = stream(42, "chaos/0")
    assert [round(random.random(), 6) for _ in range(3)] == [0.846887, 0.385234, 0.282362]


@given(st.integers(0, 2**63 - 1), st.text(max_size=20))
def test_streams_of_other_names_differ(seed: int, name: str) -> None:
    assert stream(seed, name).random() == stream(seed, name).random()
    assert stream(seed, name).random() != stream(seed, name + "x").random()


@given(st.integers(0, 1000), st.floats(0, 100), st.floats(0, 100))
def test_between_stays_between(seed: int, low: float, more: float) -> None:
    assert low <= between(stream(seed, "t"), low, low + more) <= low + more


def test_pick_reaches_every_item_and_refuses_nothing_to_pick() -> None:
    random = stream(1, "p")
    assert {pick(random, "abc") for _ in range(100)} == set("abc")
    with pytest.raises(ValueError, match="nothing to pick from"):
        pick(random, "")
