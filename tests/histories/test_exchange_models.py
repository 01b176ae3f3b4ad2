"""The models set and log: each finding's literal history with a lawful neighbour, and their naive twins."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.histories import adding, offsets
from checkers.histories.adding import judge_set
from checkers.histories.offsets import judge_offsets
from evidence.codes import NEVER, Outcome
from evidence.exchange import edn
from evidence.exchange.operations import Operation, quickly, read_operations
from evidence.findings import Verdict
from protocol.errors import EvidenceError
from tests.histories.strategies import steady
from tests.histories.twins_exchange import of_log, of_set

OK, FAIL, UNKNOWN = Outcome.OK, Outcome.FAIL, Outcome.UNKNOWN
SEEDS = st.integers(0, 2**32)


def operation(
    function: str, asked: Any, result: Any, at: tuple[int, int], outcome: Outcome = OK, process: int = 0
) -> Operation:
    ended = NEVER if outcome is UNKNOWN else at[1]
    return Operation(process, function, asked, result, at[0], ended, outcome, at[0])


def add(element: int, at: tuple[int, int], outcome: Outcome = OK) -> Operation:
    return operation("add", element, element, at, outcome)


def read(*elements: int, at: tuple[int, int]) -> Operation:
    return operation("read", None, list(elements), at)


def send(message: int, offset: int, at: int, outcome: Outcome = OK, process: int = 0) -> Operation:
    results = [["send", "x", [offset, message]]]
    return operation("send", [["send", "x", message]], results, (at, at + 1), outcome, process)


def poll(*pairs: tuple[int, int], at: int, process: int = 1) -> Operation:
    results = [["poll", {"x": [list(pair) for pair in pairs]}]]
    return operation("poll", [["poll"]], results, (at, at + 1), OK, process)


def assign(at: int, process: int = 1, how: str = "assign") -> Operation:
    return operation(how, ["x"], ["x"], (at, at + 1), OK, process)


ONE = add(1, (0, 1))
SETS: dict[str, tuple[list[Operation], list[Operation]]] = {
    "lost": ([ONE, read(1, at=(2, 3)), read(at=(4, 5))], [ONE, read(at=(0, 5)), read(1, at=(2, 3))]),
    "stale": (
        [ONE, read(at=(2, 3)), read(1, at=(4, 5))],
        [add(1, (0, 4)), read(at=(2, 3)), read(1, at=(5, 6))],
    ),
    "duplicated": ([ONE, read(1, 1, at=(2, 3))], [ONE, read(1, at=(2, 3))]),
    "unexpected": ([ONE, read(1, 2, at=(2, 3))], [ONE, add(2, (0, 1)), read(1, 2, at=(2, 3))]),
    "failed-read": (
        [ONE, add(2, (0, 1), FAIL), read(1, 2, at=(2, 3))],
        [ONE, add(2, (0, 1), UNKNOWN), read(1, 2, at=(2, 3))],
    ),
}
TWO = [send(7, 0, 0), send(8, 1, 2)]
LOGS: dict[str, tuple[list[Operation], list[Operation]]] = {
    "lost-write": ([*TWO, poll((1, 8), at=4)], [*TWO, poll((0, 7), at=4)]),
    "duplicate": ([*TWO, poll((0, 7), (1, 8), (2, 7), at=4)], [*TWO, poll((0, 7), (1, 8), at=4)]),
    "inconsistent-offsets": (
        [*TWO, send(9, 1, 4), poll((0, 7), (1, 8), at=6), poll((1, 9), at=8, process=2)],
        TWO,
    ),
    "aborted-read": (
        [*TWO, send(9, 2, 4, FAIL), poll((0, 7), (1, 8), (2, 9), at=6)],
        [*TWO, send(9, 2, 4, UNKNOWN)],
    ),
    "garbage-read": (
        [*TWO, poll((0, 7), (1, 8), (2, 9), at=6)],
        [*TWO, send(9, 2, 4, UNKNOWN), poll((0, 7), at=6)],
    ),
    "poll-skip": (
        [*TWO, send(9, 2, 4), poll((0, 7), at=6), poll((2, 9), at=8), poll((1, 8), at=9, process=2)],
        [
            *TWO,
            send(9, 2, 4),
            poll((0, 7), at=6),
            assign(7),
            poll((2, 9), at=8),
            poll((1, 8), at=9, process=2),
        ],
    ),
    "nonmonotonic-poll": (
        [*TWO, poll((0, 7), (1, 8), at=6), poll((0, 7), at=8)],
        [*TWO, poll((0, 7), (1, 8), at=6), assign(7, how="subscribe"), poll((0, 7), at=8)],
    ),
    "nonmonotonic-send": ([send(8, 1, 0), send(7, 0, 2)], [send(8, 1, 0), send(7, 0, 2, process=2)]),
}
BESIDE = {"inconsistent-offsets": {"nonmonotonic-send"}}


def test_every_finding_has_a_history() -> None:
    assert set(SETS) == set(adding.KINDS)
    assert set(LOGS) == set(offsets.KINDS)


@pytest.mark.parametrize("name", SETS)
def test_a_set_has_the_findings_of_its_history(name: str) -> None:
    wrong, lawful = SETS[name]
    assert {one.kind for one in judge_set(wrong, linearizable=True).findings} == {name}
    assert not judge_set(lawful, linearizable=True).findings
    assert judge_set(wrong).verdict is (Verdict.VALID if name == "stale" else Verdict.ANOMALY)


@pytest.mark.parametrize("name", LOGS)
def test_a_log_has_the_findings_of_its_history(name: str) -> None:
    wrong, lawful = LOGS[name]
    assert {one.kind for one in judge_offsets(wrong).findings} == {name, *BESIDE.get(name, ())}
    assert not judge_offsets(lawful).findings


def test_a_stale_element_is_told_where_the_model_allows_it() -> None:
    assert list(judge_set(SETS["stale"][0]).notes) == [
        "found, and allowed by set: stale (1); linearizable-set forbids it"
    ]


@pytest.mark.parametrize(
    ("judged", "histories"),
    [
        (judge_set, [[], [ONE], [ONE, read(at=(0, 5))]]),
        (judge_offsets, [[], TWO, [poll(at=3)], [assign(1)]]),
    ],
)
def test_what_nobody_read_or_polled_is_unknown(judged: Any, histories: list[list[Operation]]) -> None:
    for history in histories:
        assert judged(history).verdict is Verdict.UNKNOWN, history


def test_polls_of_one_operation_are_judged_also_where_logs_were_subscribed() -> None:
    history = [*TWO, assign(3, how="subscribe"), poll((1, 8), (0, 7), at=6)]
    assert [one.kind for one in judge_offsets(history).findings] == ["nonmonotonic-poll"]


@pytest.mark.parametrize("judged", [judge_set, judge_offsets])
def test_a_history_of_another_kind_is_refused(judged: Any) -> None:
    with pytest.raises(EvidenceError, match="function 'cas'"):
        judged([operation("cas", 1, 1, (0, 1))])


@given(SEEDS)
@steady(100)
def test_of_any_set_the_twin_says_the_same(seed: int) -> None:
    random = Random(seed)
    history = [
        add(
            element,
            (at := random.randrange(20), at + random.randrange(1, 9)),
            random.choice((OK, OK, FAIL, UNKNOWN)),
        )
        for element in range(4)
    ]
    for at in random.sample(range(20), 4):
        shown = random.choices(range(5), k=random.randrange(5))
        history.append(read(*shown, at=(at, at + random.randrange(1, 9))))
    history.sort(key=lambda one: one.invoked)
    assert +judge(history, linearizable=True) == of_set(history)


def judge(history: list[Operation], **more: Any) -> Any:
    return Counter(judge_set(history, **more).counts)


@given(SEEDS)
@steady(100)
def test_of_any_log_the_twin_says_the_same(seed: int) -> None:
    random = Random(seed)
    history: list[Operation] = []
    for at in range(0, 24, 2):
        choice, process = random.randrange(10), random.randrange(2)
        if choice < 5:
            outcome = random.choice((OK, OK, OK, FAIL, UNKNOWN))
            history.append(send(at + random.randrange(2), random.randrange(5), at, outcome, process))
        elif choice < 9:
            pairs = [(random.randrange(5), random.randrange(24)) for _ in range(random.randrange(4))]
            known = [one.returned[0][2] for one in history if one.function == "send"]
            pairs += [tuple(pair) for pair in random.sample(known, min(2, len(known)))]
            history.append(poll(*pairs, at=at, process=process))
        else:
            history.append(assign(at, process))
    assert +Counter(judge_offsets(history).counts) == of_log(history)


@given(SEEDS)
@steady(60)
def test_a_lawful_log_and_a_lawful_set_have_no_finding(seed: int) -> None:
    """One writer, readers that follow it, and sends and adds with unknown outcomes."""
    random = Random(seed)
    log: list[Operation] = []
    members: list[Operation] = []
    there: list[int] = []
    places = [0, 0]
    for at in range(0, 60, 3):
        if random.random() < 0.5:
            outcome = random.choice((OK, OK, UNKNOWN))
            if outcome is OK or random.random() < 0.5:
                log.append(send(at, len(there), at, outcome))
                members.append(add(at, (at, at + 1), outcome))
                there.append(at)
            else:
                log.append(send(at, 0, at, random.choice((FAIL, UNKNOWN))))
        else:
            who = random.randrange(2)
            end = random.randint(places[who], len(there))
            log.append(poll(*((one, there[one]) for one in range(places[who], end)), at=at, process=1 + who))
            places[who] = end
            members.append(read(*there, at=(at, at + 1)))
    assert judge_offsets(log).verdict is not Verdict.ANOMALY
    assert judge_set(members, linearizable=True).verdict is not Verdict.ANOMALY


EDN = """{:index 0, :type :invoke, :process 0, :f :add, :value 5}
{:index 1, :type :ok, :process 0, :f :add, :value 5}
{:index 2, :type :invoke, :process :nemesis, :f :kill, :value nil}
{:index 3, :type :invoke, :process 1, :f :read, :value nil}
{:index 4, :type :ok, :process 1, :f :read, :value #{5
 6}}
"""


def test_operations_come_in_the_order_of_their_invocations_without_those_of_the_nemesis(
    tmp_path: Path,
) -> None:
    path = tmp_path / "history.edn"
    path.write_text(EDN)
    first, second = read_operations(path)
    assert (first.function, first.asked, first.outcome, first.index) == ("add", 5, OK, 0)
    assert set(second.returned) == {5, 6}
    assert first.completed < second.invoked


def test_what_never_ended_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text(EDN.split("{:index 1")[0])
    (one,) = read_operations(path)
    assert (one.outcome, one.completed) == (UNKNOWN, NEVER)


FORMS = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(10**17), 10**17), st.sampled_from([":send", ":a-b/c", ":nil"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.integers(0, 99), inner, max_size=3),
        st.frozensets(st.integers(0, 99), max_size=4),
    ),
    max_leaves=12,
)


def in_edn(value: Any, dice: Random) -> str:
    blank = dice.choice((" ", ", ", "  "))
    if isinstance(value, dict):
        pairs = blank.join(f"{in_edn(key, dice)} {in_edn(one, dice)}" for key, one in value.items())
        return "{" + pairs + "}"
    if isinstance(value, frozenset):
        return "#{" + blank.join(map(str, value)) + "}"
    if isinstance(value, list):
        return "[" + blank.join(in_edn(one, dice) for one in value) + "]"
    return (
        {None: "nil", True: "true", False: "false"}.get(value) if value in (None, True, False) else str(value)
    )


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    return [plain(one) for one in value] if isinstance(value, list) else value


def in_order(value: Any, like: Any) -> Any:
    """What was read quickly, sets in the order of what was read slowly."""
    if isinstance(like, dict):
        return {key: in_order(value[key], one) for key, one in like.items()}
    if isinstance(like, frozenset):
        return sorted(value)
    return [in_order(a, b) for a, b in zip(value, like, strict=True)] if isinstance(like, list) else value


@given(FORMS, SEEDS)
@steady(300)
def test_what_is_read_quickly_is_what_is_read_slowly(value: Any, seed: int) -> None:
    line = f"{{:type :ok, :process 3, :value {in_edn(value, Random(seed))}}}"
    slow, _ = edn.read(line, 0)
    quick = quickly(line.encode())
    if quick is not None:
        assert in_order(quick[":value"], slow[":value"]) == plain(slow[":value"])
        assert (quick[":type"], quick[":process"]) == (":ok", 3)


@pytest.mark.parametrize("value", ["[[:poll {1 [[0 5] [1 6]]}]]", "#{5 6}", "[[:send 1 [0 5]]]", "{}", "[]"])
def test_lines_of_the_usual_form_are_read_quickly(value: str) -> None:
    assert quickly(f"{{:index 4, :type :ok, :value {value}}}".encode()) is not None


@pytest.mark.parametrize("value", ['"text"', "1.5", "#inst 5", "[1 ]", "\\c", "symbol", "{1}", "{[1] 2}"])
def test_other_lines_are_left_to_the_whole_reader(value: str) -> None:
    assert quickly(f"{{:index 4, :type :ok, :value {value}}}".encode()) is None
