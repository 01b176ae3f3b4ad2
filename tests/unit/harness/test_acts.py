"""Every step that a plan may name has an action; a step that is only in the vocabulary could not run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from evidence.codes import Outcome
from harness.acts.clients import read
from harness.perform import ACTS
from plans.steps import STEPS


def test_every_step_has_an_act() -> None:
    assert set(STEPS) - set(ACTS) == set()


REFUSED = {"ok": False, "outcome": "unknown", "error": "ReadException", "code": -1}


@pytest.mark.parametrize(
    ("lac", "outcome", "said"),
    [
        ({"ok": True, "lac": 4}, Outcome.OK, "reads 5 entries"),
        ({"ok": True, "lac": -1}, Outcome.OK, "finds nothing to read in main (LAC -1)"),
        (REFUSED, Outcome.UNKNOWN, "asks for the LAC of main"),
    ],
)
def test_a_read_up_to_a_lac_that_nobody_told_is_not_ok(
    lac: dict[str, Any], outcome: Outcome, said: str
) -> None:
    replies = {"lac": lac, "read": {"ok": True, "entries": 5}}
    ledgers = SimpleNamespace(handle=lambda client, ledger: "h")
    stage: Any = SimpleNamespace(ledgers=ledgers, call=lambda client, do, **_: replies[do])
    done = read(stage, SimpleNamespace(client="reader", ledger="main", first=0, last=None))
    assert done.outcome is outcome
    assert said in done.text
