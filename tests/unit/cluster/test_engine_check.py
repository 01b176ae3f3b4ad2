"""What `fencepost doctor` says where no Docker engine runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.doctor import _docker


@pytest.mark.parametrize(
    ("place", "seen"),
    [
        ("nowhere.sock", "no engine is running: {path} does not exist"),
        ("a-file", "no engine answers: Connection refused"),
    ],
)
def test_a_socket_without_an_engine_is_named_in_words(
    place: str, seen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a-file").touch()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / place}")
    assert _docker().seen == seen.format(path=tmp_path / place)
