"""Marks every test by its folder: tests/unit is `unit`, tests/live is `live`, and so on.

Tests marked `long` run with ``--long`` only, and some tests try more seeds then: CI has minutes, a night
has hours.

Properties have no deadline: how long an example takes on a shared machine says nothing of the code.

A shell without job control starts commands in the background with SIGINT ignored, and every process of theirs
inherits that. Tests that press Ctrl-C need the default.
"""

import signal
from pathlib import Path

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("tests.nemesis_contract")
settings.register_profile("fencepost", deadline=None)
settings.register_profile("long", deadline=None, derandomize=False, print_blob=True)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
HERE = Path(__file__).parent
TIERS = {"unit", "spark", "live", "docker", "browser", "histories", "repo"}
LONGEST = (
    *("documents", "exploring", "interrupted_runs", "campaign", "boots", "disks", "soak", "truncation"),
    *("parallel", "local_cluster", "loads", "unplanned_events", "storage_faults", "deaths", "lost_fence"),
    *("operating", "killed_client"),
    *("twins", "blocks", "mutations", "simulated_holdings", "simulated_runs", "simulated_answers"),
    "simulated_fences",
)
"""Files ``test_NAME.py`` that begin first, the longest before the others: no worker is left alone with one
at the end.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests marked `long` too, and more seeds")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("long" if config.getoption("--long") else "fencepost")


@pytest.fixture(scope="session")
def is_long(pytestconfig: pytest.Config) -> bool:
    """Whether a test has the time to try more seeds."""
    return bool(pytestconfig.getoption("--long"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left = pytest.mark.skip(reason="long: scripts/test --long runs it")
    for item in items:
        if item.get_closest_marker("long") and not config.getoption("--long"):
            item.add_marker(left)
        tier = item.path.relative_to(HERE).parts[0]
        if tier not in TIERS:
            raise pytest.UsageError(f"{item.path} lies in no tier; there are {', '.join(sorted(TIERS))}")
        item.add_marker(tier)
    order = {f"test_{name}.py": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))
