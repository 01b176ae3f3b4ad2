"""Seeded defects: promises of BookKeeper that the agent breaks on purpose, as their declarations say.

One file of properties for each defect, read here and by the agent. Handles no processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from plans.nearest import unknown

FOLDER = Path(__file__).resolve().parent.parent / "agent/src/main/resources/fencepost/agent/defects"
PROCESSES = ("bookie", "client", "autorecovery")
TRIGGERS = {"every": int, "nth": int, "probability": float, "seed": int, "ledger": int, "from_boot": int}
"""Keys of a trigger and what their values are; all must hold for the defect to act."""


@dataclass(frozen=True, slots=True)
class Defect:
    """What a defect breaks (``promise``, from ``section`` of ``document``), where, and in which processes.

    ``type`` and ``method`` are BookKeeper's, ``releases`` a range of versions that have them, ``trigger``
    the settings that hold unless an order names others.
    """

    name: str
    title: str
    promise: str
    document: str
    section: str
    type: str
    method: str
    processes: tuple[str, ...]
    releases: str
    trigger: str = ""


@cache
def defects() -> Mapping[str, Defect]:
    """Every declared defect by its name."""
    return {path.stem: _declared(path) for path in sorted(FOLDER.glob("*.properties"))}


def ordered(text: str) -> Defect:
    """The defect of an order ``NAME[,KEY=VALUE...]``; ``ValueError`` for any other text."""
    name, *settings = text.split(",")
    if name not in defects():
        raise ValueError(unknown("seeded defect", name, defects()))
    for setting in settings:
        key, equals, value = setting.partition("=")
        if key not in TRIGGERS or not equals:
            raise ValueError(f"`{setting}` is no trigger: KEY=VALUE with one of {', '.join(TRIGGERS)}")
        if TRIGGERS[key](value) < 0:
            raise ValueError(f"`{setting}` is below 0")
    return defects()[name]


def defect_row(one: Defect) -> str:
    """Its row in the table of ``docs/seeded-defects.md``."""
    cells = (f"`{one.name}`", one.title, f"{one.promise} ({one.document}, {one.section})")
    place = f"`{one.type.rpartition('.')[2]}#{one.method}`"
    setting = f"`{one.trigger}`" if one.trigger else ""
    return f"| {' | '.join((*cells, place, ', '.join(one.processes), one.releases, setting))} |"


def assert_once(orders: Iterable[str]) -> None:
    """``ValueError`` when two orders name the same defect."""
    names = [order.partition(",")[0] for order in orders]
    if len(set(names)) != len(names):
        raise ValueError(f"a defect is named more than once: {', '.join(names)}")


def _checked(text: str) -> str:
    ordered(text)
    return text


SeedDefect = Annotated[str, AfterValidator(_checked)]
"""A defect's name, and after commas settings of its trigger: ``fence-ignored,every=3``."""


def _declared(path: Path) -> Defect:
    lines = path.read_text(encoding="utf-8").splitlines()
    values = dict(line.split("=", 1) for line in lines if line)
    return Defect(
        name=path.stem,
        title=values["title"],
        promise=values["promise"],
        document=values["document"],
        section=values["section"],
        type=values["type"],
        method=values["method"],
        processes=tuple(values["processes"].split(",")),
        releases=values["releases"],
        trigger=values.get("trigger", ""),
    )
