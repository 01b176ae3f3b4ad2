"""When each pass of the census began and ended; what it found is :mod:`checkers.facts.observations`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from checkers.contract import LedgerFact, LedgerFacts


class Pass(NamedTuple):
    """First question and last answer of one pass (ns)."""

    began_ns: int
    ended_ns: int


Passes = Mapping[int, Pass]
"""Number of the pass -> when."""


_TIMES = ("ledger", "pass_number", "asked_ns", "answered_ns")
PASS_TIMES = LedgerFact(
    "pass_times",
    "census",
    lambda batch: {name: batch.census[name] for name in _TIMES},
    key=("ledger", "pass_number"),
    values={"asked_ns": "min", "answered_ns": "max"},
)
"""By ledger and pass of the census: its first question and its last answer (ns)."""


def passes(facts: LedgerFacts) -> Passes:
    """When each pass of the run began and ended, over all ledgers. Needs ``PASS_TIMES``."""
    columns = facts.columns(PASS_TIMES)
    number = columns["pass_number"]
    return {
        one: Pass(
            int(columns["asked_ns"][number == one].min()), int(columns["answered_ns"][number == one].max())
        )
        for one in np.unique(number).tolist()
    }
