"""Marks every test by its folder: tests/unit is `unit`, tests/live is `live`, and so on.

Properties have no deadline: how long an example takes on a shared machine says nothing of the code.
"""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("fencepost", deadline=None)
settings.load_profile("fencepost")
HERE = Path(__file__).parent
TIERS = {"unit", "spark", "live", "docker", "browser", "histories", "repo"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        tier = item.path.relative_to(HERE).parts[0]
        if tier not in TIERS:
            raise pytest.UsageError(f"{item.path} lies in no tier; there are {', '.join(sorted(TIERS))}")
        item.add_marker(tier)
