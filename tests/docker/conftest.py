"""A Docker engine with the images of the default release, for all tests of this tier."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cluster.releases.versions import DEFAULT_VERSION
from protocol.errors import PrerequisiteError

sys.path.append(str(Path(__file__).parents[2] / "scripts" / "parts"))  # what sets this machine up

import building
import engine as engines
import plugin


@pytest.fixture(scope="session")
def engine() -> Iterator[None]:
    """An engine that answers to ``docker``, with the compose plugin, and with all images up to date.

    An existing engine is used; otherwise a private engine is started, and stopped at the end. Tests find
    it as usual, by DOCKER_HOST and DOCKER_CONFIG.
    """
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        try:
            if engines.lacking() is not None:
                patch.setenv("DOCKER_HOST", stack.enter_context(engines.own_engine()))
            if plugin.lacking() is not None:
                patch.setenv("DOCKER_CONFIG", str(plugin.FOLDER))
                if (reason := plugin.lacking()) is not None:
                    pytest.skip(reason)
            building.build([DEFAULT_VERSION])
        except PrerequisiteError as error:
            pytest.skip(f"{error} {error.remedy}".strip())
        yield
