"""What the agent changes in BookKeeper: seeded defects break a promise, cures mend the cause of a finding.

One file of properties for each, read here and by the agent. Handles no processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from plans.reading.mistakes import checked
from plans.reading.nearest import unknown

FOLDER = Path(__file__).resolve().parent.parent / "agent/src/main/resources/fencepost/agent"
PROCESSES = ("bookie", "client", "autorecovery")
PROCESS = "process"
_OF_THE_AGENT = ("advice", "arguments")
"""Keys of a declaration that only the agent reads."""
TRIGGERS = {
    "every": int, "nth": int, "probability": float, "seed": int, "ledger": int, "from_boot": int,
    PROCESS: str,
}  # fmt: skip
"""Keys of a trigger and what their values are; all must hold for the defect to act."""


@dataclass(frozen=True, slots=True)
class Defect:
    """A seeded defect, or a cure."""

    name: str
    title: str
    type: str
    """The class of BookKeeper that is changed, in its ``method``."""
    method: str
    processes: tuple[str, ...]
    """Where it is changed."""
    releases: str
    """A range of the versions that have the method."""
    promise: str = ""
    """What a defect breaks, from ``section`` of ``document``."""
    document: str = ""
    section: str = ""
    trigger: str = ""
    """Settings that hold unless an order names others."""
    findings: tuple[str, ...] = ()
    """Of a cure: the pages in ``docs/findings`` whose cause it mends."""

    @property
    def kind(self) -> str:
        """What it is called in reports and messages."""
        return "cure" if self.findings else "seeded defect"


NONE = Defect("none", "The agent is loaded and changes nothing", "", "", PROCESSES, ">=4.14")
"""What is ordered in place of a defect for a control of the agent itself."""


@cache
def defects() -> Mapping[str, Defect]:
    """Every declared defect by its name."""
    return {path.stem: _declared(path) for path in sorted((FOLDER / "defects").glob("*.properties"))}


@cache
def cures() -> Mapping[str, Defect]:
    """Every declared cure by its name."""
    return {path.stem: _declared(path) for path in sorted((FOLDER / "cures").glob("*.properties"))}


def ordered(text: str) -> Defect:
    """The defect or cure of an order ``NAME[,KEY=VALUE...]``; ``ValueError`` for any other text."""
    return _ordered(text, "seeded defect or cure", {**_orderable_defects(), **cures()})


def without_process(text: str) -> tuple[str, str]:
    """An order without its setting ``process``, and the value of that setting, empty without one."""
    mark = f"{PROCESS}="
    parts = text.split(",")
    named = "".join(part.removeprefix(mark) for part in parts if part.startswith(mark))
    return ",".join(part for part in parts if not part.startswith(mark)), named


def _orderable_defects() -> dict[str, Defect]:
    return {**defects(), NONE.name: NONE}


def _ordered(text: str, what: str, known: Mapping[str, Defect]) -> Defect:
    name, *settings = text.split(",")
    if name not in known:
        listing = f"fencepost list {'cures' if what == 'cure' else 'defects'}"
        raise ValueError(unknown(what, name, known, listing=listing))
    for setting in settings:
        key, equals, value = setting.partition("=")
        if key not in TRIGGERS or not equals:
            raise ValueError(f"`{setting}` is no trigger: KEY=VALUE with one of {', '.join(TRIGGERS)}")
        if key != PROCESS and not _fits(TRIGGERS[key], value):
            kind = "a share from 0 to 1" if TRIGGERS[key] is float else "a whole number of 0 or more"
            raise ValueError(f"`{setting}`: {key} is {kind}")
    return known[name]


def _fits(kind: type[float], value: str) -> bool:
    try:
        return 0 <= kind(value) <= (1 if kind is float else 2**63 - 1)
    except ValueError:
        return False


def _assert_once(orders: tuple[str, ...]) -> None:
    names = [order.partition(",")[0] for order in orders]
    if len(set(names)) != len(names):
        raise ValueError(f"a defect or cure is named more than once: {', '.join(names)}")
    if NONE.name in names and len(names) > 1:
        raise ValueError(f"`{NONE.name}` excludes the others: {', '.join(names)}")


def _of(what: str, known: Callable[[], Mapping[str, Defect]]) -> AfterValidator:
    """Refuses what is no order of one of ``known``."""
    return checked(lambda text: _ordered(text, what, known()))


SeedDefect = Annotated[str, _of("seeded defect", _orderable_defects)]
"""A defect's name, and after commas settings of its trigger: ``fence-ignored,every=3``."""
SeedDefects = Annotated[tuple[SeedDefect, ...], checked(_assert_once)]
Cures = Annotated[tuple[Annotated[str, _of("cure", cures)], ...], checked(_assert_once)]
"""Cures' names, each after commas with settings of its trigger, as of a defect."""


def _declared(path: Path) -> Defect:
    lines = path.read_text(encoding="utf-8").splitlines()
    values = dict(line.split("=", 1) for line in lines if line)
    own = {key: value for key, value in values.items() if key not in ("processes", "finding", *_OF_THE_AGENT)}
    findings = tuple(filter(None, values.get("finding", "").split(",")))
    return Defect(path.stem, processes=tuple(values["processes"].split(",")), findings=findings, **own)
