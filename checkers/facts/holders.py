"""The lives of the bookies that answered, row by row."""

from __future__ import annotations

import numpy as np

from checkers.facts.boots import life_of
from checkers.rows import Rows
from checkers.sets.spans import Ints
from evidence.codes import Message

ADDS = (Message.ADD, Message.RECOVERY_ADD)


def lives(rows: Rows) -> Ints:
    """The life of each frame's bookie; meaningless where the boot is not known."""
    return np.asarray(life_of(rows["bookie"].astype(np.int64), rows["boot"].astype(np.int64)))
