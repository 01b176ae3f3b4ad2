"""The checkers, in the order in which a verdict lists them: one property, one file, one line here."""

from __future__ import annotations

from typing import Any

from checkers.answers import Answers
from checkers.availability import Availability
from checkers.closing import Closing
from checkers.content import Content
from checkers.contract import Checker
from checkers.durability import Durability
from checkers.fencing import Fencing
from checkers.lac import Lac
from checkers.metadata import Metadata
from checkers.order import Order
from checkers.recovery import Recovery
from checkers.sufficiency import Sufficiency

CHECKERS: tuple[Checker[Any], ...] = (
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
)

SAFETY = frozenset(
    ("durability", "closing", "fencing", "recovery", "content", "order", "metadata", "answers")
)
"""Properties that count whenever they convict, whether the plan requires them or not."""
