"""Faults of links through a real proxy: the stories of every cluster."""

from __future__ import annotations

from typing import Any

import pytest

import nemesis.links
import nemesis.messages  # noqa: F401  # registers its faults
from nemesis.active import Active
from tests.unit.nemesis.fault_stories import Lines, LinkStories


@pytest.fixture
def active(cluster: Any, lines: Lines) -> Active:
    return Active(cluster, lambda line: lines.append(dict(line)))


class TestLinks(LinkStories):
    pass
