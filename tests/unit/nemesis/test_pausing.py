"""Healing a pause of what ends with its session: it is started again; what dies otherwise has died."""

from __future__ import annotations

from typing import Any

import pytest

import nemesis.processes  # noqa: F401  # registers its faults
from cluster.interface import ProcessState
from nemesis.registry import FAULTS, FaultContext
from protocol.errors import UnplannedDeathError


class Paused:
    """A process that stands still, ends as soon as it goes on, and reports why."""

    name = "ar1"

    def __init__(self, *, by_session: bool) -> None:
        self.boot, self.state = 1, ProcessState.PAUSED
        self._by_session = by_session

    def session_ended(self) -> bool:
        return self._by_session

    def resume(self) -> None:
        self.state = ProcessState.DOWN

    def start(self, *, conf: Any = None, version: str | None = None) -> None:
        self.boot, self.state = self.boot + 1, ProcessState.RUNNING

    def wait_ready(self, timeout_s: float) -> None:
        if self.state is ProcessState.DOWN:
            raise UnplannedDeathError(f"{self.name} ended on its own within {timeout_s} s")


class Cluster:
    def __init__(self, process: Paused) -> None:
        self._process = process

    def process(self, name: str) -> Paused:
        assert name == self._process.name
        return self._process


def heal(process: Paused) -> Any:
    cluster: Any = Cluster(process)
    return FAULTS["pause"](target="ar1").heal(FaultContext(cluster, injected={"boot": 1}))


def test_what_ended_with_its_session_is_started_again() -> None:
    assert heal(Paused(by_session=True)) == {"boot": 2, "ready": True}


def test_what_died_otherwise_has_died() -> None:
    with pytest.raises(UnplannedDeathError):
        heal(Paused(by_session=False))
