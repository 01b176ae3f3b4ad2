"""Every step that a plan may name has an act: what is only in the vocabulary could not be carried out."""

from __future__ import annotations

from harness.perform import ACTS
from plans.steps import STEPS


def test_every_step_has_an_act() -> None:
    assert set(STEPS) - set(ACTS) == set()
