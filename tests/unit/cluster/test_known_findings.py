"""A configuration has the findings of its parts of the index, and those of its settings."""

from __future__ import annotations

import re

import pytest

from cluster.known_findings import (
    CLIENT_PARTS,
    GUIDE,
    INDEX,
    OFF_BY_DEFAULT,
    PARTS,
    SETTINGS,
    excluded_by,
    of_client_parts,
    of_client_settings,
    of_parts,
    of_settings,
    undecided,
)
from cluster.releases.versions import among
from protocol.errors import UsageError
from protocol.modes import DB_STORAGE

DB = {"ledgerStorageClass": DB_STORAGE}
PROTECTED = DB | {"journalWriteData": "false", "dataIntegrityChecking": "true"}
DIRECT_IO = {"dbStorage_directIOEntryLogger": "true"}
OF_DIRECT_IO = "direct-io-large-entry direct-io-many-ledgers direct-io-readers direct-io-size-limit"
V2 = {"useV2WireProtocol": "true"}
CACHE = {"gcEntryLogMetadataCacheEnabled": "true"}


def parts(conf: dict[str, str], version: str = "4.18.0") -> str:
    return "\n".join(of_parts(conf, version))


def pages(conf: dict[str, str], version: str = "4.17.3") -> list[str]:
    return re.findall(r"findings/([\w-]+)\.md", "\n".join(said for said, _ in of_settings(conf, version)))


@pytest.mark.parametrize(
    ("conf", "there", "absent"),
    [
        ({}, ["torn-entry-log", "fence-default-storage", "journal-rolled"], ["failed-flush-forgotten"]),
        (PROTECTED, ["preboot-not-awaited", "never-boots"], ["journal-rolled"]),
        (DB, ["failed-flush-forgotten", "length-damaged"], ["torn-entry-log", "never-boots"]),
    ],
)
def test_the_findings_of_the_journal_and_of_the_storage(
    conf: dict[str, str], there: list[str], absent: list[str]
) -> None:
    text = re.sub("workaround: .*", "", parts(conf))
    assert [page for page in there if f"findings/{page}.md" not in text] == []
    assert [page for page in absent if page in text] == []


def test_a_release_before_a_finding_does_not_have_it() -> None:
    assert "journal-rolled" not in parts({}, "4.15.4")
    assert pages({"useTransactionalCompaction": "true"}, "4.15.4") == []


@pytest.mark.parametrize(
    ("part", "number", "version"),
    [
        ("Autorecovery and auditor", 15, "4.16.7"),
        ("Autorecovery and auditor", 14, "4.17.1"),
        ("Autorecovery and auditor", 15, "4.17.2"),
        ("Autorecovery and auditor", 11, "4.14.5"),
        ("BP-46's protection", 15, "4.15.5"),
        ("BP-46's protection", 15, "4.16.0"),
        ("BP-46's protection", 16, "4.16.3"),
    ],
)
def test_a_release_between_affected_ones_has_no_finding_of_them(part: str, number: int, version: str) -> None:
    assert f"{part}: {number} known findings" in parts(PROTECTED, version)


@pytest.mark.parametrize("ranges", ["4.15.5, from 4.16.3 on", "from 4.15 on", "4.15.0  and 4.16.0", ""])
def test_releases_that_cannot_be_read_are_refused(ranges: str) -> None:
    with pytest.raises((ValueError, UsageError)):
        among("4.18.0", ranges)


@pytest.mark.parametrize(
    ("conf", "named"),
    [
        ({"useTransactionalCompaction": "true"}, "compaction-interrupted"),
        (CACHE | {"gcEntryLogMetadataCachePath": "/x"}, "old-log-metadata"),
        (CACHE, ""),
        ({"entryLogPerLedgerEnabled": "true"}, "flush-deadlock"),
        (DB | DIRECT_IO, OF_DIRECT_IO),
        (DIRECT_IO, ""),
        (
            DB | DIRECT_IO | {"useTransactionalCompaction": "true"},
            f"compaction-interrupted direct-io-compaction {OF_DIRECT_IO}",
        ),
        ({"enforceMinNumFaultDomainsForWrite": "true"}, "rack-lost-replaced"),
        ({"ledgerMetadataVersion": "1"}, "metadata-format-one"),
        ({"ledgerMetadataVersion": "2"}, ""),
        (DB | {"allowStorageExpansion": "true"}, "journal-replaced ledger-directories"),
        ({"allowStorageExpansion": "true"}, "journal-replaced"),
        ({"maxReadsInProgressLimit": "1000"}, "read-limit"),
        ({"maxReadsInProgressLimit": "0"}, ""),
        ({"maxReadsInProgressLimit": "9", "readWorkerThreadsThrottlingEnabled": "false"}, ""),
        ({"allowStorageExpansion": "false"}, ""),
        ({"fileInfoMaxIdleTime": "60"}, "evicted-index"),
        (DB | {"fileInfoMaxIdleTime": "60"}, ""),
        ({"entryLogPerLedgerEnabled": "true", "numOfMemtableFlushThreads": "1"}, ""),
    ],
)
def test_the_findings_of_a_setting(conf: dict[str, str], named: str) -> None:
    assert sorted(pages(conf)) == named.split()


def test_the_limit_of_reads_is_the_default_of_one_release() -> None:
    assert pages({}, "4.18.0") == ["read-limit"]
    assert pages({"maxReadsInProgressLimit": "0"}, "4.18.0") == []
    assert pages({}, "4.17.3") == []


@pytest.mark.parametrize(
    ("client", "bookie", "version", "named"),
    [
        ({}, None, "4.18.0", ""),
        ({"useV2WireProtocol": "false"}, None, "4.18.0", ""),
        (V2, None, "4.18.0", "read-limit late-answer batch-read"),
        (V2, None, "4.16.4", "read-limit late-answer"),
        (V2, {}, "4.18.0", "read-limit late-answer batch-read"),
        (V2, {"maxReadsInProgressLimit": "0"}, "4.18.0", "late-answer batch-read"),
        (V2, {"readWorkerThreadsThrottlingEnabled": "false"}, "4.18.0", "late-answer batch-read"),
        (V2, {}, "4.17.3", "late-answer batch-read"),
        (V2, {"maxReadsInProgressLimit": "1000"}, "4.17.3", "read-limit late-answer batch-read"),
    ],
)
def test_the_findings_of_a_client(
    client: dict[str, str], bookie: dict[str, str] | None, version: str, named: str
) -> None:
    lines = list(of_client_parts(client, version, bookie))
    absent = [line for line in lines if "does not apply" in line]
    assert [page for page in named.split() if page not in "".join(lines)] == []
    assert bool(lines) == bool(named)
    assert absent == (["  read-limit does not apply with bookies that limit no reads"] if absent else [])
    assert bool(absent) == ("read-limit" not in named and bool(named))


def test_the_settings_of_a_client_have_the_findings_of_the_same_settings_of_a_bookie() -> None:
    conf = {"enforceMinNumFaultDomainsForWrite": "true", "ledgerMetadataVersion": "1"}
    both = {*of_client_settings(conf, "4.17.3")}
    assert len(both) == 2
    assert both == {*of_settings(conf, "4.17.3")}
    assert of_client_settings({}, "4.17.3") == []


def test_each_part_is_decided_by_bookies_by_clients_or_by_no_file() -> None:
    def parts(*, bookie: bool, client: bool) -> set[str]:
        return {*undecided("4.18.0", bookie=bookie, client=client).partition(": ")[2].split(", ")}

    assert parts(bookie=True, client=True) == {"Ledgers with DEFERRED_SYNC", "Maintenance"}
    assert parts(bookie=True, client=False) - parts(bookie=True, client=True) == {"Clients with V2"}
    assert parts(bookie=False, client=True) == parts(bookie=False, client=False) - {"Clients with V2"}
    assert "The journal" in parts(bookie=False, client=True)


@pytest.mark.parametrize(
    ("conf", "part", "numbers", "page"),
    [
        ({"verifyMetadataOnGC": "True"}, "Any configuration", (24, 6), "metadata-behind"),
        (
            {"minorCompactionInterval": "0", "majorCompactionInterval": "0"},
            "The default storage",
            (9, 4),
            "torn-entry-log",
        ),
    ],
)
def test_a_setting_that_protects_excludes_its_finding(
    conf: dict[str, str], part: str, numbers: tuple[int, int], page: str
) -> None:
    known, severe = numbers
    assert f"{part}: {known} known findings, {severe} of severity P1" in parts({})
    assert f"{part}: {known - 1} known findings, {severe - 1} of severity P1" in parts(conf)
    assert f"docs/findings/{page}.md" not in parts(conf)
    assert f"{page} does not apply with " in parts(conf)


def test_half_of_what_protects_excludes_nothing() -> None:
    assert excluded_by({"minorCompactionInterval": "0", "verifyMetadataOnGC": "false"}) == {}


def test_a_setting_that_closes_one_of_two_ways_excludes_nothing() -> None:
    assert excluded_by({"fileInfoMaxIdleTime": "0"}) == {}


def test_each_severe_finding_has_the_workaround_of_its_page() -> None:
    lines = parts({}).splitlines()
    after = {line: lines[at + 1] for at, line in enumerate(lines) if line.startswith("  P1")}
    assert all(next_line.startswith("    workaround: ") for next_line in after.values())
    (behind,) = (one for line, one in after.items() if "metadata-behind" in line)
    assert behind == "    workaround: verifyMetadataOnGC=true on all bookies"
    (shifted,) = (one for line, one in after.items() if "write-shifted" in line)
    assert shifted.endswith("but see the neighbour (docs/findings/failed-flush-forgotten.md)")
    (damaged,) = (one for line, one in after.items() if "length-damaged" in line)
    assert '"Short read for ledger entry from entryLog" and "Short read for entry size' in damaged
    assert [one for one in after.values() if "`" in one] == []
    ((_, remedy),) = of_settings({"useTransactionalCompaction": "true"}, "4.17.3")
    assert remedy == "workaround: useTransactionalCompaction=false, the default"


def test_each_value_of_a_bookie_that_protects_is_known_here() -> None:
    """A row of the guide's table with a value takes its findings away where the file has that value."""
    table = GUIDE.read_text(encoding="utf-8").split("## Settings that protect\n")[1].split("\n## ")[0]
    rows = [row for row in table.splitlines() if "| bookie |" in row and "=" in row.split("|")[1]]
    assert len(rows) > 5
    for row in rows:
        conf = dict(re.findall(r"`(\w+)=([^`]+)`", row.split("|")[1]))
        pages = set(re.findall(r"/([\w-]+)\.md\)", row.split("|")[-2]))
        assert excluded_by(conf).keys() == pages, row
        for name in pages:
            page = (INDEX.parent / f"{name}.md").read_text(encoding="utf-8")
            head = re.findall(r"^\| \*\*(?:Needs|Not affected|Cause)\*\* \| .*", page, re.M)
            assert [key for key in conf if key not in "".join(head)] == [], f"{name} needs more than {row}"


def test_the_index_has_every_part_and_page_that_is_named_here() -> None:
    index = INDEX.read_text(encoding="utf-8")
    assert [part for part in (*PARTS, *CLIENT_PARTS) if f"### {part}\n" not in index] == []
    assert [page for page in SETTINGS if f"]({page}.md) |" not in index] == []
    off = index.partition(f"### {OFF_BY_DEFAULT}\n")[2].partition("\n### ")[0]
    assert set(re.findall(r"\]\(([\w-]+)\.md\) \|", off)) <= SETTINGS.keys()
