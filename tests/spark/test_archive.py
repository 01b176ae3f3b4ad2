"""The class-data archive: one name for one JVM and one Spark, and never in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.session import archive_in, write_archive
from protocol.java import java
from tests.unit.protocol.test_java import ALL, install


def test_the_name_is_bound_to_the_jvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = archive_in(tmp_path)
    assert own == archive_in(tmp_path)
    install(tmp_path, f'JAVA_VERSION="21"\nMODULES="{ALL}"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java.cache_clear()
    assert archive_in(tmp_path) != own
    java.cache_clear()


def test_an_archive_that_is_there_is_kept(tmp_path: Path) -> None:
    archive = archive_in(tmp_path)
    archive.write_bytes(b"archive")
    assert write_archive(tmp_path) == archive
    assert archive.read_bytes() == b"archive"
