"""BP-46's steps at boot in bookies' logs: unclean shutdown, cookies, limbo, full check, repair.

Reads lines of our log pattern, which begin with ``System.nanoTime()`` (on Linux the run's own
clock) and the wall time in milliseconds; BookKeeper 4.18 leaves the former 0. Releases before 4.15 do not
support our pattern and date by the day in UTC: such lines are read for autorecovery only. The tokens are
defined in BookKeeper's ``datainteg/Events.java``; releases before 4.18 write them as
``Event: TOKEN, key: value``, 4.18 as structured attributes ``{event=TOKEN, ...}``. Other steps have no
token and are recognised by their messages. An exception's lines have no time and get that of the line before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from protocol.addresses import is_autorecovery

LOG_READ = "log_read"
"""The last event of a log that could be read: its ``lines``, and how many of them were ``undated``."""
KEY_REFUSED = "key_refused"
"""A bookie stores another master key for a ledger than a request carried; once for each ledger."""
_WORDS: tuple[tuple[str, bytes], ...] = (
    ("unclean_shutdown", b"Unclean shutdown detected"),
    ("dirty_found", b"Dirty files exist on boot-up"),
    ("dirty_created", b"Created dirty file in"),
    ("dirty_kept", b"irty file already exists in"),
    ("flush_failed", b"Exception flushing ledgers"),
    ("cache_full", b"Write cache is full, triggering flush"),
    ("entry_log_compacted", b" after compaction"),
    ("compaction_flushed", b"Flushed compaction log file"),
    ("compaction_recovered", b"entry locations from compacted log"),
    ("entry_log_deleted", b"Deleting entryLogId"),
    ("journal_replay", b"- Replaying journal "),
    ("journal_replayed", b"Finished replaying journal"),
    ("journal_failed", b"Exception while replaying journals"),
    (KEY_REFUSED, b"masterKey in db can only be set once"),
    ("journal_read", b"Finished reading journal, starting bookie"),
    ("cookie_new", b"New environment found. Stamping cookies"),
    ("cookie_mismatch", b", running check"),
    ("cookie_stamping", b"Stamping cookie to ZK"),
    ("cookie_stamped", b"Stamping cookie to directory"),
    ("component_started", b"Started component bookie-server"),
    ("component_started", b"Started component {component=bookie-server}"),
)
"""Event of the table ``servers`` and the words of its line; the first that fit count."""
_REPAIR_WORDS: tuple[tuple[str, bytes], ...] = (
    ("component_started", b"Started component autorecovery"),
    ("component_started", b"Started component {component=autorecovery"),
    ("auditor_started", b"I'm starting as Auditor Bookie"),
    ("auditor_ended", b"- Shutting down auditor"),
    ("audit_started", b"Starting auditBookies"),
    ("audit_ended", b"Completed auditBookies"),
    ("audit_delayed", b"Delaying bookie audit"),
    ("audit_skipped", b"Audit already scheduled"),
    ("audit_skipped", b"skipping audit."),
    ("bookies_lost", b"Following are the failed bookies"),
    ("ledgers_check_started", b"Starting checkAllLedgers"),
    ("ledgers_check_ended", b"Completed checkAllLedgers"),
    ("replicas_check_started", b"Starting ReplicasCheck"),
    ("replicas_check_ended", b"Completed ReplicasCheck"),
    ("placement_check_started", b"Starting PlacementPolicyCheck"),
    ("placement_check_ended", b"Completed placementPolicyCheck"),
    ("ledger_replicated", b"Ledger replicated successfully"),
    ("replication_failed", b"failed while replicating fragments"),
    ("session_lost", b"to the Metadata server has expired"),
    ("session_lost", b"Lost ZK connection, shutting down"),
    ("worker_died", b"Uncaught exception in thread ReplicationWorker"),
    ("worker_died", b"Uncaught exception in thread {thread=ReplicationWorker"),
)
"""The same in logs of autorecovery, from the sources of 4.14.7 to 4.18.0 (``replication/A*.java``,
``ReplicationWorker.java``, ``BookieThread.java``), where they begin alike. A finished audit has marked every
under-replicated ledger that it found: the auditor waits for ZooKeeper before it logs the end.
"""
COUNTS: dict[bytes, str] = {
    b"NoReplicaOfAnEntry": "no_copy",
    b"LessThanAQReplicasOfAnEntry": "below_ack_quorum",
    b"LessThanWQReplicasOfAnEntry": "below_write_quorum",
}
"""What a check of replicas counted: the ends of its names in the line, and those in the event's detail."""
_TOKENS = (
    *(b"PREBOOT_START", b"PREBOOT_END", b"PREBOOT_ERROR", b"MARK_LIMBO", b"LIMBO_OR_FENCE_ERROR"),
    *(b"ENSURE_LEDGER_ERROR", b"INVALID_METADATA", b"USE_CACHED_METADATA", b"REFRESH_METADATA"),
    *(b"FULL_CHECK_INIT", b"FULL_CHECK_START", b"FULL_CHECK_END", b"FULL_CHECK_COMPLETE"),
    *(b"FULL_CHECK_ERROR", b"RECOVER_LIMBO_LEDGER", b"RECOVER_LIMBO_LEDGER_MISSING"),
    *(b"RECOVER_LIMBO_LEDGER_ERROR", b"RECOVER_LIMBO_LEDGER_CLOSE_ERROR", b"CLEAR_LIMBO_ERROR"),
    *(b"LEDGER_CHECK_AND_COPY_START", b"LEDGER_CHECK_AND_COPY_END", b"CLEAR_INTEGCHECK_FLAG"),
)
"""BP-46's events in the bookies' logs, as ``Events.java`` of 4.15.0 to 4.18.0 has them."""
_COOKIE_REFUSED = "cookie_refused"
BOOKIE_EVENTS = (*dict(_WORDS), _COOKIE_REFUSED, *(token.decode().lower() for token in _TOKENS))
"""The events of a bookie's log, but for ``LOG_READ``."""
_TOKEN = re.compile(rb"\b(" + b"|".join(_TOKENS) + rb")\b")
_REFUSAL = re.compile(rb"BookieException\$((?:Invalid|Unknown)[A-Za-z]*|CookieNotFound[A-Za-z]*)")
_TIMES = re.compile(rb"(\d{1,19}) (\d{13}) ")
_OLD_TIMES = re.compile(rb"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3}) - ")
_ATTRIBUTE = re.compile(
    rb"\b(ledger(?:Id| id is)?|[Rr]eason|processed|ledgerCount|ok|errors?|missing|ledgersToRetry|entries"
    rb"|bytes|elapsedMs|journalId)[=:] ?([^\s,}]+)"
)
_COUNT = re.compile(rb"\bnumLedgersFoundHaving(" + b"|".join(COUNTS) + rb")\b[=:]? ?(\d+)")
_NAMES: Mapping[str, str] = {"Reason": "reason", "ledger": "ledgerId", "ledger id is": "ledgerId"}


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One relevant line, or transaction of ZooKeeper's: the server, its boot (0: none), the time, the event.

    ``at_ns`` is monotonic, 0 where the line has only ``wall_ms``; ``detail`` has its attributes.
    """

    server: str
    boot: int
    at_ns: int
    wall_ms: int
    event: str
    detail: Mapping[str, Any] = field(default_factory=dict)


def log_events(server: str, boot: int, log: Path) -> Iterator[LogEvent]:
    """The events in the log of one boot, in its order, then that it was read (``LOG_READ``).

    A log without a single dated line gives nothing. The first exception that refuses a cookie is
    ``cookie_refused``; other lines without times are skipped.
    """
    whole = GrowingLog(server, boot, log)
    yield from whole.more(ended=True)
    if any(whole.dated):
        detail = {"lines": whole.count, "undated": whole.undated}
        yield LogEvent(server, boot, *whole.dated, LOG_READ, detail)


class GrowingLog:
    """The log of a boot, read as it grows; ``dated`` is the time of the last line with a time.

    It yields the events of ``log_events``, except ``LOG_READ``.
    """

    def __init__(self, server: str, boot: int, log: Path) -> None:
        self._server, self._boot, self._log = server, boot, log
        self._read_bytes = 0
        self._repairs = is_autorecovery(server)
        self._words = _REPAIR_WORDS if self._repairs else _WORDS
        self._refused = False
        self._keys: set[int | str] = set()
        self.dated, self.count, self.undated = (0, 0), 0, 0

    def more(self, *, ended: bool = False) -> Iterator[LogEvent]:
        """The events of the lines since the last call; none before the log exists.

        A last line without an end is unfinished until the boot has ``ended``.
        """
        if not self._log.exists():
            return
        with self._log.open("rb") as text:
            text.seek(self._read_bytes)
            for line in text:
                if not (ended or line.endswith(b"\n")):
                    return
                self._read_bytes += len(line)
                yield from self._events(line)

    def _events(self, line: bytes) -> Iterator[LogEvent]:
        self.count += 1
        times = _times(line, old=self._repairs)
        if times:
            self.dated = times
            event = _event(line, self._words)
            if event:
                detail = _attributes(line)
                if event != KEY_REFUSED or self._of_new_ledger(detail):
                    yield LogEvent(self._server, self._boot, *times, event, detail)
        self.undated += not times
        refusal = None if self._refused else _REFUSAL.search(line)
        if refusal and any(self.dated):
            self._refused = True
            detail = {"reason": refusal[1].decode()}
            yield LogEvent(self._server, self._boot, *self.dated, _COOKIE_REFUSED, detail)

    def _of_new_ledger(self, detail: Mapping[str, int | str]) -> bool:
        ledger = detail.get("ledgerId", -1)
        new = ledger not in self._keys
        self._keys.add(ledger)
        return new


def _times(line: bytes, *, old: bool) -> tuple[int, int] | None:
    """Monotonic ns (0: not logged) and wall ms of a line, None for a line without a time."""
    times = _TIMES.match(line)
    if times:
        return int(times[1]), int(times[2])
    day = _OLD_TIMES.match(line) if old else None
    if day is None:
        return None
    second = datetime.fromisoformat(f"{day[1].decode()}+00:00")
    return 0, round(second.timestamp()) * 1000 + int(day[2])


def _event(line: bytes, words: tuple[tuple[str, bytes], ...]) -> str | None:
    token = _TOKEN.search(line)
    if token:
        return token[1].decode().lower()
    return next((event for event, phrase in words if phrase in line), None)


def _attributes(line: bytes) -> dict[str, int | str]:
    """The last of equal keys counts: keys of the metadata in a line come before the line's own."""
    found = ((key.decode(), value.decode(errors="replace")) for key, value in _ATTRIBUTE.findall(line))
    counts: dict[str, int | str] = {COUNTS[key]: int(value) for key, value in _COUNT.findall(line)}
    return counts | {
        _NAMES.get(key, key): int(value) if re.fullmatch(r"-?\d{1,19}", value) else value
        for key, value in found
    }
