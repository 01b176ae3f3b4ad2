"""The JUnit tests beside the pages of findings: each compiles against BookKeeper, and fails as its page says.

Each class has a test that passes, which is the control of the other.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
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


@pytest.fixture(scope="module")
def failed(class_path: str) -> set[tuple[str, str]]:
    """Class and method of every test that failed, of all that were run.

    One JVM runs the class whose failure is a time-out of half a minute, another meanwhile all others.
    """
    parts = [["DirectCompactionAbortedTest"], sorted(set(FAILURES) - {"DirectCompactionAbortedTest"})]
    with ThreadPoolExecutor(len(parts)) as pool:
        return set().union(*pool.map(partial(run_in_one_jvm, class_path), parts))


def run_in_one_jvm(class_path: str, names: Sequence[str]) -> set[tuple[str, str]]:
    argv = [java(), "-cp", class_path, "org.junit.runner.JUnitCore", *map(qualified, names)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    failed = [(name, method) for method, name in _FAILED.findall(done.stdout)]
    assert f"Tests run: {2 * len(names)},  Failures: {len(failed)}" in done.stdout, done.stdout
    return set(failed)


def qualified(name: str) -> str:
    source = (FINDINGS / "tests" / f"{name}.java").read_text()
    (package,) = re.findall(r"^package (.*);$", source, re.M)
    assert source.count("@Test") == 2
    return f"{package}.{name}"


@pytest.mark.parametrize("name", FAILURES)
def test_a_test_fails_by_its_finding_and_passes_without(failed: set[tuple[str, str]], name: str) -> None:
    assert {method for of, method in failed if of == name} == {FAILURES[name]}


def test_every_test_is_run_and_is_linked_from_a_page() -> None:
    assert {path.stem for path in (FINDINGS / "tests").glob("*.java")} == set(FAILURES)
    pages = "".join(page.read_text() for page in FINDINGS.glob("*.md"))
    assert all(f"(tests/{name}.java)" in pages for name in FAILURES)
