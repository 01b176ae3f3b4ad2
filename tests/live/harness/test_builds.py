"""A build of BookKeeper of the user's own, live: its jars over those of the nearest release."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from cluster import artifacts
from tests.live.running import Fencepost, assert_as_stated

OWN = ("bookkeeper-server", "bookkeeper-common", "bookkeeper-proto")


def test_a_build_runs_as_a_release_does_and_says_so(
    fencepost: Callable[..., Fencepost], tmp_path: Path
) -> None:
    jars = tmp_path / "jars"
    jars.mkdir()
    release = artifacts.class_path()
    for name in OWN:
        shutil.copyfile(
            release.folder / f"{name}-{release.version}.jar", jars / f"{name}-{release.version}-SNAPSHOT.jar"
        )
    run = fencepost(
        "run", "fencing/figure", "--mode", "unprotected", "--rounds", "1", "--jars", str(jars), "--json"
    )
    assert_as_stated(*run.finish())
    assert f'"{release.version}-jars.' in next(run.results.rglob("run.json")).read_text()
