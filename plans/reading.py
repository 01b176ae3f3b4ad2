"""From plain values to steps and expectations, collecting every problem on the way.

A step, a condition and an expectation are each *one name with parameters*; which names there
are comes from the vocabulary. Nothing here opens a file or raises for a plan's mistakes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from plans.conditions import AnyCondition, Elapsed, RecordedCondition
from plans.document import Path, Problem
from plans.expectations import EXPECTATIONS, Expectation
from plans.models import Control, Outcome, Plan, Step, StepSpec, Together
from plans.names import Names, Params, name_of
from plans.nearest import unknown
from plans.steps import CHOSEN, Chaos, HasOutcome, Load, Models, Named, Vocabulary
from plans.walk import MODIFIERS
from plans.wording import problems_of, shown

M = TypeVar("M", bound=BaseModel)


class Recorded(BaseModel):
    """Parameters of a step or workload that the reader has no model for, kept as they were written."""

    model_config = ConfigDict(frozen=True, extra="allow")


class _Modifiers(Params):
    at_s: float | None = Field(default=None, ge=0)
    outcome: Outcome = "ok"
    note: str = ""


class Reader:
    """Reads the parts of one plan; ``problems`` grows while it does.

    Without a vocabulary (None) steps and workloads are kept as :class:`Recorded` and conditions as
    :class:`RecordedCondition`, which is enough to judge a run but not to repeat it.
    """

    def __init__(self, words: Vocabulary | None, names: Names) -> None:
        self._words = words
        self._names = names
        self.problems: list[Problem] = []

    def header(self, tree: Mapping[str, Any]) -> Plan | None:
        """The plan without its steps, expectations and controls."""
        own = {key: value for key, value in tree.items() if key not in ("steps", "expect", "control")}
        return self._params(Plan, own, ())

    def controls(self, value: Any, path: Path) -> tuple[Control, ...]:
        """One control, or a list of them."""
        if not isinstance(value, list):
            found = [self._params(Control, value, path)]
        else:
            found = [self._params(Control, inner, (*path, index)) for index, inner in enumerate(value)]
        if not found:
            self._say(path, "`control` must be a control or a list of them, at least one")
        return tuple(one for one in found if one is not None)

    def steps(self, value: Any, path: Path) -> tuple[Step, ...]:
        """The models of a list of steps; mistakes are collected, not raised."""
        if not isinstance(value, list) or not value:
            self._say(path, f"{_what(path)} must be a list of steps, at least one")
            return ()
        found = [self._step(inner, (*path, index)) for index, inner in enumerate(value)]
        return tuple(step for step in found if step is not None)

    def expectations(self, value: Any, path: Path) -> tuple[Expectation, ...]:
        """What is stated for one mode."""
        if not isinstance(value, list) or not value:
            self._say(path, "an expectation is a list: `[holds]` or `[{breaks: {property: durability}}]`")
            return ()
        found = []
        for index, inner in enumerate(value):
            entry = {inner: {}} if inner == "holds" else inner
            at = (*path, index)
            name = self._only_name(entry, at, "expectation", known=EXPECTATIONS)
            if name is None or not self._is_known("expectation", name, (*at, name), EXPECTATIONS):
                continue
            one = self._params(EXPECTATIONS[name], entry[name], (*at, name))
            found.append(one)
        return tuple(one for one in found if one is not None)

    def modes(self, stated: Mapping[str, Any]) -> None:
        """The modes for which something is stated must exist."""
        if self._names.modes is not None:
            for mode in stated:
                self._is_known("mode", mode, ("expect", mode), self._names.modes)

    def _step(self, value: Any, path: Path) -> Step | None:
        name = self._only_name(value, path, "step", known=self._steps_known(), beside=MODIFIERS)
        if name is None:
            return None
        raw = {key: inner for key, inner in value.items() if key in MODIFIERS and key != "when"}
        modifiers = self._params(_Modifiers, raw, path)
        when = self._when(value["when"], (*path, "when")) if "when" in value else None
        params_path = (*path, name)
        if name == "together":
            if "outcome" in value:
                self._say((*path, "outcome"), _NO_OUTCOME, at_key=True)
            return self._together(value[name], params_path, modifiers, when)
        params = self._named(name, value[name], params_path)
        if params is None or modifiers is None:
            return None
        if "outcome" in value and not isinstance(params, HasOutcome | Recorded):
            self._say((*path, "outcome"), _NO_OUTCOME, at_key=True)
        return StepSpec(
            name=name,
            params=params,
            at_s=modifiers.at_s,
            when=when,
            note=modifiers.note,
            outcome=modifiers.outcome,
        )

    def _together(
        self, value: Any, path: Path, modifiers: _Modifiers | None, when: AnyCondition | None
    ) -> Together | None:
        if not isinstance(value, list) or not value:
            self._say(path, "`together` must be a list of branches, each a list of steps")
            return None
        branches = tuple(self.steps(branch, (*path, index)) for index, branch in enumerate(value))
        if modifiers is None:
            return None
        return Together(branches=branches, at_s=modifiers.at_s, when=when, note=modifiers.note)

    def _named(self, name: str, raw: Any, path: Path) -> BaseModel | None:
        if name in CHOSEN:
            return self._chosen(name, raw, path)
        if self._words is None:
            return self._params(Recorded, raw, path)
        if not self._is_known("step", name, path, self._steps_known()):
            return None
        return self._params(self._words.single[name], raw, path)

    def _chosen(self, name: str, raw: Any, path: Path) -> BaseModel | None:
        if not isinstance(raw, dict):
            self._say(path, f"`{name}` must be a mapping with `{CHOSEN[name]}`")
            return None
        if name == "chaos":
            return self._chaos(raw, path)
        key = CHOSEN[name]
        registry = self._conditions if name == "wait_for" else self._workloads
        choice = raw.get(key)
        if not isinstance(choice, str):
            self._say(path, f"`{key}` is missing" if choice is None else f"`{key}` must be a name")
            return None
        if registry is not None and not self._is_known(key, choice, (*path, key), registry, at_key=False):
            return None
        if name == "wait_for":
            return self._condition(choice, raw, path)
        return self._load(raw, Recorded if registry is None else registry[choice], path)

    def _load(self, raw: dict[str, Any], model: type[BaseModel], path: Path) -> Load | None:
        own = {key: value for key, value in raw.items() if key in ("workload", "as")}
        params = self._params(model, {key: raw[key] for key in raw if key not in own}, path)
        load = self._params(Load, own, path)
        if load is None or params is None:
            return None
        return load.model_copy(update={"params": params})

    def _chaos(self, raw: dict[str, Any], path: Path) -> Chaos | None:
        chaos = self._params(Chaos, {key: raw[key] for key in raw if key != "faults"}, path)
        listed = raw.get("faults")
        if not isinstance(listed, list) or not listed:
            self._say((*path, "faults"), "`faults` must be a list, such as `[{kill: {target: any-bookie}}]`")
            return None
        known = None if self._words is None else self._words.faults
        faults = []
        for index, entry in enumerate(listed):
            at = (*path, "faults", index)
            name = self._only_name(entry, at, "fault", known=known or ())
            if name is None or (known is not None and not self._is_known("fault", name, (*at, name), known)):
                continue
            model = Recorded if known is None else known[name]
            params = self._params(model, entry[name], (*at, name), names=self._names.within_chaos())
            if params is not None:
                faults.append(Named(name=name, params=params))
        return None if chaos is None else chaos.model_copy(update={"faults": tuple(faults)})

    def _when(self, value: Any, path: Path) -> AnyCondition | None:
        known = self._conditions
        name = self._only_name(value, path, "condition", known=known or ())
        if name is None:
            return None
        if known is not None and not self._is_known("condition", name, (*path, name), known):
            return None
        return self._condition(name, value[name], (*path, name))

    def _condition(self, name: str, raw: Any, path: Path) -> AnyCondition | None:
        """A condition, whose name may stand in its parameters or before them."""
        if self._conditions is not None:
            return cast("AnyCondition | None", self._params(self._conditions[name], raw, path))
        if name == name_of(Elapsed):
            return self._params(Elapsed, raw, path)
        return self._params(
            RecordedCondition, {**raw, "condition": name} if isinstance(raw, dict) else raw, path
        )

    @property
    def _conditions(self) -> Models | None:
        return None if self._words is None else self._words.conditions

    @property
    def _workloads(self) -> Models | None:
        return None if self._words is None else self._words.workloads

    def _steps_known(self) -> list[str]:
        return [*(() if self._words is None else self._words.single), *CHOSEN, "together"]

    def _only_name(
        self, value: Any, path: Path, what: str, *, known: Collection[str], beside: Collection[str] = ()
    ) -> str | None:
        if isinstance(value, str) and value not in known:
            self._say(path, unknown(what, value, known))
            return None
        if not isinstance(value, dict):
            hint = f"; write `{value}: {{}}`" if isinstance(value, str) else ""
            self._say(path, f"{_a(what)} is a name with its parameters, not {shown(value)}{hint}")
            return None
        names = [key for key in value if key not in beside]
        if len(names) != 1:
            listed = ", ".join(f"`{name}`" for name in names) or "none"
            others = f" (beside {', '.join(beside)})" if beside else ""
            self._say(path, f"{_a(what)} has exactly one name{others}; given: {listed}")
            return None
        return cast("str", names[0])

    def _is_known(
        self, what: str, name: str, path: Path, known: Collection[str], *, at_key: bool = True
    ) -> bool:
        if name not in known:
            self._say(path, unknown(what, name, known), at_key=at_key)
        return name in known

    def _params(self, model: type[M], raw: Any, path: Path, *, names: Names | None = None) -> M | None:
        """Strict validation, as JSON: no text is taken for a number, and lists may become tuples."""
        text = json.dumps({} if raw is None and path else raw)
        context = (names or self._names).context()
        try:
            return model.model_validate_json(text, strict=True, context=context)
        except ValidationError as error:
            self.problems.extend(problems_of(error, model, path))
            return None

    def _say(self, path: Path, text: str, *, at_key: bool = False) -> None:
        self.problems.append(Problem(path, text, at_key=at_key))


_NO_OUTCOME = "only acts of clients (create, append, recover, ...) and `admin` have an outcome"


def _a(what: str) -> str:
    return f"an {what}" if what[0] in "aeiou" else f"a {what}"


def _what(path: Path) -> str:
    return "a branch of `together`" if isinstance(path[-1], int) else f"`{path[-1]}`"
