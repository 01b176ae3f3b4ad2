"""Compares a run with what its plan expects, counted by rounds.

An expectation never changes a verdict. The rules:

- An ``unknown`` verdict meets no expectation. Nor does a required property that is unknown, unless a stated
  anomaly shows that may be the reason.
- An anomaly that counts and that nothing states fails the run.
- What should break must break, in every round. A defect that shows ``sometimes`` may be absent, which is
  reported.
- A loss that is unexplained or forged needs a statement with its class.
- A defect that any plan may meet (:mod:`plans.expected.expectations`) is reported where it shows.
- A client must decide as ``decides`` says, and figures must be within the bounds of ``measures``.

Reads no evidence: everything compared is passed as plain data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from plans.expected.decisions import Decided, Decision, Figures, agreed, decided, measured
from plans.expected.expectations import Breaks, Decides, Defect, Expectation, applicable, describe, standing
from plans.grammar.rounds import in_rounds, ledger_and_round


class FoundAnomaly(NamedTuple):
    """One anomaly found: property, kind, the ledger's name in the run (empty: none), class of loss.

    A ledger that the plan does not name is ``ledger 12``.
    It is about the entries ``first`` to ``last`` (-1: none), and stands for ``amount`` of them or of events.
    ``beyond_end`` is true for a loss in a ledger that another anomaly shows to be closed below it.
    """

    property: str
    kind: str
    ledger: str = ""
    loss: str = ""
    first: int = -1
    last: int = -1
    amount: int = 1
    beyond_end: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """In how many rounds something that the plan states showed; ``rate`` is always or sometimes."""

    text: str
    rate: str
    shown: int
    of: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether a run met its expectation."""

    met: bool
    reasons: tuple[str, ...]
    """Sentences, also when it was met."""
    absent: tuple[str, ...] = ()
    """Defects stated as ``sometimes`` that did not show this time."""
    unexpected: bool = False
    """Whether an anomaly was found that nothing states."""
    contradicted: bool = False
    """Whether a client decided otherwise than stated, or a figure is out of its bounds."""
    missed: bool = False
    """Whether whole evidence shows that a stated anomaly was not there."""
    rounds: int = 1
    as_stated: int = 0
    """Number of ``rounds`` that were as expected; 0 when that is unknown."""
    shown: tuple[Shown, ...] = ()
    """How often each stated anomaly showed, in whole evidence."""
    decisions: tuple[Decided, ...] = ()
    """The table of decisions."""


class ExpectedOfMode(NamedTuple):
    """What a plan states for one mode on one release; nothing stated means ``holds``.

    ``counting`` are the properties, and kinds, whose anomalies make the verdict (None: all); others may meet
    what the plan states, and fail nothing.
    """

    expect: Mapping[str, Sequence[Expectation]]
    mode: str
    version: str
    rounds: int = 1
    counting: Container[str] | None = None


class Judged(NamedTuple):
    """What a run showed; ``verdict`` is ``valid``, ``anomaly`` or ``unknown``.

    ``decisions`` are what clients decided, ``figures`` the judgements', by property and name. ``undecided``
    are the required properties that are unknown, each with a ledger's name (empty: the run).
    """

    verdict: str
    found: Iterable[FoundAnomaly] = ()
    whole: bool = True
    decisions: Sequence[Decision] = ()
    undecided: Sequence[tuple[str, str]] = ()
    figures: Figures = MappingProxyType({})


def compare(stated: ExpectedOfMode, run: Judged) -> Comparison:
    """Compare what a plan states with what a run showed.

    Without ``whole`` evidence no expectation is met and no decision is reported as wrong, because other
    errors may have gone unseen. With a ``valid`` verdict, all findings are of properties that do not count
    in this run: a defect that is stated or known shows all the same.
    """
    rounds = stated.rounds
    entries = applicable(stated.expect, stated.mode, stated.version)
    table = tuple(decided(entry, run.decisions, rounds) for entry in entries if isinstance(entry, Decides))
    measures = measured(entries, run.figures)
    against = [row.complaint for row in table if not row.met]
    against += [one.reason for one in measures if not one.met]
    outside = any(one.outside for one in measures) or any(row.recorded for row in table if not row.met)
    common = partial(Comparison, contradicted=run.whole and outside, rounds=rounds, decisions=table)
    anomalies = _with_ends(run.found)
    if doubt := _doubt(run.verdict, anomalies):
        reasons = (*against, doubt) if run.whole and outside else (doubt, *against)
        return common(False, reasons, unexpected=run.verdict == "anomaly")
    breaks = [entry for entry in entries if isinstance(entry, Breaks | Defect)]
    seen = [_seen(entry, anomalies, rounds) for entry in breaks]
    unexpected = _unexpected(stated, breaks, anomalies)
    unknown = _unknown(run.undecided, breaks, anomalies, rounds) if run.whole else {}
    failures = [*unexpected, *against, *(one.missing for one in seen if one.missing), *unknown]
    if not run.whole:
        failures.append("the evidence is not whole, so what else may have happened is unknown")
    expected = [one.reason for one in seen] or ["as expected: holds"]
    expected += [one.reason for one in measures] + ([agreed(table)] if table else [])
    on_the_way = _on_the_way(standing(stated.mode, stated.version), breaks, anomalies, rounds)
    wrong = [*unexpected.values(), *unknown.values(), *(row.differing for row in table)]
    wrong += [one.wrong for one in seen]
    wrong += [range(1, rounds + 1) for one in measures if not one.met]
    return common(
        not failures,
        (*(failures or expected), *on_the_way),
        absent=tuple(one.counted.text for one in seen if one.absent),
        unexpected=bool(unexpected) or any(one.more for one in seen),
        missed=run.whole and not unknown and any(one.missing for one in seen),
        as_stated=rounds - len(set().union(*wrong)) if run.whole else 0,
        shown=tuple(one.counted for one in seen) if run.whole else (),
    )


def decides_verdict(name: str, kind: str, counting: Container[str]) -> bool:
    """Whether a finding makes the verdict: its property, which has this name, does, or its kind."""
    return name in counting or f"{name}/{kind}" in counting


def _doubt(verdict: str, anomalies: Sequence[FoundAnomaly]) -> str:
    """Why this verdict can meet no expectation, or the empty text."""
    if verdict == "unknown":
        return "the verdict is unknown, which meets no expectation"
    if verdict not in ("valid", "anomaly"):
        return f"the verdict {verdict!r} meets no expectation"
    if verdict == "anomaly" and not anomalies:
        return "the verdict is anomaly, but no finding says which"
    return ""


def _matches(entry: Breaks | Defect, found: FoundAnomaly, rounds: int) -> bool:
    return (
        entry.property == found.property
        and entry.kind in ("", found.kind)
        and entry.ledger in (None, ledger_and_round(found.ledger, rounds)[0])
        and (entry.loss == found.loss if entry.loss else not _needs_its_class(entry, found))
        and (entry.entries is None or entry.entries[0] <= found.first <= found.last <= entry.entries[1])
    )


def _with_ends(found: Iterable[FoundAnomaly]) -> list[FoundAnomaly]:
    """The anomalies, each with whether its entries are beyond the end at which their ledger was closed."""
    found = list(found)
    ends: dict[str, int] = {}
    for one in found:
        if one.ledger and (one.property, one.kind) == ("closing", "closed_below"):
            ends[one.ledger] = min(one.first, ends.get(one.ledger, one.first))
    return [one._replace(beyond_end=one.ledger in ends and one.first >= ends[one.ledger]) for one in found]


def _needs_its_class(entry: Breaks | Defect, found: FoundAnomaly) -> bool:
    """Whether only a statement with the class of this loss covers it.

    Nothing in the run may take an unexplained loss (a close that is stated may hide it). The harness itself
    caused a forged one, and one whose metadata it put back shows no defect of BookKeeper.
    """
    if found.loss == "put_back":
        return isinstance(entry, Defect)
    return found.loss == "forged" or (found.loss == "unexplained" and not found.beyond_end)


def _on_the_way(
    known: Sequence[Defect], stated: Sequence[Breaks | Defect], anomalies: Sequence[FoundAnomaly], rounds: int
) -> list[str]:
    """A sentence for each standing defect that showed although the plan itself does not state it."""
    others = [one for one in anomalies if not any(_matches(entry, one, rounds) for entry in stated)]
    return [
        f"met on the way, a known defect: {describe(entry)}, {entry.reference}"
        for entry in known
        if any(_matches(entry, one, rounds) for one in others)
    ]


def _of_rounds(anomalies: Iterable[FoundAnomaly], rounds: int) -> set[int]:
    """The rounds that anomalies belong to; an anomaly without a ledger belongs to all rounds."""
    found: set[int] = set()
    for one in anomalies:
        number = ledger_and_round(one.ledger, rounds)[1]
        found |= set(range(1, rounds + 1)) if number is None else {number}
    return found


def _amounts(anomalies: Iterable[FoundAnomaly], rounds: int) -> Counter[int]:
    """How many entries or events the anomalies stand for, by round."""
    amounts: Counter[int] = Counter()
    for one in anomalies:
        amounts.update(dict.fromkeys(_of_rounds([one], rounds), one.amount))
    return amounts


def unstated(
    expect: Mapping[str, Sequence[Expectation]],
    found: Iterable[FoundAnomaly],
    *,
    mode: str,
    version: str,
    rounds: int = 1,
) -> list[FoundAnomaly]:
    """The anomalies beyond what the plan and the list of known defects state, and beyond its counts."""
    stated = [entry for entry in applicable(expect, mode, version) if isinstance(entry, Breaks | Defect)]
    anomalies = _with_ends(found)
    left = _unmatched([*stated, *standing(mode, version)], anomalies, rounds)
    for entry in stated:
        if _seen(entry, anomalies, rounds).more:
            left += [one for one in anomalies if _matches(entry, one, rounds) and one not in left]
    return left


def _unmatched(
    stated: Sequence[Breaks | Defect], anomalies: Iterable[FoundAnomaly], rounds: int
) -> list[FoundAnomaly]:
    return [one for one in anomalies if not any(_matches(entry, one, rounds) for entry in stated)]


def _unexpected(
    stated: ExpectedOfMode, breaks: Sequence[Breaks | Defect], anomalies: Sequence[FoundAnomaly]
) -> dict[str, set[int]]:
    """A sentence for each kind of anomaly that nothing states, with the rounds in which it showed."""
    rounds, counting = stated.rounds, stated.counting
    groups: dict[str, list[FoundAnomaly]] = {}
    counted = [
        one for one in anomalies if counting is None or decides_verdict(one.property, one.kind, counting)
    ]
    for one in _unmatched([*breaks, *standing(stated.mode, stated.version)], counted, rounds):
        ledger = ledger_and_round(one.ledger, rounds)[0]
        loss = f", {one.loss}" if one.loss else ""
        where = f" on {ledger}" if ledger and " " not in ledger else ""  # not each ledger of a load
        groups.setdefault(f"{one.property} ({one.kind}{loss}){where}", []).append(one)
    found = {}
    for text, group in groups.items():
        numbers = _of_rounds(group, rounds)
        found[f"an anomaly that was not expected: {text}{in_rounds(numbers, rounds)}"] = numbers
    return found


_HIDING = ("durability", "closing", "content", "availability")
"""Properties whose anomalies take entries away, damage them or put them out of reach; but a damaged copy does
not, because another bookie has the entry."""


def _unknown(
    undecided: Iterable[tuple[str, str]],
    stated: Sequence[Breaks | Defect],
    anomalies: Sequence[FoundAnomaly],
    rounds: int,
) -> dict[str, set[int]]:
    """A sentence for each property that is unknown for no reason that is stated, with its rounds."""
    shown = [(entry, one) for entry in stated for one in anomalies if _matches(entry, one, rounds)]
    hidden = {one.ledger for _, one in shown if one.property in _HIDING and one.kind != "damaged_copy"}
    # How many entries, or which, says nothing while others of the ledger are unknown.
    exact = {(one.property, one.ledger) for entry, one in shown if entry.count or entry.entries}
    broken = {(one.property, one.ledger) for _, one in shown} - exact
    everywhere: dict[str, set[int]] = {}
    for _, one in shown:
        if not one.ledger:
            everywhere.setdefault(one.property, set()).update(_of_rounds([one], rounds))
    groups: dict[str, set[int]] = {}
    for name, ledger in undecided:
        numbers = _of_rounds([FoundAnomaly(name, "", ledger)], rounds) - everywhere.get(name, set())
        excused = (name, ledger) in broken or (ledger in hidden and (name, ledger) not in exact)
        if numbers and not (ledger and excused):
            plain = ledger_and_round(ledger, rounds)[0]
            text = f"{name} is unknown{f' on {plain}' if plain else ''}"
            groups.setdefault(text, set()).update(numbers)
    return {
        f"{text}{in_rounds(numbers, rounds)}, which meets no expectation": numbers
        for text, numbers in groups.items()
    }


@dataclass(frozen=True, slots=True)
class _Seen:
    """One stated anomaly: how often it showed, and what that means."""

    counted: Shown
    reason: str = ""
    missing: str = ""
    absent: bool = False
    more: bool = False
    wrong: frozenset[int] = frozenset()


def _seen(entry: Breaks | Defect, anomalies: Sequence[FoundAnomaly], rounds: int) -> _Seen:
    text = describe(entry)
    matching = [one for one in anomalies if _matches(entry, one, rounds)]
    loose = [one for one in matching if ledger_and_round(one.ledger, rounds)[1] is None]
    amounts = _amounts((one for one in matching if one not in loose), rounds)
    # Which rounds these belong to is not known, only that each belongs to one, and those of a ledger to one.
    number = min(rounds, len(amounts) + len({one.ledger or at for at, one in enumerate(loose)}))
    numbers = set(amounts) if number < rounds else set(range(1, rounds + 1))
    sometimes = isinstance(entry, Defect) and entry.rate == "sometimes"
    counted = Shown(text, "sometimes" if sometimes else "always", number, rounds)
    often = f", shown on {number} of {rounds}" if rounds > 1 else ""
    if loose and entry.count is not None:
        every = frozenset(range(1, rounds + 1))
        return _Seen(
            counted, missing=f"names no ledger, so not counted by rounds: {text}{often}", wrong=every
        )
    others = {in_round: found for in_round, found in amounts.items() if entry.count not in (None, found)}
    if others:
        actual = ", ".join(map(str, sorted(set(others.values()))))
        missing = f"expected {entry.count}, but found {actual}{in_rounds(others, rounds)}: {text}{often}"
        more = any(found > (entry.count or 0) for found in others.values())
        absent_too = frozenset() if sometimes else frozenset(range(1, rounds + 1)) - numbers
        return _Seen(counted, missing=missing, more=more, wrong=absent_too | frozenset(others))
    if sometimes and not number:
        return _Seen(counted, reason=f"not seen this time (it shows sometimes): {text}{often}", absent=True)
    if sometimes or number == rounds:
        return _Seen(counted, reason=f"as expected: {text}{often}")
    wrong = frozenset(range(1, rounds + 1)) - numbers
    fixed = f", perhaps fixed: {entry.reference}" if isinstance(entry, Defect) else ""
    if not number:
        return _Seen(counted, missing=f"expected, but not found: {text}{fixed}", wrong=wrong)
    absent = "" if loose else in_rounds(set(wrong), rounds)
    return _Seen(counted, missing=f"expected always, but not found{absent}: {text}{often}", wrong=wrong)
