"""How busy the machine was during a run, as its evidence says it."""

from __future__ import annotations

import time

import pytest

from harness import provenance


@pytest.mark.parametrize(
    ("before_ns", "now_ns", "share"), [(2, 500_000_002, 0.5), (None, 5, None), (2, None, None)]
)
def test_the_pressure_of_a_run_is_the_share_of_its_own_time(
    before_ns: int | None, now_ns: int | None, share: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "waited_ns", lambda: now_ns)
    monkeypatch.setattr(time, "monotonic_ns", lambda: 1_000_000_007)
    assert provenance.load_since(7, before_ns)["cpu_pressure"] == share
