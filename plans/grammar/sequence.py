"""The steps of a plan in their order: what a plan may name, and how each name's parameters become a model.

A plan writes a step as a mapping of its name to its parameters, beside its timing. Models read that form
(the loader passes the :class:`Vocabulary` in pydantic's validation context) and are dumped in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    Tag,
    ValidationInfo,
    field_serializer,
    field_validator,
    model_serializer,
    model_validator,
)

from plans.grammar.names import Params, Range, name_of, names_in
from plans.grammar.steps import AnyCondition, Elapsed, HasOutcome, RecordedCondition
from plans.reading.document import KEY, Tree
from plans.reading.mistakes import a_list, one_named, refused, validated
from plans.reading.nearest import unknown
from plans.reading.walk import MODIFIERS

Models = Mapping[str, type[BaseModel]]
"""Models of parameters by their names in plans."""
Place = tuple[int, ...]
"""Indexes that lead to a step: of the step, then of a branch and of the step in it, and so on."""
Outcome = Literal["ok", "unknown", "fail", "any"]
_UNSAID = (("note", ""), ("outcome", "ok"))
"""What a step need not say."""
CHOSEN = {"chaos": "faults", "load": "workload", "wait_for": "condition"}
"""Steps with a key that names which further parameters they take."""


def dump(model: BaseModel) -> Tree:
    """A model's fields under the names that plans use, without fields that are None."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


class Recorded(BaseModel):
    """Parameters of a step or workload that the reader has no model for, kept as they were written."""

    model_config = ConfigDict(frozen=True, extra="allow")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a plan may name: the steps whose parameters are one model, conditions, faults, workloads.

    A fault that takes the name of a step is a programming error: ``ValueError``.
    """

    steps: Models
    conditions: Models
    faults: Models
    workloads: Models

    def __post_init__(self) -> None:
        taken = sorted(set(self.faults) & {*self.steps, *CHOSEN, "together"})
        if taken:
            raise ValueError(f"faults take the names of steps: {', '.join(taken)}")

    @property
    def single(self) -> Models:
        """Every step whose parameters are one model: a fault is a step too."""
        return {**self.steps, **self.faults}

    def models(self, kind: str) -> Models:
        """The models of all names of one kind: step, fault, condition or workload."""
        return {
            "step": self.single,
            "fault": self.faults,
            "condition": self.conditions,
            "workload": self.workloads,
        }[kind]


def _models(kind: str, info: ValidationInfo) -> Models:
    """The models of one kind by their names; none without a vocabulary."""
    words = (info.context or {}).get("words")
    return words.models(kind) if isinstance(words, Vocabulary) else {}


def _known(kind: str, info: ValidationInfo) -> list[str]:
    return [*_models(kind, info), *((*CHOSEN, "together") if kind == "step" else ())]


def _model_of(kind: str, name: str, info: ValidationInfo, *at: str) -> type[BaseModel]:
    """The model of a name; refused ``at`` its place where there is none.

    Without a vocabulary parameters are kept as they are, which is enough to judge a run but not to repeat it.
    """
    models = _models(kind, info)
    if not models:
        if kind == "condition":
            return Elapsed if name == name_of(Elapsed) else RecordedCondition
        return Recorded
    if name not in models:
        raise refused(unknown(kind, name, _known(kind, info)), *at)
    return models[name]


def _condition_by_name(tree: object, info: ValidationInfo) -> BaseModel:
    """The condition of ``{ready: {target: b1}}``."""
    if isinstance(tree, AnyCondition):
        return tree
    name, value = one_named(tree, "condition", _known("condition", info))
    own = {"condition": name, **(value or {})} if value is None or isinstance(value, dict) else value
    return validated(_model_of("condition", name, info, name, KEY), own, info.context, name)


class Timing(Params):
    """When a step begins: not before ``at_s`` of the enclosing block, nor before ``when`` holds.

    ``outcome`` is how an act of a client must end; steps of other kinds keep ``ok``.
    """

    at_s: float | None = Field(default=None, ge=0)
    when: Annotated[SerializeAsAny[AnyCondition] | None, PlainValidator(_condition_by_name)] = Field(
        default=None, validate_default=False
    )
    note: str = ""
    outcome: Outcome = "ok"

    @model_validator(mode="after")
    def _only_acts_end(self) -> Self:
        acts = isinstance(getattr(self, "params", None), HasOutcome | Recorded)
        if "outcome" in self.model_fields_set and not acts:
            text = "only client steps (create, append, recover, ...) and `admin` have an outcome"
            raise refused(text, "outcome", KEY)
        return self

    @field_serializer("when", mode="wrap")
    def _when_by_name(self, when: AnyCondition | None, dump: SerializerFunctionWrapHandler) -> Tree | None:
        tree: Tree | None = dump(when)
        return tree and {tree.pop("condition"): tree}

    @model_serializer(mode="wrap")
    def _as_written(self, dump: SerializerFunctionWrapHandler) -> Tree:
        tree = {key: value for key, value in dump(self).items() if (key, value) not in _UNSAID}
        return {tree.pop("name"): tree.pop("params"), **tree} if "name" in tree else tree


class StepSpec(Timing):
    """One step: its name in the vocabulary and its parameters, an instance of that name's model.

    Plans write it as a mapping of the name to the parameters, beside its timing.
    """

    kind: ClassVar[str] = "step"
    beside: ClassVar[Sequence[str]] = MODIFIERS
    name: str
    params: SerializeAsAny[BaseModel]

    @model_validator(mode="before")
    @classmethod
    def _split(cls, tree: Any, info: ValidationInfo) -> object:
        if isinstance(tree, cls) or (isinstance(tree, dict) and isinstance(tree.get("params"), BaseModel)):
            return tree
        name, params = one_named(tree, cls.kind, _known(cls.kind, info), cls.beside)
        timing = {key: value for key, value in tree.items() if key in cls.beside}
        return {**timing, "name": name, "params": params}

    @field_validator("params", mode="plain")
    @classmethod
    def _of_its_name(cls, value: object, info: ValidationInfo) -> BaseModel:
        return value if isinstance(value, BaseModel) else cls._read(info.data["name"], value, info)

    @classmethod
    def _read(cls, name: str, value: object, info: ValidationInfo) -> BaseModel:
        if name not in CHOSEN:
            return validated(_model_of("step", name, info, name, KEY), value, info.context, name)
        key = CHOSEN[name]
        if not isinstance(value, dict):
            raise refused(f"`{name}` must be a mapping with `{key}`", name)
        if name == "chaos":
            return validated(Chaos, value, info.context, name)
        if value.get(key) is None:
            raise refused(f"`{key}` is missing", name)
        return validated(_model_of(key, str(value[key]), info, name, key), value, info.context, name)


class ChaosFault(StepSpec):
    """A fault of ``chaos``: its name with its parameters, which may be placeholders."""

    kind: ClassVar[str] = "fault"
    beside: ClassVar[Sequence[str]] = ()

    @classmethod
    def _read(cls, name: str, value: object, info: ValidationInfo) -> BaseModel:
        context = {**(info.context or {}), **names_in(info).within_chaos().context()}
        return validated(_model_of("fault", name, info, name, KEY), value, context, name)


class Together(Timing):
    """Sequences of steps that run at the same time; the block ends when the last of them ends."""

    branches: Annotated[
        tuple[Branch, ...], a_list("`together` must be a list of branches, each a list of steps")
    ] = Field(alias="together")


def _step_or_block(step: object) -> str:
    is_block = isinstance(step, Together) or (isinstance(step, dict) and "together" in step)
    return "block" if is_block else "step"


Step = StepSpec | Together
_Step = Annotated[
    Annotated[StepSpec, Tag("step")] | Annotated[Together, Tag("block")], Discriminator(_step_or_block)
]
Branch = Annotated[tuple[_Step, ...], a_list("a branch of `together` must be a list of steps, at least one")]
Steps = Annotated[tuple[_Step, ...], a_list("`steps` must be a list of steps, at least one")]


def rebuilt(
    steps: Sequence[Step], change: Callable[[StepSpec, Place], Step], path: Place = ()
) -> tuple[Step, ...]:
    """The steps after ``change``, which gets each single step, those of blocks included, and its place."""
    changed: list[Step] = []
    for index, step in enumerate(steps):
        here = (*path, index)
        if isinstance(step, Together):
            inner = (rebuilt(branch, change, (*here, number)) for number, branch in enumerate(step.branches))
            changed.append(step.model_copy(update={"branches": tuple(inner)}))
        else:
            changed.append(change(step, here))
    return tuple(changed)


class Chaos(Params):
    """Faults at random times for ``for_s`` seconds; a seed turns them into timed steps.

    ``every_s`` is the time between two faults, ``restart_after_s`` how long each lasts, both
    lowest and highest. At most ``at_most_down`` processes are down or paused at once. With
    ``settle_timeout_s`` the next fault waits until the cluster is quiet again.
    """

    for_s: float = Field(gt=0)
    every_s: Range
    restart_after_s: Range
    at_most_down: int = Field(default=1, ge=1)
    settle_timeout_s: float | None = Field(default=None, gt=0)
    faults: Annotated[
        tuple[ChaosFault, ...],
        a_list("`faults` must be a list, such as `[{kill: {target: any-bookie}}]`"),
    ] = ()

    @field_validator("settle_timeout_s")
    @classmethod
    def _one_at_a_time(cls, value: float | None, info: ValidationInfo) -> float | None:
        down = info.data.get("at_most_down", 1)
        if value is not None and down > 1:
            raise ValueError(
                f"settle_timeout_s needs at_most_down 1, not {down}: while one is down nothing is quiet"
            )
        return value
