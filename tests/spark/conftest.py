"""One Spark session for all of these tests; that it ends without a trace is part of the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pipeline.session import Session


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder: Path = tmp_path_factory.mktemp("spark")
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with Session(folder) as spark:
        yield spark
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    assert left == []
    assert list(folder.iterdir()) == []
