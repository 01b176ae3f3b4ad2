"""With a file the doctor counts first, then says what is invalid, what is unsafe, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.doctor import command
from cluster import doctor
from cluster.doctor import Check
from cluster.releases import artifacts
from cluster.releases.versions import DEFAULT_VERSION
from protocol.errors import PrerequisiteError

OK, WARN, FAIL = (
    Check("disk", "ok", "seen"),
    Check("docker", "warn", "no engine", "Start it."),
    Check("java", "fail", "none", "Install it."),
)


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def class_path(_: str) -> None:
        raise PrerequisiteError("no network", remedy="check it")

    monkeypatch.setattr(artifacts, "class_path", class_path)


def test_the_help_names_the_default_release() -> None:
    assert f"default: {DEFAULT_VERSION}" in CliRunner().invoke(command, ["--help"]).stdout


def said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bookie: str | None,
    *checks: Check,
    client: str | None = None,
    version: str = DEFAULT_VERSION,
) -> tuple[int, list[str]]:
    """The exit code and the lines of doctor with these files."""
    monkeypatch.setattr(doctor, "checks", lambda: list(checks))
    words = ["--bookkeeper", version]
    for whose, text in (("bookie", bookie), ("client", client)):
        if text is not None:
            conf = tmp_path / f"{whose}.conf"
            conf.write_text(text)
            words += [f"--{whose}-conf", str(conf)]
    done = CliRunner().invoke(command, words, standalone_mode=False)
    return done.return_value, done.stdout.splitlines()


def test_what_is_invalid_is_counted_and_said_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "journalWriteData=flase\ngcWaitTime=7200000\nmaxReadsInProgressLimit=0"
    code, lines = said(tmp_path, monkeypatch, text, OK)
    assert code == 2
    assert lines[0].endswith("bookie.conf with BookKeeper 4.18.0: 2 invalid values, 1 warning")
    assert [line[:4] for line in lines if line[:4].strip()][1:4] == ["FAIL", "FAIL", "warn"]
    assert lines[1] == "FAIL  journalWriteData=flase is neither true nor false; no bookie starts with it"
    assert lines[-1] == "next: docs/how-to/safe-configuration.md#settings-that-protect"


def test_only_checks_of_the_machine_that_are_not_ok_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, lines = said(tmp_path, monkeypatch, "", OK, WARN, FAIL)
    assert code == 2
    assert lines[-6:-1] == [
        "this machine, for runs of Fencepost:",
        "FAIL  java: none",
        "      Install it.",
        "warn  docker: no engine",
        "      Start it.",
    ]
    code, lines = said(tmp_path, monkeypatch, "", OK)
    assert (code, "this machine, for runs of Fencepost:" in lines) == (0, False)


def test_the_short_name_of_a_storage_has_the_findings_of_the_class_that_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, lines = said(tmp_path, monkeypatch, "ledgerStorageClass=DbLedgerStorage")
    assert "1 invalid value, " in lines[0]
    assert any("failed-flush-forgotten" in line for line in lines)
    assert not any("torn-entry-log" in line for line in lines)


def test_the_settings_of_clients_are_checked_without_those_of_bookies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "useV2WireProtocol=true\nthrottle=many"
    code, lines = said(tmp_path, monkeypatch, None, client=text)
    assert code == 2
    assert lines[0].endswith("client.conf with BookKeeper 4.18.0: 1 invalid value, 1 warning")
    assert lines[1] == "FAIL  throttle=many is no whole number; no client accepts it"
    assert "      Clients with V2: 3 known findings, 1 of severity P1" in lines
    assert lines[-2] == "      settings of bookies were not checked: name their file with --bookie-conf"


def test_both_files_are_checked_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, lines = said(tmp_path, monkeypatch, "maxReadsInProgressLimit=0", client="useV2WireProtocol=true")
    heads = [line.rpartition("/")[2] for line in lines if ".conf with BookKeeper " in line]
    assert [head.partition(" ")[0] for head in heads] == ["bookie.conf", "client.conf"]
    assert code == 0
    assert "        read-limit does not apply with bookies that limit no reads" in lines
    assert not [line for line in lines if "were not checked" in line]


def test_a_file_of_bookies_alone_leaves_the_clients_unchecked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, lines = said(tmp_path, monkeypatch, "")
    assert lines[-2] == "      settings of clients were not checked: name their file with --client-conf"
    assert "Clients with V2" in lines[-3]
