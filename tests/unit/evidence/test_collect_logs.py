"""Events of a bookie's boot from logs and ZooKeeper's transactions, in the messages of several releases."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evidence.collect.clock import WallClock
from evidence.collect.logs import LOG_READ, GrowingLog, LogEvent, log_events
from evidence.collect.servers import collect_servers

MS = 1_000_000
CLOCK = WallClock.of({"wall_ns": 1_000 * MS, "monotonic_ns": 0}, {"wall_ns": 1_000 * MS, "monotonic_ns": 0})
STATE = "LedgerMetadata{formatVersion=3, state=OPEN, ensembles={0=[b1:3181]}, customMetadata={}}"

BOOTS = {
    "4.15": (
        "24 1795279280029 INFO  [main] UncleanShutdownDetectionImpl - Dirty files exist on boot-up. {}\n"
        "25 1795279280029 INFO  [main] Main - Unclean shutdown detected. The bookie did not end well. {}\n"
        "26 1795279280403 INFO  [main] Ch - Event: PREBOOT_START, RunId: f-2, Reason: UNCLEAN_SHUTDOWN {}\n"
        f"27 1795279280589 INFO  [m] C - Event: MARK_LIMBO, runId: f-2, metadata: {STATE}, ledger: 7 {{}}\n"
        "28 1795279280596 INFO  [main] Check - Event: PREBOOT_END, runId: f-2, processed: 1 {}\n"
        "29 1795279280630 INFO  [main] BookieImpl - Finished replaying journal in 3 ms. {}\n"
        "30 1795279280654 INFO  [main] Unclean - Dirty file already exists in ledger dir: /d {}\n"
        "31 1795279280923 INFO  [main] ComponentStarter - Started component bookie-server. {}\n"
        "32 1795279281862 INFO  [rx] Check - Event: LEDGER_CHECK_AND_COPY_END, runId: f, "
        f"metadata: {STATE}, ledger: 7, entries: 5, bytes: 50, errors: 0 {{}}\n"
        "33 1795279281870 INFO  [rx] Check - Event: FULL_CHECK_END, runId: f, ok: 1, error: 0, "
        "missing: 0, ledgersToRetry: 0 {}\n"
    ),
    "4.18": (
        "0 1795279280029 INFO  [main] Unclean - Dirty files exist on boot-up {dirtyFiles=/d/DIRTY}\n"
        "0 1795279280029 INFO  [main] Server - Unclean shutdown detected. The bookie did not end well {}\n"
        "0 1795279280403 INFO  [main] Check - Preboot start {event=PREBOOT_START, "
        "reason=UNCLEAN_SHUTDOWN, runId=f-2}\n"
        f"0 1795279280589 INFO  [main] Check - Marking {{event=MARK_LIMBO, ledgerId=7, metadata={STATE}}}\n"
        "0 1795279280596 INFO  [rx] Check - Preboot end {event=PREBOOT_END, processed=1, runId=f-2}\n"
        "0 1795279280630 INFO  [main] BookieImpl - Finished replaying journal {elapsedMs=3}\n"
        "0 1795279280654 INFO  [main] Unclean - Dirty file already exists in ledger dir {ledgerDir=/d}\n"
        "0 1795279280923 INFO  [main] ComponentStarter - Started component {component=bookie-server}\n"
        "0 1795279281862 INFO  [rx] Check - Ledger check and copy end {bytes=50, entries=5, errors=0, "
        f"event=LEDGER_CHECK_AND_COPY_END, ledgerId=7, metadata={STATE}, runId=f}}\n"
        "0 1795279281870 INFO  [rx] Check - Full check end {error=0, event=FULL_CHECK_END, "
        "ledgersToRetry=0, missing=0, ok=1, runId=f}\n"
    ),
}


def log_events_of(log: str, folder: Path) -> list[LogEvent]:
    path = folder / "boot-2.log"
    path.write_bytes(log.encode(errors="surrogateescape"))
    return list(log_events("b1", 2, path))


def test_a_flush_that_failed_is_told_once_however_long_its_trace(tmp_path: Path) -> None:
    log = (
        "0 1795292101505 ERROR [SyncThread-16-1] SyncThread - Exception flushing ledgers {}\n"
        "java.io.IOException: No space left on device\n"
        "\tat org.apache.bookkeeper.bookie.BufferedChannel.flush(BufferedChannel.java:201)\n"
    )
    failed, read = log_events_of(log, tmp_path)
    assert (failed.event, failed.wall_ms) == ("flush_failed", 1795292101505)
    assert read.detail == {"lines": 3, "undated": 2}


def test_a_flush_that_a_full_write_cache_began_is_told(tmp_path: Path) -> None:
    line = "0 1795700710881 INFO  [BookieWriteThreadPool-0-0] SingleDirectoryDbLedgerStorage - "
    full, _ = log_events_of(f"{line}Write cache is full, triggering flush {{}}\n", tmp_path)
    assert (full.event, full.wall_ms) == ("cache_full", 1795700710881)


def test_an_entry_log_that_was_compacted_is_named_in_the_words_of_each_release(tmp_path: Path) -> None:
    new = "0 1795292101505 INFO  [GC] EntryLogCompactor - Removing entry log after compaction {entryLogId=3}"
    old = "7 1795292101506 INFO  [GC] EntryLogCompactor - Removing entry log 3 after compaction"
    *compacted, _ = log_events_of(f"{new}\n{old}\n", tmp_path)
    assert [one.event for one in compacted] == ["entry_log_compacted"] * 2


def test_a_transactional_compaction_is_named_in_the_words_of_each_release(tmp_path: Path) -> None:
    new = (
        "0 1795710020778 INFO  [GC] E - Flushed compaction log file {logFile=a.log, logId=10}\n"
        "0 1795710031222 INFO  [GC] T - Recovered entry locations from compacted log {dstLogId=10, size=9}\n"
    )
    old = (
        "7 1795710020778 INFO  [GC] DefaultEntryLogger - Flushed compaction log file a.log with logId 10.\n"
        "7 1795710031222 INFO  [GC] T - Recovered 40000 entry locations from compacted log 10\n"
    )
    *compacted, _ = log_events_of(new + old, tmp_path)
    assert [one.event for one in compacted] == ["compaction_flushed", "compaction_recovered"] * 2


def test_an_entry_log_that_was_deleted_is_named_in_the_words_of_each_release(tmp_path: Path) -> None:
    new = "0 1795292101505 INFO  [GC] T - Deleting entryLogId as it has no active ledgers! {entryLogId=3}"
    old = "7 1795292101506 INFO  [GC] T - Deleting entryLogId 3 as it has no active ledgers!"
    *deleted, _ = log_events_of(f"{new}\n{old}\n", tmp_path)
    assert [one.event for one in deleted] == ["entry_log_deleted"] * 2


def test_why_autorecovery_ended_is_named_in_the_words_of_each_release(tmp_path: Path) -> None:
    log = (
        "0 1795279280029 ERROR [ReplicationWorker] BookieThread - Uncaught exception in thread "
        "{thread=ReplicationWorker}\n"
        "java.lang.IllegalArgumentException: inconsistent range\n"
        "0 1795279280030 ERROR [ReplicationWorker] BookieThread - Uncaught exception in thread "
        "ReplicationWorker\n"
        "0 1795279280031 ERROR [main-EventThread] AutoRecoveryMain - Client connection to the Metadata "
        "server has expired, so shutting down AutoRecoveryMain!\n"
        "0 1795279280032 ERROR [AuditorElector] AuditorElector - Lost ZK connection, shutting down\n"
    )
    path = tmp_path / "boot-1.log"
    path.write_text(log)
    names = [event.event for event in log_events("ar1", 1, path)]
    assert names == ["worker_died", "worker_died", "session_lost", "session_lost", LOG_READ]


def test_a_key_that_is_refused_is_told_once_for_each_ledger(tmp_path: Path) -> None:
    line = "0 1795423368722 WARN  [BookieHighPriorityThread-OrderedExecutor-0-0] LedgerMetadataIndex - "
    template = line + "Ledger masterKey in db can only be set once {{ledgerId={}}}\n"
    *refused, _ = log_events_of("".join(map(template.format, (0, 0, 3, 0))), tmp_path)
    assert [(one.event, one.detail) for one in refused] == [
        ("key_refused", {"ledgerId": 0}),
        ("key_refused", {"ledgerId": 3}),
    ]


@pytest.mark.parametrize("release", list(BOOTS))
def test_a_guarded_boot_is_told_alike_in_every_release(release: str, tmp_path: Path) -> None:
    events = log_events_of(BOOTS[release], tmp_path)
    assert [(event.event, dict(event.detail)) for event in events if event.event != "journal_replayed"] == [
        ("dirty_found", {}),
        ("unclean_shutdown", {}),
        ("preboot_start", {"reason": "UNCLEAN_SHUTDOWN"}),
        ("mark_limbo", {"ledgerId": 7}),
        ("preboot_end", {"processed": 1}),
        ("dirty_kept", {}),
        ("component_started", {}),
        ("ledger_check_and_copy_end", {"ledgerId": 7, "entries": 5, "bytes": 50, "errors": 0}),
        ("full_check_end", {"ok": 1, "error": 0, "missing": 0, "ledgersToRetry": 0}),
        ("log_read", {"lines": 10, "undated": 0}),
    ]
    assert sum(event.event == "journal_replayed" for event in events) == 1


def test_a_refused_cookie_is_told_once_by_its_exception_and_dated_by_the_line_before(tmp_path: Path) -> None:
    log = (
        "java.lang.Odd: BookieException$InvalidCookieException before any time\n"
        "5 1795279280029 ERROR [main] Main - Failed to build bookie server\n"
        "org.apache.bookkeeper.bookie.BookieException$InvalidCookieException: no match\n"
        "Caused by: org.apache.bookkeeper.bookie.BookieException$InvalidCookieException: no match\n"
    )
    refused, read = log_events_of(log, tmp_path)
    assert (refused.event, refused.at_ns, refused.detail) == (
        "cookie_refused",
        5,
        {"reason": "InvalidCookieException"},
    )
    assert read.detail == {"lines": 4, "undated": 3}


def test_an_exception_that_a_client_may_cause_refuses_no_cookie(tmp_path: Path) -> None:
    log = "5 1795279280029 ERROR [w] W - fenced\nx.BookieException$LedgerFencedException: null\n"
    assert [event.event for event in log_events_of(log, tmp_path)] == ["log_read"]


def test_a_log_without_times_tells_nothing_not_even_that_it_was_read(tmp_path: Path) -> None:
    assert log_events_of("Unclean shutdown detected\n", tmp_path) == []
    assert log_events_of("", tmp_path) == []


LINES = [line for log in BOOTS.values() for line in log.splitlines(keepends=True)]


@given(st.lists(st.one_of(st.sampled_from(LINES), st.binary(max_size=80)), max_size=12), st.integers(0, 40))
@example([b"99999999999999999999 1795279280029 x MARK_LIMBO ledger: 99999999999999999999999 "], 0)
def test_no_log_whatever_is_in_it_breaks_the_reader(parts: list[Any], cut: int) -> None:
    raw = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "boot-1.log"
        path.write_bytes(raw[: len(raw) - cut] if cut else raw)
        events = list(log_events("b1", 1, path))
    assert sum(event.event == "log_read" for event in events) <= 1
    assert all(json.dumps(dict(event.detail)) for event in events)
    assert collect_servers([], CLOCK, events).table.num_rows == len(events)


def change(op: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "path": path, "time_ms": 1_500, "zxid": "0x9", "version": None, "data": None, **more}


def test_zookeeper_tells_registrations_and_cookies_of_bookies_and_of_nobody_else() -> None:
    lines = [
        change("create", "/ledgers/cookies/b2:3181", version=0),
        change("set", "/ledgers/cookies/b2:3181", version=1),
        change("create", "/ledgers/available/b2:3181", version=0),
        change("delete", "/ledgers/available/b2:3181"),
        change("create", "/ledgers/available/readonly/b2:3181", version=0),
        change("create", "/ledgers/available/readonly", version=0),
        change("create", "/ledgers/cookies/elsewhere:1", version=0),
        change("create", "/ledgers/00/0000/L0001", version=0),
    ]
    rows = collect_servers([], CLOCK, transactions=lines).table.to_pylist()
    assert sorted(row["event"] for row in rows) == [
        "cookie_created",
        "cookie_set",
        "readonly_created",
        "znode_created",
        "znode_gone",
    ]
    assert {(row["server"], row["boot"], row["earliest_ns"], row["latest_ns"]) for row in rows} == {
        ("b2", 0, 498 * MS, 503 * MS)
    }
    (stamped,) = (row for row in rows if row["event"] == "cookie_set")
    assert json.loads(stamped["detail"]) == {"version": 1, "zxid": "0x9"}


@pytest.mark.parametrize("broken", [{"path": 7}, {"op": []}, {"time_ms": "soon"}, {"time_ms": None}])
def test_a_transaction_that_cannot_be_read_is_passed_over(broken: dict[str, Any]) -> None:
    line = change("create", "/ledgers/cookies/b2:3181") | broken
    assert collect_servers([], CLOCK, transactions=[line, {}]).table.num_rows == 0


@given(
    st.lists(st.one_of(st.sampled_from(LINES).map(str.encode), st.binary(max_size=80)), max_size=12),
    st.lists(st.integers(0, 2000), max_size=8),
)
def test_a_log_that_grows_tells_what_it_tells_when_it_is_whole(parts: list[bytes], cuts: list[int]) -> None:
    raw = b"".join(parts) + b"\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "boot-1.log"
        growing, heard = GrowingLog("b1", 1, path), []
        for cut in [*sorted(cuts), len(raw)]:
            path.write_bytes(raw[:cut])
            heard += growing.more()
        assert heard == [event for event in log_events("b1", 1, path) if event.event != LOG_READ]
        assert [*growing.more()] == [], "no event is reported twice"


def test_a_boot_without_a_log_has_told_nothing_yet(tmp_path: Path) -> None:
    assert [*GrowingLog("b1", 1, tmp_path / "boot-1.log").more()] == []
