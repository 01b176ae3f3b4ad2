"""The checkers, in the order in which a verdict lists them: one property, one file, one line here."""

from __future__ import annotations

from checkers.answers import Answers
from checkers.availability.checker import Availability
from checkers.closing import Closing
from checkers.content import Content
from checkers.contract import Checker
from checkers.durability.checker import Durability
from checkers.fencing.checker import Fencing
from checkers.lac.checker import Lac
from checkers.log.property import Log
from checkers.metadata import Metadata
from checkers.order import Order
from checkers.placement import Placement
from checkers.recovery.checker import Recovery
from checkers.replicas.checker import Replicas
from checkers.servers.checker import Servers
from checkers.sufficiency import Sufficiency

CHECKERS: tuple[Checker, ...] = (
    Sufficiency(),
    Durability(),
    Closing(),
    Fencing(),
    Order(),
    Lac(),
    Content(),
    Metadata(),
    Recovery(),
    Answers(),
    Availability(),
    Servers(),
    Replicas(),
    Placement(),
    Log(),
)

SAFETY = (
    *("durability", "closing", "fencing", "recovery", "content", "order", "lac", "metadata"),
    "answers",
    "availability",  # it reports only what stays out of reach permanently
)
"""Properties that count whenever they are violated, required by the plan or not; the severest first."""


def severity(name: str) -> int:
    """The place of a property when the severest come first; other properties share the last one."""
    return SAFETY.index(name) if name in SAFETY else len(SAFETY)
