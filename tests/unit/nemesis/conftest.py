"""The fake cluster and the faults on it."""

from __future__ import annotations

from typing import Any

import pytest

import harness.vocabulary  # noqa: F401  # registers every fault
from nemesis.nemesis import Nemesis
from tests.unit.nemesis.fake_cluster import FakeCluster
from tests.unit.nemesis.fake_rules import FakeWire


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


@pytest.fixture
def lines() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def nemesis(cluster: Any, lines: list[dict[str, Any]]) -> Nemesis:
    return Nemesis(cluster, lambda line: lines.append(dict(line)), ledger={"main": 7}.__getitem__)


@pytest.fixture
def wire(cluster: FakeCluster) -> FakeWire:
    return FakeWire(cluster.links.rules["writer", "b1"])
