"""The tiers: what is listed, installed and skipped, and that each file of tests gets its line."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import machine
import needs
import pytest
import steps
import tiers
from calls import Counts
from stamp import ROOT

from cluster import doctor
from protocol.errors import FencepostError, PrerequisiteError
from tests.programs import program
from tests.progress import Progress

NFT = machine.Gap("nft", ("nftables",))
BROWSER = machine.Gap("Chromium", ("chromium", "libatomic1"))


def tier(name: str, *packages: machine.Gap, lack: str = "", remedy: str = "") -> tiers.Tier:
    act, needed = (lambda: Counts(passed=1)), lambda: list(packages)
    return tiers.Tier(name, act, packages=needed, lack=lack, remedy=remedy)


def lacking(require: Callable[[], None]) -> tiers.Tier:
    """A tier that has looked for what it needs."""
    looked = tiers.Tier("any", lambda: Counts(passed=1), require)
    tiers.look(looked)
    return looked


def test_every_tier_has_its_expected_time() -> None:
    assert {one.name for one in tiers.tiers()} == tiers.EXPECTED_S.keys()


def test_the_table_has_times_reasons_and_remedies() -> None:
    remedy = "sudo apt-get install chromium"
    browser = tier("browser", lack="no Chromium on PATH", remedy=remedy)
    lines = tiers.table([tier("proxy"), tier("live"), browser]).splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ["proxy", f"{tiers.EXPECTED_S['proxy']}", "s"],
        ["live", f"{tiers.EXPECTED_S['live'] / 60:.0f}", "min"],
    ]
    assert lines[3] == "tiers that are skipped:"
    assert [line.strip() for line in lines[4:]] == ["browser    no Chromium on PATH", remedy]


@pytest.fixture
def apt(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What would be run as root; apt knows every package but the one named ``unknown``."""
    ran: list[list[str]] = []

    def output(argv: list[str]) -> str:
        return f"{argv[-1]}:\n  Candidate: {'(none)' if argv[-1] == 'unknown' else '1.0'}\n"

    monkeypatch.setattr(machine, "may_install", lambda: True)
    monkeypatch.setattr(machine, "output", output)
    monkeypatch.setattr(steps, "run", lambda step, argv, **more: ran.append(argv))
    monkeypatch.setattr(steps, "system", lambda gaps: ran.append(machine.apt_command(gaps)))
    return ran


def test_the_packages_of_all_tiers_are_installed_at_once_and_listed_before(
    apt: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    tiers.install([tier("check"), tier("docker", NFT), tier("browser", BROWSER)])
    installs = [argv for argv in apt if "install" in argv]
    assert [argv[-3:] for argv in installs] == [["chromium", "libatomic1", "nftables"]]
    assert "Chromium: chromium libatomic1" in capsys.readouterr().out


def test_a_package_that_apt_does_not_know_does_not_hinder_the_others(apt: list[list[str]]) -> None:
    tiers.install([tier("docker", NFT), tier("browser", machine.Gap("it", ("unknown",)))])
    assert apt[-1][-1] == "nftables"
    assert "unknown" not in apt[-1]


def test_without_anything_missing_apt_is_not_called(apt: list[list[str]]) -> None:
    tiers.install([tier("check"), tier("browser")])
    assert apt == []


def test_who_may_not_install_installs_nothing(apt: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "may_install", lambda: False)
    tiers.install([tier("browser", BROWSER)])
    assert apt == []


def test_a_failed_installation_ends_nothing(
    apt: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(gaps: list[machine.Gap]) -> None:
        raise FencepostError("system failed\nE: no network")

    monkeypatch.setattr(steps, "system", fail)
    tiers.install([tier("browser", BROWSER)])
    assert "apt-get failed: E: no network" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ci", "name", "names", "code"),
    [
        ("", "client", [], 0),
        *(("true", one, [], 0 if one in tiers.OPTIONAL else 1) for one in tiers.EXPECTED_S),
        ("", "docker", ["docker"], 0),
        ("true", "docker", ["docker"], 1),
    ],
)
@pytest.mark.parametrize(
    "without_a_test",
    [{"lack": "not here"}, {"act": lambda: Counts(skipped=9)}],
    ids=["cannot run", "skips every test"],
)
def test_only_in_continuous_integration_named_tiers_must_run_and_all_but_the_optional(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ci: str,
    name: str,
    names: list[str],
    code: int,
    without_a_test: dict[str, Any],
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(tiers, "signal", Mock())
    monkeypatch.setattr(tiers, "tiers", lambda: [replace(tier(name), **without_a_test)])
    assert tiers.main(names) == code
    assert ("FAILED" in capsys.readouterr().out) == bool(code)


def test_a_tier_that_was_never_reached_fails_where_it_must_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(tiers, "signal", Mock())
    monkeypatch.setattr(tiers, "tiers", lambda: [tier("unit"), tier("live")])
    monkeypatch.setattr(tiers, "run", lambda chosen: chosen[0].counts.update(passed=1))
    assert tiers.main([]) == 1
    assert re.findall(r"^(\w+) +(passed|FAILED)", capsys.readouterr().out, re.M) == [
        ("unit", "passed"),
        ("live", "FAILED"),
    ]


def test_the_tiers_look_side_by_side_for_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)
    monkeypatch.setattr(tiers, "signal", Mock())
    looking = [replace(tier(name), require=lambda: both.wait(60)) for name in ("unit", "docker")]
    monkeypatch.setattr(tiers, "tiers", lambda: looking)
    assert tiers.main([]) == 0


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets how many GiB are available, on a machine of two cores."""
    monkeypatch.setattr(tiers, "WORKERS", 2)
    monkeypatch.setattr(tiers, "CALLS", Mock())
    return lambda gib: monkeypatch.setattr(doctor, "available_memory_bytes", lambda: gib << 30)


def test_two_rows_of_tiers_run_side_by_side_and_each_tier_once(memory: Callable[[int], None]) -> None:
    memory(16)
    ran: list[str] = []
    early, late = threading.Barrier(2), threading.Barrier(2)
    both = {"unit": early, "check": early, "live": late, "docker": late}

    def act(name: str) -> Counts:
        both[name].wait(60)
        ran.append(name)
        return Counts(passed=1)

    chosen = [replace(tier(name), act=partial(act, name)) for name in ("check", "unit", "live", "docker")]
    tiers.run(chosen)
    assert (sorted(ran[:2]), sorted(ran[2:])) == (["check", "unit"], ["docker", "live"])
    assert all(one.counts == Counts(passed=1) for one in chosen)


def test_where_memory_is_short_the_tiers_run_one_after_the_other(memory: Callable[[int], None]) -> None:
    memory(7)
    ran: list[tuple[str, str]] = []

    def act(name: str) -> Counts:
        ran.append((name, threading.current_thread().name))
        return Counts(passed=1)

    names = ["check", "unit", "live", "docker"]
    tiers.run([replace(tier(name), act=partial(act, name)) for name in names])
    assert [name for name, _ in ran] == names
    assert len({thread for _, thread in ran}) == 1


def test_a_row_that_raises_ends_the_commands_of_the_other(memory: Callable[[int], None]) -> None:
    memory(16)
    ended = threading.Event()
    tiers.CALLS.end.side_effect = ended.set  # type: ignore[attr-defined]

    both = threading.Barrier(2)

    def fail() -> Counts:
        both.wait(60)
        raise OSError

    def wait() -> Counts:
        both.wait(60)
        assert ended.wait(60)
        return Counts(failed=1)

    chosen = [replace(tier("unit"), act=fail), replace(tier("docker"), act=wait)]
    with pytest.raises(OSError):
        tiers.run(chosen)
    assert chosen[1].counts["failed"]


@pytest.mark.parametrize(
    ("name", "gib", "workers"), [("live", 16, 3), ("live", 8, 2), ("unit", 16, 2), ("repo", 16, None)]
)
def test_live_tests_have_one_more_worker_where_memory_allows(
    memory: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    gib: int,
    workers: int | None,
) -> None:
    memory(gib)
    monkeypatch.setattr(tiers, "BUILD", tmp_path)
    tiers.CALLS.run.return_value = 0  # type: ignore[attr-defined]
    next(one for one in tiers.tiers() if one.name == name).act()
    [argv] = tiers.CALLS.run.call_args.args  # type: ignore[attr-defined]
    assert [argv[at + 1] for at, one in enumerate(argv) if one == "-n"] == [str(workers)] * bool(workers)


@pytest.mark.parametrize(("ci", "installed"), [("", []), ("true", ["a JDK"])])
def test_a_jdk_is_installed_in_continuous_integration_only(
    monkeypatch: pytest.MonkeyPatch, ci: str, installed: list[str]
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(machine, "output", lambda argv: "")
    assert [gap.what for gap in needs.client_packages()] == installed


@pytest.mark.parametrize(
    ("version", "lacks"), [("javac 17.0.9", False), ("javac 21", False), ("javac 11.0.1", True), ("", True)]
)
def test_a_compiler_has_to_be_new_enough(monkeypatch: pytest.MonkeyPatch, version: str, lacks: bool) -> None:
    monkeypatch.setattr(machine, "output", lambda argv: version)
    monkeypatch.setattr(needs, "maven", list)
    found = lacking(needs.require_client)
    assert (bool(found.lack), "apt-get install" in found.remedy) == (lacks, lacks)


def test_java_tests_without_a_maven_in_reach_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> list[str]:
        raise PrerequisiteError("no repository answers", remedy="Set FENCEPOST_MAVEN.")

    monkeypatch.setattr(machine, "output", lambda argv: "javac 17")
    monkeypatch.setattr(needs, "maven", fail)
    found = lacking(needs.require_client)
    assert (found.lack, found.remedy) == ("no repository answers", "Set FENCEPOST_MAVEN.")


def test_a_browser_that_does_not_start_is_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = program(tmp_path / "chromium", "echo 'cannot open shared object file' >&2; exit 127")
    monkeypatch.setattr(machine, "chromium", lambda: broken)
    monkeypatch.setattr(needs, "_node_lacking", lambda: None)
    found = lacking(needs.require_browser)
    assert str(broken) in found.lack
    assert "libatomic1" in found.remedy


def test_a_node_that_does_not_start_is_a_reason_and_is_repaired_by_packages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from playwright._impl import _driver

    node = program(tmp_path / "node", "echo 'node: error: libatomic.so.1: cannot open' >&2; exit 127")
    monkeypatch.setattr(_driver, "compute_driver_executable", lambda: (str(node), "cli.js"))
    monkeypatch.setattr(machine, "chromium", lambda: Path("/usr/bin/true"))
    found = lacking(needs.require_browser)
    assert "libatomic.so.1" in found.lack
    assert needs.browser_packages() == [needs.BROWSER]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """An engine that answers; ``run`` ends as the given line of shell does."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return lambda run: (program(tmp_path / "docker", f'case "$1" in run) {run};; esac'), None)[1]


def test_an_engine_in_which_no_container_starts_is_a_reason(docker: Callable[[str], None]) -> None:
    docker("echo 'runc: cgroup: read-only file system' >&2; exit 125")
    found = lacking(needs.require_docker)
    assert "no container starts: runc: cgroup: read-only file system" in found.lack


def test_an_engine_in_which_a_container_starts_lacks_nothing(docker: Callable[[str], None]) -> None:
    docker("exit 2")  # that of the program in it
    needs.require_docker()


FILES = {
    "test_good.py": "def test_a(): pass\ndef test_b(): pass\n",
    "test_bad.py": "import pytest\ndef test_c(): assert 0\n@pytest.mark.skip\ndef test_d(): pass\n",
}


@pytest.mark.parametrize("spread", [(), ("-n", "2", "--dist", "loadfile")])
def test_each_file_has_a_line_and_a_failure_is_told_at_once(tmp_path: Path, spread: tuple[str, ...]) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    argv = [sys.executable, "-B", "-m", "pytest", "-p", "tests.progress", "-q", "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [*argv, "-c", "/dev/null", *spread, str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    lines = done.stderr.splitlines()
    results = [line.split(": ", 1)[-1].rpartition(", ")[0] for line in lines if line.startswith("  [")]
    assert sorted(results) == ["1 failed, 1 skipped", "2 passed"]
    assert any(line.startswith("  FAILED") and line.endswith("test_bad.py::test_c (call)") for line in lines)
    assert "1 failed, 2 passed, 1 skipped" in done.stdout


def test_after_a_silence_what_runs_is_named() -> None:
    lines: list[str] = []
    heard = threading.Event()
    progress = Progress(lambda line: (lines.append(line), heard.set()), silence_s=0.01)
    progress.pytest_runtest_logstart("tests/x.py::test_a")
    progress.pytest_xdist_node_collection_finished(["tests/x.py::test_a"])
    assert heard.wait(60)
    progress.pytest_unconfigure()
    assert lines[0].startswith("  running: tests/x.py::test_a (0 s)")


def test_sigterm_ends_the_tiers_as_ctrl_c_does() -> None:
    code = (
        "import os, signal, sys, tiers; tiers.install = tiers.look = lambda _: None; tiers.table = str; "
        "tiers.run = lambda _: os.kill(os.getpid(), signal.SIGTERM); sys.exit(tiers.main(['unit']))"
    )
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
