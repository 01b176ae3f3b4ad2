"""A build and settings of the user's own, live: jars over those of the nearest release, files of settings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from cluster.releases import artifacts
from tests.live.running import Start, assert_as_stated

OWN = ("bookkeeper-server", "bookkeeper-common", "bookkeeper-proto")


def test_a_build_runs_as_a_release_does_and_says_so(fencepost: Start, tmp_path: Path) -> None:
    jars = tmp_path / "jars"
    jars.mkdir()
    release = artifacts.class_path()
    for name in OWN:
        shutil.copyfile(
            release.folder / f"{name}-{release.version}.jar", jars / f"{name}-{release.version}-SNAPSHOT.jar"
        )
    for name, setting in (("bk_server", "openFileLimit=1234"), ("client", "readEntryTimeoutSec=7")):
        (tmp_path / f"{name}.conf").write_text(f"{setting}\n")
    conf = ("--bookie-conf", str(tmp_path / "bk_server.conf"), "--client-conf", str(tmp_path / "client.conf"))
    one = ("run", "fencing/figure", "--mode", "unprotected", "--rounds", "1")
    run = fencepost(*one, "--jars", str(jars), *conf, "--json")
    assert_as_stated(*run.finish())
    stored = json.loads((run.folder / "run.json").read_text())
    assert stored["bookkeeper"].startswith(f"{release.version}-jars.")
    assert (stored["conf"]["bookie"]["openFileLimit"], stored["conf"]["client"]["readEntryTimeoutSec"]) == (
        "1234",
        "7",
    )
    assert stored["user_conf"]["bookie"] == {
        "openFileLimit": "1234",
        "ledgerStorageClass": "org.apache.bookkeeper.bookie.SortedLedgerStorage",  # BookKeeper's default
    }
