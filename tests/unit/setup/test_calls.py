"""Commands that are ended with what they started, and tests counted from reports whole, torn and old."""

import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest
from calls import Calls, Counts, go, junit, with_code

from cluster.waiting import wait_until

CASE = '<testcase name="{}" classname="x">{}</testcase>'
CASES = ("", "<failure/>", "<error/>", "<skipped/>", "")


def report(path: Path) -> Path:
    """Five tests: two passed, one failed, one broke, one was skipped."""
    cases = "".join(CASE.format(f"t{at}", inner) for at, inner in enumerate(CASES))
    path.write_text(f"<testsuites><testsuite name='s'>{cases}</testsuite></testsuites>")
    return path


def test_an_error_in_a_report_counts_as_a_failure(tmp_path: Path) -> None:
    both = [report(tmp_path / "a.xml"), report(tmp_path / "b.xml"), tmp_path / "missing.xml"]
    assert junit(both) == Counts(passed=4, failed=4, skipped=2)


def test_a_report_of_an_earlier_run_counts_nothing(tmp_path: Path) -> None:
    old, new = report(tmp_path / "old.xml"), report(tmp_path / "new.xml")
    os.utime(old, (1000, 1000))
    os.utime(new, (2000, 2000))
    assert junit([old, new], newer_than=1500) == Counts(passed=2, failed=2, skipped=1)


@pytest.mark.parametrize(
    ("counts", "code", "failed"),
    [
        (Counts(passed=3), 0, 0),
        (Counts(passed=3), 2, 1),
        (Counts(passed=3, failed=2), 1, 2),
        (Counts(), 5, 1),
    ],
)
def test_a_command_that_failed_without_a_failed_test_is_a_failure(
    counts: Counts, code: int, failed: int
) -> None:
    assert with_code(counts, code)["failed"] == failed


def test_the_events_of_go_are_counted_with_a_torn_line_and_the_output_of_what_failed(tmp_path: Path) -> None:
    def event(test: str, action: str, output: str = "") -> str:
        return json.dumps({"Package": "p", "Test": test, "Action": action, "Output": output})

    lines = [
        event("TestGood", "output", "fine\n"),
        event("TestGood", "pass"),
        event("TestBad", "output", "broken here\n"),
        event("TestBad", "fail"),
        event("TestNone", "skip"),
        json.dumps({"Package": "p", "Action": "fail", "Output": "FAIL p\n"}),  # a package is no test
        json.dumps({"ImportPath": "q", "Action": "build-fail"}),
        '{"Package": "p", "Act',
    ]
    log = tmp_path / "log"
    log.write_text("\n".join(lines))
    assert go(log) == (Counts(passed=1, failed=1, skipped=1), "broken here\nFAIL p\n")


@pytest.mark.parametrize(("stubborn", "code"), [(False, 0), (True, -signal.SIGKILL)])
def test_an_interrupted_command_removes_its_remains_or_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stubborn: bool, code: int
) -> None:
    monkeypatch.setattr("calls._GRACE_S", 0.5 if stubborn else 60)
    handler = "signal.SIG_IGN" if stubborn else "lambda *_: (pathlib.Path('remains').unlink(), sys.exit(0))"
    program = (
        f"import pathlib, signal, sys; signal.signal(signal.SIGINT, {handler}); "
        "pathlib.Path('remains').touch(); signal.pause()"
    )
    calls, codes = Calls(), []
    row = threading.Thread(
        target=lambda: codes.append(calls.run([sys.executable, "-c", program], cwd=tmp_path))
    )
    row.start()
    wait_until(lambda: ((tmp_path / "remains").exists(), "nothing"), 60, "the command to begin")
    calls.end()
    row.join()
    assert codes == [code]
    assert (tmp_path / "remains").exists() is stubborn
