"""Contradictions between the parts of a plan.

Works on the plan as written, so that each problem has a place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pydantic import BaseModel

from plans.expected.expectations import Breaks, Decides, Defect, Holds, describe
from plans.grammar.rounds import unrepeatable
from plans.grammar.sequence import Vocabulary
from plans.grammar.steps import Act
from plans.models import Plan
from plans.reading.document import Problem
from plans.reading.walk import RawStep, raw_steps
from plans.versions import overlap


def contradictions(tree: object, plan: Plan, words: Vocabulary | None) -> Iterator[Problem]:
    """Every contradiction in a plan whose single parts are valid; without ``words`` acts are not known."""
    steps = list(raw_steps(tree))
    yield from _named_twice(steps)
    if words is not None:
        yield from _without_handle(steps, words)
    yield from _ids_without_adv(steps)
    yield from _expectations(plan)
    yield from _rounds(plan)
    yield from _decisions(steps, plan)


def _named_twice(steps: Sequence[RawStep]) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for step in steps:
        what, key = {"create": ("ledger", "ledger"), "load": ("load", "as")}.get(step.name, ("fault", "as"))
        name = step.params.get(key)
        if not isinstance(name, str) or step.name == "end_load":
            continue
        if (what, name) in seen:
            yield Problem((*step.path, key), f"the {what} `{name}` is already made by an earlier step")
        seen.add((what, name))


def _without_handle(steps: Sequence[RawStep], words: Vocabulary) -> Iterator[Problem]:
    acts = [
        (step, model.handle, (step.params.get("client"), step.params.get("ledger")))
        for step in steps
        if issubclass(model := words.steps.get(step.name, BaseModel), Act)
    ]
    created = [who for _, handle, who in acts if handle == "creates"]
    opened = [who for _, handle, who in acts if handle in ("creates", "opens")]
    for step, handle, who in acts:
        client, ledger = who
        refused = step.name == "append" and step.outcome == "fail" and who in opened
        if handle == "writes" and who not in created and not refused:
            text = f"`{client}` did not create `{ledger}` and cannot {step.name}"
            yield Problem((*step.path, "client"), text)
        elif handle in ("writes", "reads") and who not in opened:
            yield Problem(
                (*step.path, "client"),
                f"`{client}` has no handle on `{ledger}`: it neither creates, opens nor recovers it",
            )


def _ids_without_adv(steps: Sequence[RawStep]) -> Iterator[Problem]:
    adv = {step.params.get("ledger") for step in steps if step.name == "create" and step.params.get("adv")}
    for step in steps:
        if step.name == "append" and "ids" in step.params and step.params.get("ledger") not in adv:
            ledger = step.params.get("ledger")
            yield Problem((*step.path, "ids"), f"ids need a ledger created with `adv: true`, not `{ledger}`")


def _expectations(plan: Plan) -> Iterator[Problem]:
    for mode in plan.modes:
        if mode not in plan.expect:
            yield Problem(("expect",), f"nothing is stated for mode `{mode}`; write `{mode}: [holds]`")
    for mode, stated in plan.expect.items():
        holds = [entry for entry in stated if isinstance(entry, Holds)]
        for index, other in enumerate(stated):
            if not isinstance(other, Breaks | Defect):
                continue
            if any(overlap(other.versions, entry.versions) for entry in holds):
                text = f"`holds` and `{describe(other)}` are stated for the same versions"
                yield Problem(("expect", mode, index), text)


def _rounds(plan: Plan) -> Iterator[Problem]:
    reasons = list(unrepeatable(plan.steps))
    series = plan.series
    for path, rounds in ((("rounds",), plan.rounds), (("series", "rounds"), series.rounds if series else 1)):
        if rounds > 1 and reasons:
            yield Problem(path, f"a plan with {rounds} rounds cannot have these steps: {'; '.join(reasons)}")


def _decisions(steps: Sequence[RawStep], plan: Plan) -> Iterator[Problem]:
    """A decision can only be stated of a step that the plan has."""
    made = Counter(
        (step.name, step.params.get("ledger"), client)
        for step in steps
        for client in (step.params.get("client"), None)
    )
    for mode, stated in plan.expect.items():
        for index, entry in enumerate(stated):
            if not isinstance(entry, Decides):
                continue
            if made[entry.step, entry.ledger, entry.client] < entry.number:
                who = f" of `{entry.client}`" if entry.client else ""
                which = f" number {entry.number}" if entry.number > 1 else ""
                text = f"there is no `{entry.step}`{which}{who} on `{entry.ledger}` that could decide"
                yield Problem(("expect", mode, index), text)
