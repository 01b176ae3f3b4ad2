"""The fake cluster of a module, with its ``CLIENTS``."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.workloads.fake_clients import fake_cluster


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Any:
    return fake_cluster(*request.module.CLIENTS)
