"""Names in step parameters, checked against the plan they stand in.

A parameter model (of a step, a fault, a workload) annotates a field with one of these types.
The form of a name is always checked; whether it exists is checked when the loader passes the
plan's :class:`Names` in pydantic's validation context. Independent of single steps and of files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    WithJsonSchema,
)

from plans.reading.mistakes import checked
from plans.reading.nearest import unknown
from protocol.addresses import ADMIN, FOLLOWER, NAME, OBSERVER, PROXY, ZOOKEEPER, bookie_name, is_bookie
from protocol.modes import MODES

ANY_BOOKIE = "any-bookie"
ANY_CLIENT = "any-client"
EACH = "each"
"""Stands for every ledger that an allowance does not name."""
EVERY_DISK = "all"
PLACEHOLDERS = (ANY_BOOKIE, ANY_CLIENT)
RESERVED = (ADMIN, FOLLOWER, OBSERVER, PROXY, ZOOKEEPER)
"""Names that no client may have."""
_WORD = re.compile(r"(?<!^)(?=[A-Z])")


class Params(BaseModel):
    """Base of every parameter model: frozen, no unknown keys, keys that are Python words by alias."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, validate_default=True)


def name_of(model: type[BaseModel]) -> str:
    """How plans write a model of a step or a condition: ``FenceJournaled`` as ``fence_journaled``."""
    return _WORD.sub("_", model.__name__).lower()


def purpose_of(model: type[BaseModel]) -> str:
    """What a step, fault, condition or workload does: the first sentences of its docstring, on one line."""
    return " ".join((model.__doc__ or "").partition("\n\n")[0].replace("``", "`").split())


@dataclass(frozen=True, slots=True)
class Names:
    """What a plan's steps may name; None for a group means that it is not checked.

    ``faults`` are kinds of fault, ``given`` the names that the plan gives single faults with ``as``,
    ``disks`` the dedicated disks of each bookie.
    ``chaos`` allows the placeholders ``any-bookie`` and ``any-client``, which a seed resolves.
    """

    bookies: tuple[str, ...] | None = None
    clients: tuple[str, ...] | None = None
    ledgers: tuple[str, ...] | None = None
    loads: tuple[str, ...] | None = None
    faults: tuple[str, ...] | None = None
    given: tuple[str, ...] | None = None
    modes: tuple[str, ...] | None = None
    disks: tuple[str, ...] | None = None
    autorecovery: tuple[str, ...] = ()
    followers: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    chaos: bool = False

    def within_chaos(self) -> Names:
        """The same names, placeholders allowed."""
        return replace(self, chaos=True)

    def context(self) -> dict[str, Names]:
        """As pydantic's validation context."""
        return {"names": self}


def names_in(info: ValidationInfo) -> Names:
    """The plan's names, or empty (unchecked) ones outside a plan."""
    found = (info.context or {}).get("names")
    return found if isinstance(found, Names) else Names()


def bookie_names(bookies: int) -> tuple[str, ...]:
    """``b1`` .. ``bN``."""
    return tuple(bookie_name(number) for number in range(1, bookies + 1))


def one_of(what: str, known: Collection[str]) -> AfterValidator:
    """Refuses every other value, with the nearest that is known."""

    def check(value: str) -> None:
        if value not in known:
            raise ValueError(unknown(what, value, known))

    return checked(check)


def once(what: str) -> AfterValidator:
    """Refuses names of which one is given twice, with ``what`` they name."""

    def check(value: tuple[str, ...]) -> None:
        if len(set(value)) < len(value):
            raise ValueError(f"a {what} is named twice: {', '.join(value)}")

    return checked(check)


def _assert_range(value: tuple[float, float]) -> None:
    low, high = value
    if not 0 < low <= high:
        raise ValueError(f"[{low:g}, {high:g}] must be [lowest, highest] with 0 < lowest <= highest")


Range = Annotated[tuple[float, float], checked(_assert_range)]
"""The lowest and the highest of some numbers."""


def _formed(value: str, what: str) -> str:
    if not NAME.fullmatch(value):
        raise ValueError(
            f"`{value}` is no {what}'s name: a lower-case letter, then up to 15 lower-case letters or digits"
        )
    return value


def _placeholder(value: str, info: ValidationInfo, allowed: tuple[str, ...]) -> bool:
    if value not in PLACEHOLDERS:
        return False
    if not names_in(info).chaos:
        raise ValueError(f"`{value}` is only allowed inside chaos, where a seed resolves it")
    if value not in allowed:
        raise ValueError(f"`{value}` cannot stand here; allowed placeholders: {', '.join(allowed) or 'none'}")
    return True


def _known(value: str, what: str, groups: Iterable[tuple[str, ...] | None]) -> str:
    known: list[str] = []
    for group in groups:
        if group is None:
            return value
        known.extend(group)
    if value not in known:
        raise ValueError(unknown(what, value, known))
    return value


def _in_the_plan(
    what: str,
    groups: Callable[[Names], Iterable[tuple[str, ...] | None]],
    *,
    form: str = "",
    placeholders: tuple[str, ...] = (),
) -> Callable[[str, ValidationInfo], str]:
    """A check that the plan has ``what`` in one of these groups; such a name has the ``form``."""

    def check(value: str, info: ValidationInfo) -> str:
        if placeholders and _placeholder(value, info, placeholders):
            return value
        return _known(_formed(value, form) if form else value, what, groups(names_in(info)))

    return check


def _bookie(value: str, info: ValidationInfo) -> str:
    if _placeholder(value, info, (ANY_BOOKIE,)):
        return value
    if not is_bookie(value):
        raise ValueError(unknown("bookie", value, names_in(info).bookies or ("b1..b99",)))
    return _known(value, "bookie", [names_in(info).bookies])


def _store(value: str, info: ValidationInfo) -> str:
    return value if value == ZOOKEEPER else _bookie(value, info)


_client = _in_the_plan("client", lambda names: [names.clients], form="client", placeholders=(ANY_CLIENT,))
_server = _in_the_plan(
    "server",
    lambda names: [names.bookies, (ZOOKEEPER,), names.autorecovery, names.clients],
    form="server",
    placeholders=PLACEHOLDERS,
)
_source = _in_the_plan(
    "source of a link",
    lambda names: [names.clients, names.bookies, names.autorecovery, names.followers, names.operators],
    form="source",
    placeholders=PLACEHOLDERS,
)
_destination = _in_the_plan(
    "destination of a link",
    lambda names: [names.bookies, (ZOOKEEPER,)],
    form="destination",
    placeholders=(ANY_BOOKIE,),
)
_ledger = _in_the_plan("ledger", lambda names: [names.ledgers], form="ledger")
_load = _in_the_plan("load", lambda names: [names.loads], form="load")
_fault = _in_the_plan("fault", lambda names: [names.faults])
_given = _in_the_plan("name of a fault", lambda names: [names.given], form="fault")
_mode = _in_the_plan("mode", lambda names: [names.modes])


def _lossy(value: str, info: ValidationInfo) -> str:
    return value if value == EACH else _ledger(value, info)


def _new_given(value: str, info: ValidationInfo) -> str:
    if names_in(info).chaos:
        raise ValueError("a fault inside chaos cannot have a name, for it may come several times")
    return _formed(value, "fault")


def _disk(value: str, info: ValidationInfo) -> str:
    disks = names_in(info).disks
    if disks == ():
        raise ValueError("the bookies have no dedicated disks; write `disks: {}` under `cluster`")
    return value if disks is None else _known(value, "disk", [(EVERY_DISK, *disks)])


def _target(value: str, info: ValidationInfo) -> str:
    source, dash, destination = value.partition("-")
    if dash and value not in PLACEHOLDERS:
        return f"{_source(source, info)}-{_destination(destination, info)}"
    return _server(value, info)


def _schema(description: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "description": description})


BookieName = Annotated[str, AfterValidator(_bookie), _schema("a bookie: b1 .. bN")]
StoreName = Annotated[str, AfterValidator(_store), _schema("what stores: a bookie, or zk1")]
ClientName = Annotated[str, AfterValidator(_client), _schema("one of the plan's clients")]
Bookies = Annotated[tuple[BookieName, ...], once("bookie")]
Clients = Annotated[tuple[ClientName, ...], once("client")]
ServerName = Annotated[str, AfterValidator(_server), _schema("a bookie, zk1, ar1 .. arN, or a client")]
SourceName = Annotated[
    str, AfterValidator(_source), _schema("where a link begins: a client, bookie, ar1 .. arN, zk2 or admin")
]
DestinationName = Annotated[str, AfterValidator(_destination), _schema("where a link ends: a bookie or zk1")]
LogName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
LedgerName = Annotated[str, AfterValidator(_ledger), _schema("a ledger of the plan, by its name")]
LossyLedger = Annotated[str, AfterValidator(_lossy), _schema("a ledger of the plan, or `each`")]
LoadName = Annotated[str, AfterValidator(_load), _schema("the name a load was started under")]
FaultName = Annotated[str, AfterValidator(_fault), _schema("the name of a fault")]
GivenFault = Annotated[str, AfterValidator(_given), _schema("the name that a fault was given with `as`")]
NewFault = Annotated[str, AfterValidator(_new_given), _schema("a name for this fault, once in a plan")]
ModeName = Annotated[str, AfterValidator(_mode), _schema("the name of a mode")]
AnyMode = Annotated[str, one_of("mode", MODES), _schema("a mode of Fencepost's, whatever a plan has")]
DiskName = Annotated[
    str, AfterValidator(_disk), _schema("a disk of a bookie: all, data, ledgers, journal, one of `more`")
]
TargetName = Annotated[str, AfterValidator(_target), _schema("a server, or a link as source-destination")]


class Nameable(Params):
    """Base of the parameters of faults that a plan may give a name."""

    name: NewFault | None = Field(default=None, alias="as")
