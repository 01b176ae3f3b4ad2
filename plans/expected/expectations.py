"""What a plan expects as the result, for each mode.

An expectation never changes a verdict; it only decides whether the run ended as expected, which
is done by :mod:`plans.expected.comparison`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import (
    Field,
    PlainValidator,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_serializer,
    model_validator,
)

from plans.cluster import SettingText
from plans.grammar.names import ClientName, LedgerName, Params, one_of
from plans.reading.document import KEY
from plans.reading.mistakes import a_list, one_named, refused, validated
from plans.reading.nearest import unknown
from plans.versions import VersionRange, within

PROPERTIES = (
    "durability",
    "closing",
    "fencing",
    "recovery",
    "order",
    "lac",
    "content",
    "answers",
    "metadata",
    "replicas",
    "placement",
    "servers",
    "log",
    "availability",
)


Property = Annotated[
    str, one_of("property", PROPERTIES), WithJsonSchema({"type": "string", "enum": list(PROPERTIES)})
]


class _Entry(Params):
    says: ClassVar[str]

    @model_serializer(mode="wrap")
    def _as_written(self, dump: SerializerFunctionWrapHandler) -> object:
        tree = dump(self)
        return "holds" if self.says == "holds" and not tree.get("versions") else {self.says: tree}


class Holds(_Entry):
    """Every property that counts is valid."""

    says: ClassVar[str] = "holds"
    versions: VersionRange = ""


class _Anomaly(_Entry):
    """Which anomalies an entry speaks of: those within ``entries``, ``count`` of them in each round."""

    property: Property
    kind: str = Field(default="", pattern=r"^[A-Za-z0-9_-]*$")
    ledger: LedgerName | None = None
    loss: Literal["explained", "unexplained", "forged", "put_back", "undetermined"] | None = Field(
        default=None, alias="class"
    )
    entries: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    count: int | None = Field(default=None, ge=1)

    @field_validator("entries")
    @classmethod
    def _first_to_last(cls, value: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if value is not None and (len(value) != 2 or value[1] < value[0]):
            raise ValueError(f"{list(value)} must be [first, last]")
        return value


class Breaks(_Anomaly):
    """The configuration is expected to break that property, as its documents say it may."""

    says: ClassVar[str] = "breaks"
    versions: VersionRange = ""


class Defect(_Anomaly):
    """A known defect of BookKeeper shows; ``reference`` says where it is described."""

    says: ClassVar[str] = "defect"
    reference: str = Field(min_length=1)
    rate: Literal["always", "sometimes"] = "always"
    versions: VersionRange = ""


_LEARNED_BY = {
    "last_entry": ("recover", "close"),
    "entries": ("append", "read", "tail"),
    "lac": ("append", "read"),
}


class Decides(_Entry):
    """The outcome of a client's first (or ``number``-th) ``step`` on the ledger, and the document's rule.

    ``differs`` is in what the client is known to decide otherwise than ``document``. ``error`` is
    BookKeeper's name or code of it, empty for any. ``entries`` is how many were read, or acknowledged,
    ``lac`` the LAC that the client knew then. ``reference`` is the page of the known defect that the
    decision shows, if it shows one.
    """

    says: ClassVar[str] = "decides"
    ledger: LedgerName
    client: ClientName | None = None
    step: Literal["create", "append", "read", "tail", "recover", "close"] = "recover"
    number: int = Field(default=1, ge=1)
    outcome: Literal["ok", "unknown", "fail"]
    last_entry: int | None = Field(default=None, ge=-1)
    entries: int | None = Field(default=None, ge=0)
    lac: int | None = Field(default=None, ge=-1)
    error: SettingText = ""
    document: str = Field(min_length=1)
    differs: str = ""
    reference: str = ""
    case: str = ""
    versions: VersionRange = ""

    @model_validator(mode="after")
    def _of_one_ending(self) -> Decides:
        if self.outcome == "ok" and self.error:
            raise ValueError("an outcome ok has no `error`")
        if self.outcome != "ok" and self.last_entry is not None:
            raise ValueError(f"`last_entry` belongs to an outcome ok, not {self.outcome}")
        for name, steps in _LEARNED_BY.items():
            if getattr(self, name) is not None and self.step not in steps:
                raise ValueError(f"`{name}` belongs to {', '.join(steps)}, not to {self.step}")
        return self


class Measures(_Entry):
    """A ``figure`` in the verdict of a property is within bounds, as ``document`` demands.

    The figures are in ``seen`` of ``verdict.json``; each stands for the whole run, all its rounds.
    """

    says: ClassVar[str] = "measures"
    property: Property
    figure: str = Field(min_length=1)
    at_least: int | None = Field(default=None, ge=0)
    at_most: int | None = Field(default=None, ge=0)
    document: str = Field(min_length=1)
    versions: VersionRange = ""

    @model_validator(mode="after")
    def _has_a_bound(self) -> Measures:
        if self.at_least is None and self.at_most is None:
            raise ValueError("a figure needs a bound, `at_least` or `at_most`")
        return self


Expectation = Holds | Breaks | Defect | Decides | Measures

EXPECTATIONS: dict[str, type[Expectation]] = {
    model.says: model for model in (Holds, Breaks, Defect, Decides, Measures)
}


def _by_name(value: object, info: ValidationInfo) -> Expectation:
    """The entry of ``holds`` or ``{breaks: {property: durability}}``."""
    tree = {value: {}} if value == "holds" else value
    name, params = one_named(tree, "expectation", EXPECTATIONS)
    if name not in EXPECTATIONS:
        raise refused(unknown("expectation", name, EXPECTATIONS), name, KEY)
    return validated(EXPECTATIONS[name], params, info.context, name)


ExpectationList = Annotated[
    tuple[Annotated[SerializeAsAny[Expectation], PlainValidator(_by_name)], ...],
    a_list("an expectation is a list: `[holds]` or `[{breaks: {property: durability}}]`"),
]
"""What a plan expects of one mode."""


def applicable(
    expect: Mapping[str, Sequence[Expectation]], mode: str, version: str
) -> tuple[Expectation, ...]:
    """What the plan states for ``mode`` at BookKeeper ``version``; empty when it states nothing."""
    return tuple(entry for entry in expect.get(mode, ()) if within(version, entry.versions))


def shows_defect(entry: Expectation) -> bool:
    """Whether the entry states a known defect of BookKeeper, as an anomaly or as a client's decision."""
    return isinstance(entry, Defect | Decides) and bool(entry.reference)


def describe(entry: Breaks | Defect) -> str:
    """``breaks durability (lost, forged) on main, entries 0..9, 10 in all``."""
    kind = ", ".join(filter(None, (entry.kind, entry.loss)))
    text = f"{entry.says} {entry.property}{f' ({kind})' if kind else ''}"
    text += f" on {entry.ledger}" if entry.ledger else ""
    text += f", entries {entry.entries[0]}..{entry.entries[1]}" if entry.entries else ""
    return text + (f", {entry.count} in all" if entry.count else "")


# Which ledgers of a bookie lose their keys depends on the requests between a crash and a checkpoint.
_KEYS = "docs/findings/damaged-key.md"
# BookKeeper does not wait for the preboot check; a bookie registers 25 to 90 ms after its end.
_PREBOOT = "docs/findings/preboot-not-awaited.md"
# If recovery reads no entry after the LAC, the length comes from whichever fencing answers arrived first.
_LENGTH = "docs/findings/recovered-length.md"
# A writer whose ensemble change ends may count the answers of the bookie that it has replaced.
_REPLACED = "docs/verdicts.md#known-defects"  # four pages describe ways to it
ALWAYS = (
    Defect(property="metadata", kind="wrong_length", rate="sometimes", reference=_LENGTH),
    Defect(property="lac", kind="acked_by_replaced", rate="sometimes", reference=_REPLACED),
)
STANDING: dict[str, tuple[Defect, ...]] = {
    "protected": (
        *(
            Defect(property="servers", kind=kind, rate="sometimes", versions=">=4.15", reference=_PREBOOT)
            for kind in ("available_unchecked", "denied_unchecked", "full_check_early")
        ),
        Defect(
            property="availability", kind="key_lost", rate="sometimes", versions=">=4.18", reference=_KEYS
        ),
    )
}


def standing(mode: str, version: str) -> tuple[Defect, ...]:
    """The known defects that any plan may meet in ``mode`` on BookKeeper ``version``."""
    return tuple(entry for entry in (*ALWAYS, *STANDING.get(mode, ())) if within(version, entry.versions))
