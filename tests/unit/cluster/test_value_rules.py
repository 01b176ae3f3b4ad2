"""Each rule by which a bookie refuses values at its start, on both sides of its limit."""

import pytest

from cluster.value_rules import RULES, refusals

GC = {"gcWaitTime": "7200000"}
FORMATS = "journalFormatVersionToWrite of 6 or more"


def refused(conf: dict[str, str], version: str = "4.18.0") -> list[str]:
    return list(refusals(conf, version))


@pytest.mark.parametrize(
    ("bad", "good", "must"),
    [
        ("logSizeLimit=1073741825", "logSizeLimit=0x40000000", "logSizeLimit must be 0 to"),
        ("skipListArenaChunkSize=131071", "skipListArenaChunkSize=131072", "skipListArenaChunkSize must"),
        ("skipListArenaMaxAllocSize=4194305", "skipListArenaMaxAllocSize=4194304", "skipListArenaChunkSize"),
        ("journalAlignmentSize=100", "journalAlignmentSize=4096", "a multiple of 512"),
        ("journalAlignmentSize=0", "journalAlignmentSize=512", "a multiple of 512"),
        ("journalPreAllocSizeMB=0", "journalPreAllocSizeMB=1", "journalPreAllocSizeMB must"),
        ("bookiePort=0", "bookiePort=0 allowEphemeralPorts=true", "bookiePort=0 needs"),
        (
            "entryLogPerLedgerEnabled=true useTransactionalCompaction=yes",
            "entryLogPerLedgerEnabled=true useTransactionalCompaction=no",
            "only one of the two",
        ),
        ("journalFormatVersionToWrite=5", "journalFormatVersionToWrite=7", FORMATS),
        (
            "fileInfoFormatVersionToWrite=0",
            "fileInfoFormatVersionToWrite=0 journalFormatVersionToWrite=5",
            FORMATS,
        ),
        ("gcWaitTime=3600001", "gcWaitTime=3600000", "minorCompactionInterval (in s)"),
        ("minorCompactionInterval=599", "minorCompactionInterval=0", "minorCompactionInterval (in s)"),
        (
            "majorCompactionInterval=599 minorCompactionInterval=0",
            "majorCompactionInterval=600 minorCompactionInterval=0",
            "majorCompactionInterval (in s)",
        ),
        (
            "minorCompactionThreshold=1.1 majorCompactionThreshold=0",
            "minorCompactionThreshold=.7",
            "at most 1",
        ),
        (
            "majorCompactionThreshold=1.01",
            "majorCompactionThreshold=1.01 majorCompactionInterval=0",
            "at most 1",
        ),
        ("minorCompactionThreshold=0.8", "minorCompactionThreshold=0.79", "major compaction needs"),
        ("minorCompactionInterval=86400", "minorCompactionInterval=86399", "major compaction needs"),
        ("entryLocationCompactionInterval=599", "entryLocationCompactionInterval=600", "entryLocation"),
        ("diskUsageThreshold=1.5", "diskUsageThreshold=0.999f", "below 1"),
        ("diskUsageThreshold=0.89", "diskUsageThreshold=0.9", "diskUsageWarnThreshold must"),
        ("diskUsageWarnThreshold=0.96", "diskUsageWarnThreshold=0.95", "diskUsageWarnThreshold must"),
        ("diskUsageLwmThreshold=0.96", "diskUsageLwmThreshold=0.95", "diskUsageLwmThreshold must"),
    ],
)
def test_a_rule_refuses_a_value_on_one_side_of_its_limit(bad: str, good: str, must: str) -> None:
    confs = [dict(one.split("=") for one in side.split()) for side in (bad, good)]
    assert [must in one for one in refused(confs[0])] == [True]
    assert refused(confs[1]) == []


@pytest.mark.parametrize(
    ("conf", "version", "rules"),
    [
        (GC, "4.14.5", 1),
        (GC, "4.14.7", 1),
        (GC, "4.15.0", 1),
        ({"minorCompactionInterval": "600"}, "4.15.0", 1),
        ({"minorCompactionInterval": "600"}, "4.15.1", 0),
        ({"minorCompactionInterval": "0"}, "4.14.5", 0),
        ({"minorCompactionInterval": "0"}, "4.15.4", 1),
        ({"minorCompactionInterval": "0"}, "4.16.0", 0),
        ({"minorCompactionThreshold": "0", "majorCompactionThreshold": "0"}, "4.15.4", 0),
        ({"entryLocationCompactionInterval": "599"}, "4.17.1", 0),
        ({"entryLocationCompactionInterval": "599"}, "4.16.7", 1),
        ({"diskUsageLwmThreshold": "0.96"}, "4.15.0", 0),
    ],
)
def test_a_release_has_its_own_rules(conf: dict[str, str], version: str, rules: int) -> None:
    assert len(refused(conf, version)) == rules


def test_the_values_are_named_with_those_that_are_defaults() -> None:
    assert refused(GC) == [
        "gcWaitTime=7200000, minorCompactionInterval is not set (3600): "
        "minorCompactionInterval (in s) must be at least gcWaitTime (in ms), or 0"
    ]


def test_values_of_a_wrong_type_and_defaults_break_no_rule() -> None:
    conf = {key: "abc" for rule in RULES for key in rule.keys.split()}
    assert refused(conf) == refused({}) == refused(dict.fromkeys(conf, "")) == []
