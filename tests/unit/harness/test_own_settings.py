"""A user's file of settings decides the mode, and where it is silent BookKeeper's default does."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from cluster.processes.settings import RunSpec
from evidence.folder import RunFolder
from harness import preparing
from harness.own_settings import bookie_settings, settings_lines
from harness.preparing import Prepared, introduction, prepare
from harness.request import RunRequest, properties_of
from protocol.errors import UsageError
from protocol.modes import DB_STORAGE, DEFAULT_STORAGE, MODES, STORAGE

SCENARIO, NAMED = "bp46/truncation", "bp46/disk-full"


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "checks", lambda _: [])
    monkeypatch.setattr(preparing, "backend", lambda _: SimpleNamespace(prepare=lambda *_: None))
    monkeypatch.setattr("cluster.releases.artifacts.class_path", lambda _: None)


def prepared(folder: Path, text: str, *modes: str) -> Prepared:
    conf = folder / "bk_server.conf"
    conf.write_text(text)
    return prepare(RunRequest(SCENARIO, modes=modes, bookie_conf=conf))


def shown(ready: Prepared) -> str:
    return "\n".join(text for text, _ in introduction(ready, Path("folder")))


@pytest.mark.parametrize(
    ("text", "mode", "why"),
    [
        ("", "journal", "journalWriteData is not set, BookKeeper's default is true"),
        ("journalWriteData=true", "journal", "journalWriteData=true"),
        ("journalSyncData=no", "nosync", "journalSyncData=no"),
        ("journalWriteData=FALSE", "unprotected", "dataIntegrityChecking is not set"),
        ("journalWriteData=off\ndataIntegrityChecking=on", "protected", "dataIntegrityChecking=on"),
    ],
)
def test_a_file_runs_in_the_mode_that_it_has(tmp_path: Path, text: str, mode: str, why: str) -> None:
    ready = prepared(tmp_path, text)
    assert ready.modes == (mode,)
    assert f"mode {mode}, because of bk_server.conf: " in shown(ready)
    assert why in shown(ready)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "journalWriteData=true",
            "(journalWriteData=false; journalWriteData=true): bk_server.conf wins, but the run is compared",
        ),
        ("", "(journalWriteData=false; journalWriteData is not set, BookKeeper's default is true): the mode"),
    ],
)
def test_a_mode_that_contradicts_the_file_runs_and_says_so(tmp_path: Path, text: str, said: str) -> None:
    ready = prepared(tmp_path, text, "unprotected")
    assert ready.modes == ("unprotected",)
    assert f"mode unprotected contradicts bk_server.conf {said}" in shown(ready)


def test_a_mode_that_agrees_needs_no_word(tmp_path: Path) -> None:
    ready = prepared(tmp_path, "journalWriteData=false", "unprotected")
    assert "contradicts" not in shown(ready)


def test_without_a_file_every_mode_of_the_plan_runs() -> None:
    assert prepare(RunRequest(SCENARIO)).modes == ("unprotected", "protected", "journal")


def test_no_secret_of_a_file_is_kept(tmp_path: Path) -> None:
    conf = tmp_path / "bk_server.conf"
    conf.write_text(
        "httpServerKeyStorePassword=hunter2secret\nmySecretKey=hunter2\nauthTOKEN: hunter2\na=b\nxPassword="
    )
    settings = properties_of(conf)
    assert "hunter2" not in "".join(settings.values())
    assert (settings["a"], settings["xPassword"]) == ("b", "")


def test_a_file_without_a_storage_has_bookkeepers_default_and_not_the_modes(tmp_path: Path) -> None:
    silent = prepared(tmp_path, "flushInterval=1000")
    assert bookie_settings(silent.request, silent.plan)["ledgerStorageClass"] == DEFAULT_STORAGE
    assert "storage SortedLedgerStorage, BookKeeper's default: bk_server.conf has no" in shown(silent)
    planned = silent.plan.cluster.model_copy(update={"bookie_conf": {"ledgerStorageClass": "x"}})
    with_storage = silent.plan.model_copy(update={"cluster": planned})
    assert bookie_settings(silent.request, with_storage) == {"flushInterval": "1000"}
    named = prepared(tmp_path, f"ledgerStorageClass={DB_STORAGE}")
    assert bookie_settings(named.request, named.plan) == {"ledgerStorageClass": DB_STORAGE}
    assert "BookKeeper's default:" not in shown(named)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("journalWriteData=flase", "journalWriteData=flase is neither true"),
        ("ledgerStorageClass=DbLedgerStorage", "ledgerStorageClass=DbLedgerStorage is no class"),
        ("gcWaitTime=7200000", "gcWaitTime=7200000, minorCompactionInterval"),
    ],
)
def test_a_value_that_no_bookie_starts_with_is_refused_with_its_file(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(UsageError, match=r"bk_server\.conf: ") as refused:
        prepared(tmp_path, text)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("useV2WireProtocol=yess", "useV2WireProtocol=yess is neither true nor false"),
        ("addEntryTimeoutSec=5s", "addEntryTimeoutSec=5s is no whole number"),
        ("zkTimeout=abc", "zkTimeout=abc is no whole number"),
        ("bookieQuarantineRatio=10%", "bookieQuarantineRatio=10% is no number"),
        ("ensemblePlacementPolicy=Policy", "ensemblePlacementPolicy=Policy is no class"),
    ],
)
def test_a_value_that_no_client_accepts_is_refused_with_its_file(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(UsageError, match=r"client\.conf: ") as refused:
        with_client(tmp_path, SCENARIO, text)
    assert said in str(refused.value)


def test_a_key_that_a_client_does_not_read_is_not_judged(tmp_path: Path) -> None:
    assert with_client(tmp_path, SCENARIO, "ledgerStorageClass=Db\njournalWriteData=2\nuseV2WireProtocol=")


def test_the_run_prints_what_it_does_with_each_setting_of_the_files(tmp_path: Path) -> None:
    conf = tmp_path / "bk_server.conf"
    conf.write_text("journalWriteData=false\ngcWaitTime=9\nbookiePort=1\nzkServers=a:2181")
    request = RunRequest(SCENARIO, bookie_conf=conf)
    user = bookie_settings(request, prepare(request).plan)
    assert STORAGE in user  # BookKeeper's default, which the introduction names and no file has
    spec = RunSpec(RunFolder(tmp_path), MODES["unprotected"], user_bookie_conf=user)
    assert [text for text, _ in settings_lines(spec, request)] == [
        "your bk_server.conf changes: gcWaitTime=9",
        "your bookie setting bookiePort=1 is replaced by 3181",
        "your bookie setting zkServers=a:2181 is left out",
    ]


POLICY = "ensemblePlacementPolicy=org.example.Policy"


def with_client(folder: Path, scenario: str, text: str) -> Prepared:
    conf = folder / "client.conf"
    conf.write_text(text)
    return prepare(RunRequest(scenario, client_conf=conf))


def test_a_placement_policy_is_refused_where_the_plan_names_the_bookies_of_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"names the bookies of before, but .*client\.conf has an"
    ) as refused:
        with_client(tmp_path, NAMED, POLICY)
    assert refused.value.remedy.startswith("leave ensemblePlacementPolicy out of ")
    assert with_client(tmp_path, NAMED, "readTimeout=3")
    assert with_client(tmp_path, SCENARIO, POLICY)
