"""Compares clients' decisions, and figures of judgements, with the values that a plan states.

A decision is how a client's step on a ledger (``recover``, ``close``, ``create``, ``append``, ``read``,
``tail``) ended, as the step recorded it. Each ``decides`` of a plan becomes one row of a table: case,
document, decision, difference. A figure is passed by its property and name. Uses neither evidence nor
verdicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from plans.expected.expectations import Decides, Expectation, Measures
from plans.grammar.rounds import in_rounds
from protocol.wording import counted

NOTHING = "nothing that was recorded"


@dataclass(frozen=True, slots=True)
class Decision:
    """How one step ended. Fields are None unless the step has them."""

    step: str
    client: str
    ledger: str
    """The plan's name."""
    round: int
    began_ns: int
    """Orders the decisions of one ledger."""
    outcome: str
    last_entry: int | None = None
    error: str = ""
    """BookKeeper's; empty for ok, with ``code`` 0."""
    code: int = 0
    entries: int | None = None
    """Number of entries read or acknowledged."""
    lac: int | None = None
    silent: bool = False
    """Whether an open ended with an error that speaks of time or connections, not of the bookies' answers."""

    def answers(self, entry: Decides) -> bool:
        """Whether it is success or an error of BookKeeper: a client without an answer decided nothing."""
        named = bool(self.error) and entry.error in (self.error, str(self.code))
        return named or self.outcome == "ok" or (self.code != 0 and not self.silent)

    def __str__(self) -> str:
        error = "" if self.outcome == "ok" else f"{self.error or 'error'} ({self.code})"
        return _phrase(self, error)


@dataclass(frozen=True, slots=True)
class Decided:
    """One row of the table: what the document says, what was decided, how the two differ."""

    case: str
    document: str
    stated: str
    decision: str
    """Every decision of the rounds, the most frequent first."""
    difference: str
    shown: int
    """How many ``of`` the rounds were as expected."""
    of: int
    met: bool
    recorded: bool
    """Whether a round was really decided otherwise, and not only left unrecorded."""
    differing: tuple[int, ...] = ()
    """The rounds that were not as expected."""
    reference: str = ""
    """The page of the known defect that the decision shows as stated; empty for none."""

    @property
    def complaint(self) -> str:
        """One sentence for a row that is not met."""
        where = in_rounds(self.differing, self.of)
        otherwise = self.recorded and not self.shown
        fixed = f", perhaps fixed: {self.reference}" if self.reference and otherwise else ""
        return (
            f"{self.case}: the document says {self.document!r}, the plan expects {self.stated}, "
            f"the client decided {self.decision}{where}{fixed}"
        )


def decided(entry: Decides, decisions: Sequence[Decision], rounds: int) -> Decided:
    """The row of one ``decides``: in each round its decision must be as expected."""
    taken: dict[int, list[Decision]] = {}
    for one in sorted(decisions, key=lambda decision: decision.began_ns):
        if (one.step, one.ledger) == (entry.step, entry.ledger) and entry.client in (None, one.client):
            taken.setdefault(one.round, []).append(one)
    due = {number: made[entry.number - 1] for number, made in taken.items() if len(made) >= entry.number}
    first = {number: one for number, one in due.items() if one.answers(entry)}
    numbers = range(1, rounds + 1)
    differing = tuple(number for number in numbers if not _agrees(entry, first.get(number)))
    shown = rounds - len(differing)
    return Decided(
        case=entry.case or _case(entry),
        document=entry.document,
        stated=stated(entry),
        decision=_format_decision([first.get(number) for number in numbers]),
        difference=entry.differs,
        shown=shown,
        of=rounds,
        met=not differing,
        recorded=any(number in first for number in differing),
        differing=differing,
        reference=entry.reference,
    )


def agreed(rows: Sequence[Decided]) -> str:
    """One sentence for a table in which every decision was as expected."""
    differing = sum(bool(row.difference) for row in rows)
    other = f", {differing} of them not as the document says" if differing else ""
    often = f", in each of {rows[0].of} rounds" if rows[0].of > 1 else ""
    return f"as expected: {counted(len(rows), 'decision')}{often}{other}"


def stated(entry: Decides) -> str:
    """What the plan expects the client to decide, as a phrase."""
    return _phrase(entry, entry.error)


def _phrase(ending: Decision | Decides, error: str) -> str:
    parts = {"last entry": ending.last_entry, "entries": ending.entries, "LAC": ending.lac}
    known = [f"{name} {value}" for name, value in parts.items() if value is not None]
    return ", ".join(filter(None, (ending.outcome, *known, error)))


def _case(entry: Decides) -> str:
    who = f" by {entry.client}" if entry.client else ""
    number = f" {entry.number}" if entry.number > 1 else ""
    step = "" if entry.step == "recover" and not number else f" ({entry.step}{number})"
    return f"{entry.ledger}{who}{step}"


def _agrees(entry: Decides, decision: Decision | None) -> bool:
    return (
        decision is not None
        and decision.outcome == entry.outcome
        and entry.last_entry in (None, decision.last_entry)
        and entry.entries in (None, decision.entries)
        and entry.lac in (None, decision.lac)
        and entry.error in ("", decision.error, str(decision.code))
    )


def _format_decision(decisions: Sequence[Decision | None]) -> str:
    counted = Counter(NOTHING if one is None else str(one) for one in decisions)
    if len(counted) == 1:
        return next(iter(counted))
    return "; ".join(f"{text} ({count} of {len(decisions)})" for text, count in counted.most_common())


Figures = Mapping[str, Mapping[str, int]]
"""Property -> name of a figure -> its value in this run."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What is said of a figure: whether it is known and within its bounds, or known and ``outside`` them."""

    reason: str
    met: bool
    outside: bool


def measured(entries: Iterable[Expectation], figures: Figures) -> tuple[Measured, ...]:
    """Each ``measures`` among ``entries`` with its figure."""
    return tuple(
        _measured(entry, figures.get(entry.property, {}).get(entry.figure))
        for entry in entries
        if isinstance(entry, Measures)
    )


def _measured(entry: Measures, value: int | None) -> Measured:
    """``value`` is None where the judgement does not contain the figure."""
    low, high = entry.at_least, entry.at_most
    bounds = {"at least": low, "at most": high}
    wanted = " and ".join(f"{word} {bound:,}" for word, bound in bounds.items() if bound is not None)
    within = value is not None and (low is None or low <= value) and (high is None or value <= high)
    shown = "not known" if value is None else f"{value:,}"
    text = f"{entry.figure} of {entry.property} is {shown}, the plan expects {wanted}"
    reason = f"as expected: {text}" if within else f"{text} ({entry.document})"
    return Measured(reason, within, outside=value is not None and not within)
