"""Faults of links through a real proxy: the stories of every cluster."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import nemesis.links
import nemesis.messages  # noqa: F401  # registers its faults
from cluster.interface import ProcessState
from cluster.links import ToxiproxyLinks
from nemesis.active import Active
from tests.unit.nemesis.fault_stories import Lines, LinkStories


@pytest.fixture
def cluster(links: ToxiproxyLinks) -> Any:
    """A cluster of which only the links are there; all processes run."""
    running = SimpleNamespace(state=ProcessState.RUNNING)
    return SimpleNamespace(links=links, process=lambda _name: running)


@pytest.fixture
def lines() -> Lines:
    return []


@pytest.fixture
def active(cluster: Any, lines: Lines) -> Active:
    return Active(cluster, lambda line: lines.append(dict(line)))


class TestLinks(LinkStories):
    pass
