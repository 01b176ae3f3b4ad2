"""The JUnit tests beside the pages of findings: each compiles against BookKeeper, and fails as its page says.

Each class has a test that passes, which is the control of the other.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from cluster.releases import artifacts, checksums, maven
from cluster.releases.versions import DEFAULT_VERSION
from protocol.java import java

FINDINGS = Path(__file__).parents[3] / "docs" / "findings"
FAILURES = {
    "CollectedAndCopiedBackTest": "entryAddedAfterRemovalIsThere",
    "CompactionInterruptedTest": "compactedLogHasItsEntriesWhereRecoveryLeftAnEmptyFile",
    "DamagedKeyTest": "keyThatWasSetTwiceStays",
    "DirectCompactionAbortedTest": "entryIsAddedAfterSevenAbortedCompactions",
    "DirectLargeEntryTest": "entryLargerThanWriteBufferIsFlushed",
    "DirectManyLedgersTest": "ledgersAreFoundWithSmallWriteBuffers",
    "EvictedIndexTest": "ledgerWithEvictedIndexIsThere",
    "FailedFlushTest": "checkpointAfterFailedFlushHasItsEntries",
    "FenceForgottenTest": "fenceOfLedgerWithoutEntrySurvivesCleanRestart",
    "IndexLogDamagedTest": "damagedLogIsReported",
    "JournalPreallocationTest": "preallocationLeavesLargeEntryWhole",
    "LengthDamagedTest": "ledgersBehindDamagedLengthAreInLog",
    "LostWhileDisabledTest": "bookieLostAgainWhileDisabledIsAudited",
    "MarkDeletedTwiceTest": "markMadeAfterRemovalWithoutAnswerStays",
    "PreallocationFailedTest": "logBeginsAfterFailedPreallocation",
    "RepairUnlockedTest": "closeAfterExpiryLeavesLockOfAnotherWorker",
    "ReplayRejectedTest": "rejectedRecordIsNotSkippedAsInvalid",
    "RotatedLogsTest": "flushAwaitsSyncOfCompleteLog",
    "TornRecordTest": "tornRecordIsNotReplayed",
}
_FAILED = re.compile(r"^\d+\) (\w+)\(.*\.(\w+)\)$", re.M)


@pytest.fixture(scope="module")
def class_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The compiled tests, JUnit, and the jars of BookKeeper."""
    home, classes = checksums.cache_root() / "compiler", tmp_path_factory.mktemp("classes")
    sums = {
        path: digest
        for lock in ("ecj", "junit")
        for path, digest in checksums.read_paths(artifacts.LOCKS / f"{lock}.sha256").items()
    }
    with checksums.exclusive(home / "lock"):
        maven.fetch(sums, home)
    compiler, *junit = [home / Path(path).name for path in sums]
    jars = os.pathsep.join(map(str, (*junit, *artifacts.class_path(DEFAULT_VERSION).jars)))
    argv = [java(), "-jar", compiler, "-source", "8", "-target", "8", "-nowarn", "-cp", jars, "-d", classes]
    subprocess.run([*argv, FINDINGS / "tests"], check=True, timeout=120)
    return f"{classes}{os.pathsep}{jars}"


@pytest.mark.parametrize("name", FAILURES)
def test_a_test_fails_by_its_finding_and_passes_without(class_path: str, name: str) -> None:
    source = (FINDINGS / "tests" / f"{name}.java").read_text()
    (package,) = re.findall(r"^package (.*);$", source, re.M)
    argv = [java(), "-cp", class_path, "org.junit.runner.JUnitCore", f"{package}.{name}"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    assert "Tests run: 2,  Failures: 1" in done.stdout
    assert _FAILED.findall(done.stdout) == [(FAILURES[name], name)]


def test_every_test_is_run_and_is_linked_from_a_page() -> None:
    assert {path.stem for path in (FINDINGS / "tests").glob("*.java")} == set(FAILURES)
    pages = "".join(page.read_text() for page in FINDINGS.glob("*.md"))
    assert all(f"(tests/{name}.java)" in pages for name in FAILURES)
