"""What a run took of the processor and how busy its machine was, as its evidence says it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evidence.collect.clock import READING_ERROR_NS
from harness import provenance


@pytest.mark.parametrize(
    ("before_ns", "now_ns", "share"), [(2, 500_000_002, 0.5), (None, 5, None), (2, None, None)]
)
def test_the_pressure_of_a_run_is_the_share_of_its_own_time(
    before_ns: int | None, now_ns: int | None, share: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "waited_ns", lambda: now_ns)
    monkeypatch.setattr(time, "monotonic_ns", lambda: 1_000_000_007)
    assert provenance.load_since(7, before_ns)["cpu_pressure"] == share


def test_clocks_that_were_read_too_far_apart_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process lost its core for 40 ms behind its first reading."""
    instants_ms = iter([100, 140, 140, 141, 141, 141])
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(instants_ms) * 1_000_000)
    monkeypatch.setattr(time, "time_ns", lambda: (7000 + next(instants_ms)) * 1_000_000)
    pair = provenance.clock()
    assert abs(pair["wall_ns"] - pair["monotonic_ns"] - 7_000_000_000) < READING_ERROR_NS


BURN = "import time\nwhile time.process_time() < 0.3: pass\n"
NESTED = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}], check=True)"


def test_the_time_of_a_process_counts_for_those_who_wait_for_it() -> None:
    """As the keeper waits for the servers, and the harness for the keeper."""
    before_s = provenance.cpu_s()
    subprocess.run([sys.executable, "-c", NESTED], check=True)
    assert provenance.cpu_s() - before_s >= 0.3


@pytest.mark.parametrize(
    ("text", "total_ns", "share"),
    [
        ("some avg10=84.54 avg60=40.73 avg300=21.33 total=129899109\nfull avg10=0.00\n", 129899109000, 0.845),
        ("", None, None),
    ],
)
def test_a_kernel_without_pressure_says_unknown(
    text: str, total_ns: int | None, share: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _: text)
    assert provenance.waited_ns() == total_ns
    assert provenance.load_now()["cpu_pressure"] == share


def test_a_commit_that_git_does_not_say_in_time_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(argv: list[str], **_: object) -> None:
        raise subprocess.TimeoutExpired(argv, 10)

    monkeypatch.setattr(subprocess, "run", hang)
    assert provenance.commit() == ("unknown", True)


def test_what_differs_from_a_stored_run_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "commit", lambda: ("b" * 40, False))
    monkeypatch.setattr(provenance, "host", lambda: {"cores": 2, "java": "21.0.8", "kernel": "6.8.0"})
    run: Any = {
        "commit": "a" * 40,
        "dirty": True,
        "host": {"cores": 16, "java": "21.0.8", "kernel": "5.10.0"},
    }
    assert provenance.differences(run) == [
        "Fencepost's commit: aaaaaaaaaaaa, with uncommitted changes in the run, bbbbbbbbbbbb here",
        "cores: 16 in the run, 2 here",
    ]
    same: Any = {"commit": "b" * 40, "dirty": False, "host": {}}
    assert provenance.differences(same) == []


@pytest.mark.parametrize(
    ("release", "said"),
    [
        (
            'IMPLEMENTOR="Eclipse Adoptium"\nJAVA_VERSION="21.0.8"\nMODULES="java.base"\n',
            "21.0.8 (Eclipse Adoptium)",
        ),
        ('JAVA_VERSION="17.0.9"\n', "17.0.9"),
        ("java.base@21.0.8\n", "unknown"),
    ],
)
def test_java_is_recorded_with_its_vendor(release: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "about", lambda _: release)
    assert provenance.host()["java"] == said
