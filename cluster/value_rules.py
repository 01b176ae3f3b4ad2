"""Values that a bookie refuses at its start, although their types are right.

Source, at the tags ``release-4.14.0`` to ``release-4.18.0``: ``ServerConfiguration#validate`` with the
validator of ``logSizeLimit``, ``validateThreshold`` of ``DiskChecker`` and of ``LedgerDirsMonitor``, and the
constructor of ``GarbageCollectorThread``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from cluster.releases.versions import among
from protocol.modes import flag

_EVERY = "from 4.14.0 on"
_UNVALIDATED = "4.14.0 to 4.14.5 and 4.15.0"
_DEFAULTS: Mapping[str, float] = {
    "bookiePort": 3181,
    "diskUsageLwmThreshold": 0,  # as diskUsageThreshold, which is never refused
    "diskUsageThreshold": 0.95,
    "diskUsageWarnThreshold": 0.90,
    "entryLocationCompactionInterval": -1,
    "fileInfoFormatVersionToWrite": 1,
    "gcWaitTime": 600_000,
    "journalAlignmentSize": 512,
    "journalFormatVersionToWrite": 6,
    "journalPreAllocSizeMB": 16,
    "logSizeLimit": 1 << 30,
    "majorCompactionInterval": 86400,
    "majorCompactionThreshold": 0.8,
    "minorCompactionInterval": 3600,
    "minorCompactionThreshold": 0.2,
    "skipListArenaChunkSize": 4 << 20,
    "skipListArenaMaxAllocSize": 128 << 10,
}


class Rule(NamedTuple):
    """``refused`` gets the values of ``keys`` in their order; a setting that is on or off is 1 or 0."""

    keys: str
    refused: Callable[..., bool]
    must: str
    releases: str = _EVERY


def _compaction(size: str) -> tuple[Rule, ...]:
    interval, threshold = f"{size}CompactionInterval", f"{size}CompactionThreshold"
    must = f"{interval} (in s) must be at least gcWaitTime (in ms)"
    keys = f"{interval} gcWaitTime"
    return (
        Rule(keys, lambda s, ms: 0 < s * 1000 < ms, f"{must}, or 0", "from 4.16.0 on"),
        Rule(keys, lambda s, ms: s * 1000 < ms, must, "4.14.6 to 4.14.8 and 4.15.1 to 4.15.5"),
        Rule(
            f"{keys} {threshold}",
            lambda s, ms, fill: fill > 0 and 0 < s * 1000 <= ms,
            f"{interval} (in s) must be more than gcWaitTime (in ms), or 0",
            _UNVALIDATED,
        ),
        Rule(f"{threshold} {interval}", lambda fill, s: s > 0 and fill > 1, f"{threshold} must be at most 1"),
    )


RULES = (
    Rule("logSizeLimit", lambda size: not 0 <= size <= 1 << 30, "logSizeLimit must be 0 to 1073741824"),
    Rule(
        "skipListArenaChunkSize skipListArenaMaxAllocSize",
        lambda chunk, most: chunk < most,
        "skipListArenaChunkSize must be at least skipListArenaMaxAllocSize",
    ),
    Rule(
        "journalAlignmentSize",
        lambda size: size < 512 or size % 512 != 0,
        "journalAlignmentSize must be a multiple of 512",
    ),
    Rule(
        "journalAlignmentSize journalPreAllocSizeMB",
        lambda size, allocated: size > allocated * (1 << 20),
        "journalPreAllocSizeMB must be at least journalAlignmentSize (in bytes)",
    ),
    Rule(
        "bookiePort allowEphemeralPorts",
        lambda port, allowed: port == 0 and not allowed,
        "bookiePort=0 needs allowEphemeralPorts=true",
    ),
    Rule(
        "entryLogPerLedgerEnabled useTransactionalCompaction",
        lambda each, transactional: each and transactional,
        "only one of the two can be true",
    ),
    Rule(
        "journalFormatVersionToWrite fileInfoFormatVersionToWrite",
        lambda journal, file: (journal >= 6) != (file >= 1),
        "journalFormatVersionToWrite of 6 or more and fileInfoFormatVersionToWrite of 1 or more go together",
    ),
    *_compaction("minor"),
    *_compaction("major"),
    Rule(
        "minorCompactionInterval majorCompactionInterval minorCompactionThreshold majorCompactionThreshold",
        lambda minor, major, low, high: min(minor, major, low, high) > 0 and (minor >= major or low >= high),
        "major compaction needs the longer interval and the higher threshold",
    ),
    Rule(
        "entryLocationCompactionInterval gcWaitTime",
        lambda s, ms: 0 < s * 1000 < ms,
        "entryLocationCompactionInterval (in s) must be at least gcWaitTime (in ms), or 0",
        "4.16.7 and from 4.17.2 on",
    ),
    Rule(
        "diskUsageThreshold",
        lambda full: not 0 < full < 1,
        "diskUsageThreshold must be above 0 and below 1",
    ),
    Rule(
        "diskUsageWarnThreshold diskUsageThreshold",
        lambda warn, full: warn - full > 1e-6,
        "diskUsageWarnThreshold must be at most diskUsageThreshold",
    ),
    Rule(
        "diskUsageLwmThreshold diskUsageThreshold",
        lambda low, full: low - full > 1e-6,
        "diskUsageLwmThreshold must be at most diskUsageThreshold",
        "from 4.15.1 on",
    ),
)


def refusals(conf: Mapping[str, str], version: str) -> Iterator[str]:
    """``bookiePort=0, allowEphemeralPorts is not set (false): ...``, for each rule that ``conf`` breaks."""
    for rule in RULES:
        keys = rule.keys.split()
        if conf.keys().isdisjoint(keys) or not among(version, rule.releases):
            continue
        try:
            refused = rule.refused(*(_value(conf, key) for key in keys))
        except ValueError:  # a wrong type, which is said in its own line
            continue
        if refused:
            ordered = sorted(keys, key=lambda key: key not in conf)
            yield f"{', '.join(_said(conf, key) for key in ordered)}: {rule.must}"


def _value(conf: Mapping[str, str], key: str) -> float:
    if key not in _DEFAULTS:
        return flag(conf, key, default=False)
    word = conf.get(key, "").partition(",")[0].strip().lower()
    if not word:
        return _DEFAULTS[key]
    return int(word, 0) if word.startswith(("0x", "0b")) else float(word.rstrip("fd"))


def _said(conf: Mapping[str, str], key: str) -> str:
    if key in conf:
        return f"{key}={conf[key]}"
    default = _DEFAULTS.get(key, "false")
    return f"{key} is not set ({default})"
