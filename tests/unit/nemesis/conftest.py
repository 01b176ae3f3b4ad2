"""The fake cluster and the faults on it."""

from __future__ import annotations

from typing import Any

import pytest

import nemesis.corruption
import nemesis.disks
import nemesis.links
import nemesis.messages
import nemesis.metadata
import nemesis.networks
import nemesis.power
import nemesis.processes  # registers its faults
import nemesis.sessions  # registers its faults
import nemesis.storage
import nemesis.swapping  # noqa: F401  # registers its faults
from nemesis.active import Active
from tests.unit.nemesis.fake_cluster import FakeCluster
from tests.unit.nemesis.fake_rules import FakeWire

pytest.register_assert_rewrite("tests.unit.nemesis.fault_stories", "tests.unit.nemesis.message_stories")


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


@pytest.fixture
def lines() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def active(cluster: Any, lines: list[dict[str, Any]]) -> Active:
    return Active(cluster, lambda line: lines.append(dict(line)), ledger={"main": 7}.__getitem__)


@pytest.fixture
def wire(cluster: FakeCluster) -> FakeWire:
    return FakeWire(cluster.links.rules["writer", "b1"])
