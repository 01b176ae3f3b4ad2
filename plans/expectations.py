"""What a plan says should come out, and whether it did.

An expectation never changes a verdict; it only decides whether the run came out as stated.
Rules: an ``unknown`` verdict meets no expectation; an anomaly that nothing states fails the run;
what should break must break; a defect that shows ``sometimes`` may be absent, which is reported.
Knows no evidence: findings come in as plain tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, Field, WithJsonSchema

from plans.names import LedgerName, Params
from plans.nearest import unknown
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


def _property(value: str) -> str:
    if value not in PROPERTIES:
        raise ValueError(unknown("property", value, PROPERTIES))
    return value


Property = Annotated[
    str, AfterValidator(_property), WithJsonSchema({"type": "string", "enum": list(PROPERTIES)})
]


class Holds(Params):
    """Every property that counts is valid."""

    says: ClassVar[str] = "holds"
    versions: VersionRange = ""


class Breaks(Params):
    """The configuration is expected to break that property, as its documents say it may."""

    says: ClassVar[str] = "breaks"
    property: Property
    kind: str = Field(default="", pattern=r"^[a-z_]*$")
    ledger: LedgerName | None = None
    versions: VersionRange = ""


class Defect(Params):
    """A known defect of BookKeeper shows; ``reference`` says where it is described."""

    says: ClassVar[str] = "defect"
    property: Property
    kind: str = Field(default="", pattern=r"^[a-z_]*$")
    ledger: LedgerName | None = None
    reference: str = Field(min_length=1)
    rate: Literal["always", "sometimes"] = "always"
    versions: VersionRange = ""


Expectation = Holds | Breaks | Defect

EXPECTATIONS: dict[str, type[Expectation]] = {"holds": Holds, "breaks": Breaks, "defect": Defect}


class Found(NamedTuple):
    """One anomaly found: property, kind, the ledger's name in the plan (empty: none), class of loss."""

    property: str
    kind: str
    ledger: str = ""
    loss: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether a run met its expectation; ``reasons`` are sentences, also when it did.

    ``unexpected`` says that an anomaly was found which nothing states; ``absent`` names the defects
    stated as ``sometimes`` that did not show this time.
    """

    met: bool
    reasons: tuple[str, ...]
    absent: tuple[str, ...] = ()
    unexpected: bool = False


def applicable(
    expect: Mapping[str, Sequence[Expectation]], mode: str, version: str
) -> tuple[Expectation, ...]:
    """What the plan states for ``mode`` at BookKeeper ``version``; empty when it states nothing."""
    return tuple(entry for entry in expect.get(mode, ()) if within(version, entry.versions))


def describe(entry: Expectation) -> str:
    """``breaks durability (lost) on main``."""
    if isinstance(entry, Holds):
        return "holds"
    kind = f" ({entry.kind})" if entry.kind else ""
    ledger = f" on {entry.ledger}" if entry.ledger else ""
    return f"{entry.says} {entry.property}{kind}{ledger}"


def compare(
    expect: Mapping[str, Sequence[Expectation]],
    found: Iterable[tuple[str, str, str, str]],
    verdict: str,
    *,
    mode: str,
    version: str,
    whole: bool = True,
) -> Comparison:
    """Compare what a plan states for ``mode`` at ``version`` with what was found and the verdict.

    ``found`` are :class:`Found` tuples, ``verdict`` is ``valid``, ``anomaly`` or ``unknown``.
    Without ``whole`` evidence nothing is met: what else may have gone wrong was not seen.
    Nothing stated means ``holds``. With a ``valid`` verdict, findings are those that the plan's
    allowance excuses: they meet nothing.
    """
    stated = [entry for entry in applicable(expect, mode, version) if not isinstance(entry, Holds)]
    if verdict == "unknown":
        return Comparison(False, ("the verdict is unknown, which meets no expectation",))
    if verdict not in ("valid", "anomaly"):
        return Comparison(False, (f"the verdict {verdict!r} meets no expectation",))
    anomalies = [Found(*one) for one in found] if verdict == "anomaly" else []
    if verdict == "anomaly" and not anomalies:
        return Comparison(False, ("the verdict is anomaly, but no finding says which",), unexpected=True)
    strangers = _unstated(stated, anomalies)
    shown, missing, absent = _seen(stated, anomalies)
    failures = [*strangers, *(f"expected, but not found: {text}" for text in missing)]
    if not whole:
        failures.append("the evidence is not whole, so what else may have happened is unknown")
    if failures:
        return Comparison(False, tuple(failures), tuple(absent), unexpected=bool(strangers))
    reasons = [f"as expected: {text}" for text in shown]
    reasons += [f"not seen this time (it shows sometimes): {text}" for text in absent]
    return Comparison(True, tuple(reasons) or ("as expected: holds",), tuple(absent))


def _matches(entry: Breaks | Defect, found: Found) -> bool:
    return (
        entry.property == found.property
        and entry.kind in ("", found.kind)
        and entry.ledger in (None, found.ledger)
    )


def _unstated(stated: Sequence[Breaks | Defect], anomalies: Sequence[Found]) -> list[str]:
    texts = []
    for one in dict.fromkeys(anomalies):
        if not any(_matches(entry, one) for entry in stated):
            loss = f", {one.loss}" if one.loss else ""
            ledger = f" on {one.ledger}" if one.ledger else ""
            texts.append(f"an anomaly that was not expected: {one.property} ({one.kind}{loss}){ledger}")
    return texts


def _seen(
    stated: Sequence[Breaks | Defect], anomalies: Sequence[Found]
) -> tuple[list[str], list[str], list[str]]:
    """What showed, what had to show and did not, and what may be absent and was."""
    shown: list[str] = []
    missing: list[str] = []
    absent: list[str] = []
    for entry in stated:
        text = describe(entry)
        if any(_matches(entry, one) for one in anomalies):
            shown.append(text)
        elif isinstance(entry, Defect) and entry.rate == "sometimes":
            absent.append(text)
        else:
            missing.append(f"{text}, perhaps fixed: {entry.reference}" if isinstance(entry, Defect) else text)
    return shown, missing, absent
