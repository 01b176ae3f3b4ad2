"""A key that is ignored and a combination that does not protect are both said."""

import struct
import zipfile
from pathlib import Path

import pytest

from cluster import advice
from cluster.advice import client_warnings, configuration_warnings
from cluster.releases import artifacts
from cluster.releases.artifacts import ServerArtifacts
from cluster.value_types import mistyped
from protocol.errors import PrerequisiteError, UsageError
from protocol.modes import DB_STORAGE, DEFAULT_STORAGE, MODES

OLD_KEYS = ["journalWriteData", "journalSyncData", "ledgerStorageClass", "flushInterval"]
NEW_KEYS = [*OLD_KEYS, "dataIntegrityChecking", "dataIntegrityStampMissingCookies"]


def class_with(*, strings: list[str], names: list[str]) -> bytes:
    """A class file's head: ``strings`` as string constants, ``names`` as plain text, a long between."""
    pool, index = b"", 1
    for text in strings:
        data = text.encode()
        pool += struct.pack(">BHBH", 8, index + 1, 1, len(data)) + data
        index += 2
    pool += struct.pack(">Bq", 5, 7)
    index += 2
    for text in names:
        pool += struct.pack(">BH", 1, len(text)) + text.encode()
        index += 1
    return struct.pack(">IHHH", advice.MAGIC, 0, 61, index) + pool


@pytest.fixture(autouse=True)
def releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two releases that read a handful of keys; the getters' names are no keys of either."""

    def class_path(version: str) -> ServerArtifacts:
        jar = tmp_path / f"bookkeeper-server-{version}.jar"
        keys = NEW_KEYS if version >= "4.15" else OLD_KEYS
        with zipfile.ZipFile(jar, "w") as archive:
            archive.writestr("Conf.class", class_with(strings=keys, names=["dataIntegrityCheckingEnabled"]))
            archive.writestr("log4j2.xml", "no class")
        return ServerArtifacts(version, tmp_path, (jar, tmp_path / "absent-of-others.jar"), tmp_path / "lock")

    monkeypatch.setattr(artifacts, "class_path", class_path)


def protected(**more: str) -> dict[str, str]:
    return {
        "ledgerStorageClass": DB_STORAGE,
        "journalWriteData": "false",
        "dataIntegrityChecking": "true",
    } | more


def said(conf: dict[str, str], version: str = "4.18.0") -> str:
    return "\n".join(f"{said}; {remedy}" for said, remedy in configuration_warnings(conf, version))


def test_string_constants_are_told_from_names() -> None:
    assert advice.strings(class_with(strings=["aKey"], names=["aName"])) == {"aKey"}


def test_what_is_no_class_is_refused() -> None:
    with pytest.raises(ValueError, match="magic"):
        advice.strings(b"PK\3\4 and so on")


GETTER = {"dataIntegrityCheckingEnabled": "true"}
UNCHECKED = {"journalWriteData": "false", "ledgerStorageClass": DB_STORAGE, **GETTER}
WITHOUT_DB_STORAGE = {key: value for key, value in protected().items() if key != "ledgerStorageClass"}


@pytest.mark.parametrize(
    ("conf", "text"),
    [
        (
            GETTER,
            "dataIntegrityCheckingEnabled: BookKeeper 4.18.0 does not read this key, it is ignored; "
            "the key is dataIntegrityChecking",
        ),
        (UNCHECKED, "without dataIntegrityChecking=true does not protect"),
        ({"jurnalSyncData": "true"}, "did you mean journalSyncData?"),
        (WITHOUT_DB_STORAGE, "with SortedLedgerStorage does not protect"),
        (WITHOUT_DB_STORAGE, "exit code 2"),
        (protected(journalWriteData="true"), "checks nothing after a kill"),
        ({"journalSyncData": "false"}, "journalSyncData=false: a power failure"),
        ({"dataIntegrityStampMissingCookies": "true"}, "has no effect without"),
    ],
)
def test_what_is_ignored_or_does_not_protect_is_said(conf: dict[str, str], text: str) -> None:
    assert text in said(conf)


def test_of_a_client_ignored_keys_and_known_defects_are_said_and_no_combination_of_a_bookie() -> None:
    conf = {"journalWriteData": "false", "unread": "1", "ledgerMetadataVersion": "1"}
    assert [said.partition(":")[0] for said, _ in client_warnings(conf, "4.18.0")] == [
        "ledgerMetadataVersion",
        "unread",
        "ledgerMetadataVersion=1",
    ]


def test_keys_of_the_component_for_streams_are_not_called_ignored() -> None:
    keys = ["dlog.bkcEnsembleSize", "storage.range.store.dirs", "storageserver.grpc.port"]
    assert said(dict.fromkeys(keys, "1"), "4.17.3") == ""


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("journalWriteData", ["true", "OFF", "1"], ["flase", "2"]),
        ("flushInterval", ["10000", "0x10", "", "${other}"], ["abc", "10.5", "10s"]),
        ("diskUsageThreshold", ["0.95", "1", ".5"], ["95%", "x95"]),
        ("metadataServiceUri", ["anything", ",", ",a"], []),
    ],
)
def test_values_that_cannot_be_converted(key: str, good: list[str], bad: list[str]) -> None:
    assert [value for value in good if list(mistyped({key: value}))] == []
    assert [value for value in bad if not list(mistyped({key: value}))] == []
    assert all(f"{key}={value} is n" in one for value in bad for one in mistyped({key: value}))


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("DbLedgerStorage", DB_STORAGE),
        (DB_STORAGE[:-1], DB_STORAGE),
        ("org.apache.bookkeeper.bookie.DbLedgerStorage", DB_STORAGE),
        ("org.apache.bokkeeper.bookie.SortedLedgerStorage", DEFAULT_STORAGE),
        ("sorted", DEFAULT_STORAGE),
        ("interleavedLedgerStorage", "org.apache.bookkeeper.bookie.InterleavedLedgerStorage"),
    ],
)
def test_a_storage_that_no_bookie_can_load_has_the_nearest_that_exists(value: str, meant: str) -> None:
    (wrong,) = mistyped({"ledgerStorageClass": value})
    assert wrong == (
        f"ledgerStorageClass={value} is no class of BookKeeper: write ledgerStorageClass={meant}"
    )


def test_other_classes_need_their_package_and_unknown_ones_are_not_judged() -> None:
    (wrong,) = mistyped({"statsProviderClass": "PrometheusMetricsProvider"})
    assert "is no class: write its name with the package" in wrong
    known = {"ledgerStorageClass": DB_STORAGE, "statsProviderClass": "org.apache.bookkeeper.stats.X"}
    assert [*mistyped(known), *mistyped({"ledgerStorageClass": "com.acme.Storage"})] == []


def test_a_key_of_a_later_release_says_where_it_begins() -> None:
    text = said(protected(), "4.14.7")
    assert "it begins with 4.15.0" in text
    assert "does not protect on 4.14.7" in text


def test_a_release_before_a_defect_has_no_warning_of_it() -> None:
    assert "docs/findings" not in said({"useTransactionalCompaction": "true"}, "4.15.1")


def test_journal_alone_needs_no_word() -> None:
    assert said({"journalWriteData": "true", "flushInterval": "10000"}, "4.17.3") == ""


def test_protection_leaves_only_the_word_on_force() -> None:
    assert [said.partition(":")[0] for said, _ in configuration_warnings(protected(), "4.17.3")] == [
        "journalWriteData=false"
    ]


@pytest.mark.parametrize("mode", MODES)
def test_no_mode_of_ours_has_a_key_that_is_ignored(mode: str) -> None:
    assert "does not read" not in said(MODES[mode].bookie)


def test_without_jars_the_combinations_are_still_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(version: str) -> ServerArtifacts:
        raise PrerequisiteError("no network")

    monkeypatch.setattr(artifacts, "class_path", offline)
    text = said({"journalWriteData": "false"})
    assert "not compared with BookKeeper 4.18.0: no network" in text
    assert "does not protect" in text


def test_every_warning_says_what_to_do() -> None:
    confs = [
        UNCHECKED,
        WITHOUT_DB_STORAGE,
        protected(journalWriteData="true", journalSyncData="false", dataIntegrityStampMissingCookies="true"),
        {"dataIntegrityStampMissingCookies": "true", "useTransactionalCompaction": "true", "unread": "1"},
    ]
    advice = [
        one
        for conf in confs
        for version in ("4.14.7", "4.18.0")
        for one in configuration_warnings(conf, version)
    ]
    assert len({said.partition(" on 4.")[0] for said, _ in advice}) >= 12
    assert [said for said, remedy in advice if not remedy] == []


def test_a_version_that_cannot_be_run_is_refused() -> None:
    with pytest.raises(UsageError, match=r"4\.13\.0"):
        configuration_warnings({}, "4.13.0")
