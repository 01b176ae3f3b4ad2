"""Healing a pause of what ends with its session: it is started again; what dies otherwise has died."""

from __future__ import annotations

from typing import Any

import pytest

import nemesis.processes  # noqa: F401  # registers its faults
from cluster.interface import ProcessState
from nemesis.registry import FAULTS
from protocol.errors import UnplannedDeathError

PAUSE = FAULTS["pause"]


class Paused:
    """A process that stands still, and ends as soon as it goes on."""

    name = "ar1"

    def __init__(self) -> None:
        self.boot, self.state = 1, ProcessState.PAUSED

    def resume(self) -> None:
        self.state = ProcessState.DOWN

    def start(self, *, conf: Any = None, version: str | None = None) -> None:
        self.boot, self.state = self.boot + 1, ProcessState.RUNNING

    def wait_ready(self, timeout_s: float) -> None:
        if self.state is ProcessState.DOWN:
            raise UnplannedDeathError(f"{self.name} ended on its own within {timeout_s} s")


class Leaving(Paused):
    """A process that reports why it ended."""

    def __init__(self, *, by_session: bool) -> None:
        super().__init__()
        self._by_session = by_session

    def session_ended(self) -> bool:
        return self._by_session


class Cluster:
    def __init__(self, process: Paused) -> None:
        self._process = process

    def process(self, name: str) -> Paused:
        assert name == self._process.name
        return self._process


def heal(process: Paused) -> Any:
    cluster: Any = Cluster(process)
    return PAUSE.heal(PAUSE.params(target="ar1"), cluster, {"boot": 1})


def test_what_ended_with_its_session_is_started_again() -> None:
    assert heal(Leaving(by_session=True)) == {"boot": 2, "ready": True}


@pytest.mark.parametrize("process", [Paused(), Leaving(by_session=False)])
def test_what_died_otherwise_has_died(process: Paused) -> None:
    with pytest.raises(UnplannedDeathError):
        heal(process)
