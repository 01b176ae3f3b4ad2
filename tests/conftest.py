"""Marks every test by its folder: tests/unit is `unit`, tests/live is `live`, and so on.

Tests marked `long` run with ``--long`` only: CI has minutes for servers, a night has hours.

Properties have no deadline: how long an example takes on a shared machine says nothing of the code.

A shell without job control starts commands in the background with SIGINT ignored, and every process of theirs
inherits that. Tests that press Ctrl-C need the default.
"""

import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("fencepost", deadline=None)
settings.load_profile("fencepost")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
HERE = Path(__file__).parent
TIERS = {"unit", "spark", "live", "docker", "browser", "histories", "repo"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests marked `long` too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left = pytest.mark.skip(reason="long: scripts/test --long runs it")
    for item in items:
        if item.get_closest_marker("long") and not config.getoption("--long"):
            item.add_marker(left)
        tier = item.path.relative_to(HERE).parts[0]
        if tier not in TIERS:
            raise pytest.UsageError(f"{item.path} lies in no tier; there are {', '.join(sorted(TIERS))}")
        item.add_marker(tier)
