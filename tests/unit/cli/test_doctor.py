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


def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, *checks: Check) -> tuple[int, list[str]]:
    monkeypatch.setattr(doctor, "checks", lambda: list(checks))
    conf = tmp_path / "bk_server.conf"
    conf.write_text(text)
    done = CliRunner().invoke(command, ["--bookie-conf", str(conf)], standalone_mode=False)
    return done.return_value, done.stdout.splitlines()


def test_what_is_invalid_is_counted_and_said_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "journalWriteData=flase\ngcWaitTime=7200000\nmaxReadsInProgressLimit=0"
    code, lines = said(tmp_path, monkeypatch, text, OK)
    assert code == 2
    assert lines[0].endswith("bk_server.conf with BookKeeper 4.18.0: 2 invalid values, 1 warning")
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
