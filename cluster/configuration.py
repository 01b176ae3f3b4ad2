"""The effective settings of a run's servers and clients, as plain properties.

Four layers, later ones win: Fencepost's base (small memory, no flush by the clock), the mode, the
plan, the user's own file. The keys that a run owns (addresses, folders, ids) override all of them;
when the user's file sets one of these, both values are reported, and it is never replaced silently.
Text in, text out: starts no process and writes no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cluster.releases.versions import parse
from plans.cluster import (
    INDEX_DIRECTORIES,
    JOURNAL_DIRECTORIES,
    LEDGER_DIRECTORIES,
    PLACEMENT_POLICY,
    index_directories,
    journal_directories,
    ledger_directories,
)
from protocol.addresses import BOOKIE_PORT, ELECTION_PORT, QUORUM_PORT, bookie_id, bookie_number
from protocol.errors import UsageError

Properties = dict[str, str]

ZOOKEEPER_TICK_MS = 200
_DB = "dbStorage_"

BOOKIE_BASE: Mapping[str, str] = {
    # An hour: what is not journaled is on disk only after a full cache, a clean end or a boot.
    "flushInterval": "3600000",
    # Long enough that a stall of a busy machine does not expire a session; only faults should do that.
    "zkTimeout": "10000",
    "diskUsageThreshold": "0.99",
    "diskUsageWarnThreshold": "0.98",
    "diskUsageLwmThreshold": "0.97",
    "minUsableSizeForEntryLogCreation": "1048576",
    "minUsableSizeForIndexFileCreation": "1048576",
    "minUsableSizeForHighPriorityWrites": "1048576",
    f"{_DB}writeCacheMaxSizeMb": "64",
    f"{_DB}readAheadCacheMaxSizeMb": "8",
    # A bookie serves the entries that it has read ahead even if its index lacks them, which hides their loss.
    f"{_DB}readAheadCacheBatchSize": "0",
    # A read thread without room for one reader reads nothing (docs/findings/direct-io-readers.md).
    f"{_DB}directIOEntryLoggerReadBufferSizeMB": "1",
    f"{_DB}rocksDB_blockCacheSize": "8388608",
    f"{_DB}rocksDB_writeBufferSizeMB": "4",
    "journalMaxSizeMB": "64",
    "journalPreAllocSizeMB": "1",
    "logSizeLimit": "67108864",
    "entryLogFilePreallocationEnabled": "false",
    "serverNumIOThreads": "2",
    "numAddWorkerThreads": "1",
    "numReadWorkerThreads": "2",
    "numHighPriorityWorkerThreads": "2",
    "numLongPollWorkerThreads": "1",
    "allocatorPoolingConcurrency": "1",
}

DISK_THRESHOLDS = frozenset({"diskUsageThreshold", "diskUsageWarnThreshold", "diskUsageLwmThreshold"})

CLIENT_BASE: Mapping[str, str] = {
    "zkTimeout": "10000",
    "firstSpeculativeReadTimeout": "200",  # recovery asks the next bookie soon when one is silent
    "numIOThreads": "2",
    "numWorkerThreads": "2",
    # BookKeeper's own placement, but a plan may say which bookies a ledger begins with.
    PLACEMENT_POLICY: "fencepost.placement.ChosenEnsemble",
}

OBSERVER_BASE: Mapping[str, str] = {
    # Runs are judged by its reads: what is late on a busy machine is waited for, and is no failure.
    "addEntryTimeoutSec": "30",
    "readEntryTimeoutSec": "30",
}

AUTORECOVERY_BASE: Mapping[str, str] = {
    # A process whose session has ended ends itself.
    "zkTimeout": "10000",
    # Audits by the clock, so that one begins soon after whatever happened (in seconds).
    "auditorPeriodicBookieCheckInterval": "2",
    # How long an open ledger is left to its writer, and a ledger whose repair failed to its worker.
    "openLedgerRereplicationGracePeriod": "1000",
    "lockReleaseOfFailedLedgerGracePeriod": "6400",
    "rwRereplicateBackoffMs": "500",
    "firstSpeculativeReadTimeout": "200",
    "numIOThreads": "2",
    "numWorkerThreads": "2",
}

CHOSEN_ENSEMBLE = "fencepost.ensemble"
"""Key of a new ledger's custom metadata: ids of its first ensemble, joined by commas."""

CAPS: Mapping[str, int] = {
    f"{_DB}writeCacheMaxSizeMb": 512,
    f"{_DB}readAheadCacheMaxSizeMb": 256,
    f"{_DB}rocksDB_blockCacheSize": 256 << 20,
    f"{_DB}rocksDB_writeBufferSizeMB": 64,
    "journalMaxSizeMB": 2048,
    "journalPreAllocSizeMB": 64,
}
"""Sizes of the user's file above these are cut: several bookies share this machine."""

DROPPED = frozenset(
    {
        "zkServers",
        "zkLedgersRootPath",
        "indexDirectories",
        "journalDirectory",
        "useHostNameAsBookieID",
        "useShortHostName",
        "disableServerSocketBind",
        "enableLocalTransport",
        "extraServerComponents",
        "statsProviderClass",
        "tlsProvider",
        "tlsProviderFactoryClass",
        "bookieAuthProviderFactoryClass",
        "clientAuthProviderFactoryClass",
        "zkEnableSecurity",
        "permittedStartupUsers",
    }
)
"""Keys that a run cannot honour: other ways to name addresses and folders, TLS, extra jars."""

ROCKSDB_CONF_KEYS = ("defaultRocksdbConf", "entryLocationRocksdbConf", "ledgerMetadataRocksdbConf")
_OF_THE_USERS_MACHINE = frozenset(
    {
        "gcEntryLogMetadataCachePath",
        "dbStorage_rocksDB_logPath",
        "networkTopologyScriptFileName",
        *ROCKSDB_CONF_KEYS,
    }
)
"""Keys by which a server opens a file or directory of the user's own; only a plan may set them.

The files of RocksDB's options may name directories in turn. BookKeeper opens those of TLS, of authentication
and of the HTTP server only with what is left out anyway.
"""

ROCKSDB_OPTIONS = '[DBOptions]\n create_if_missing=true\n\n[CFOptions "default"]\n'
_NETTY_DIRECT_MB = 64
RACK_SCRIPT = "racks.sh"
_RACK_RESOLVER = "org.apache.bookkeeper.net.ScriptBasedMapping"
_NO_RACK = "/default-rack"


@dataclass(frozen=True, slots=True)
class Effective:
    """The properties written for one process, and what of the user's file they override.

    ``overridden`` has both values by key, ``theirs`` and ``ours``, which is empty when the key was dropped.
    """

    properties: Properties
    overridden: dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Layers:
    """The four layers of one kind of process, weakest first; ``user`` is the user's own file."""

    base: Mapping[str, str]
    mode: Mapping[str, str]
    plan: Mapping[str, str]
    user: Mapping[str, str]

    def merged(self, owned: Mapping[str, str], *, drop: frozenset[str] = DROPPED) -> Effective:
        """All layers under the keys that the run owns."""
        user = {key: value for key, value in self.user.items() if key not in _OF_THE_USERS_MACHINE}
        numbers = {key: int(value) for key, value in user.items() if key in CAPS and value.isdigit()}
        limits = {key: str(CAPS[key]) for key, number in numbers.items() if number > CAPS[key]}
        given = {**self.mode, **self.plan, **user}
        tied = DISK_THRESHOLDS if DISK_THRESHOLDS & given.keys() else frozenset()  # they must be in order
        base = {key: value for key, value in self.base.items() if key not in tied}
        merged = {**base, **given, **limits, **owned}
        properties = {key: value for key, value in merged.items() if key not in drop or key in owned}
        overridden = {
            key: {"theirs": theirs, "ours": properties.get(key, "")}
            for key, theirs in sorted(self.user.items())
            if properties.get(key, "") != theirs
        }
        return Effective(properties, overridden)


def bookie_properties(
    name: str, layers: Layers, *, folder: str, zookeeper: tuple[str, int], version: str
) -> Effective:
    """A bookie's settings; ``folder`` is its own (absolute), ``zookeeper`` its link to ZooKeeper."""
    owned = {
        # A plan may start a bookie under another id, to see it refuse the cookies of its disks.
        "bookieId": layers.plan.get("bookieId", bookie_id(name)),
        # Or at the address of another bookie that is down.
        "advertisedAddress": layers.plan.get("advertisedAddress", name),
        "bookiePort": str(BOOKIE_PORT),
        "listeningInterface": "lo",
        "allowLoopback": "true",
        "metadataServiceUri": metadata_service_uri(zookeeper),
        JOURNAL_DIRECTORIES: ",".join(f"{folder}/{name}" for name in journal_directories(layers.plan)),
        LEDGER_DIRECTORIES: ",".join(f"{folder}/{name}" for name in ledger_directories(layers.plan)),
        "httpServerEnabled": "false",
    }
    if names := index_directories(layers.plan):
        owned[INDEX_DIRECTORIES] = ",".join(f"{folder}/{name}" for name in names)
    if needs_rocksdb_conf(version):
        owned |= dict.fromkeys(ROCKSDB_CONF_KEYS, f"{folder}/rocksdb.conf")
    return layers.merged(owned)


def client_properties(layers: Layers) -> Effective:
    """A client's settings; its ZooKeeper address is an argument of the process."""
    return layers.merged({}, drop=DROPPED | {"metadataServiceUri"})


def autorecovery_properties(name: str, layers: Layers, *, zookeeper: tuple[str, int]) -> Properties:
    """Settings of a process with an auditor and a replication worker."""
    owned = {
        "bookieId": bookie_id(name),
        "advertisedAddress": name,
        "bookiePort": str(BOOKIE_PORT),
        "allowLoopback": "true",
        "metadataServiceUri": metadata_service_uri(zookeeper),
        "httpServerEnabled": "false",
    }
    return layers.merged(owned).properties


def zookeeper_properties(*, folder: str, address: tuple[str, int]) -> Properties:
    """ZooKeeper's settings: short ticks, no fsync (no fault cuts its power), wide limits for sessions."""
    host, port = address
    return {
        "tickTime": str(ZOOKEEPER_TICK_MS),
        "minSessionTimeout": "400",
        "maxSessionTimeout": "60000",
        "maxClientCnxns": "0",
        "clientPort": str(port),
        "clientPortAddress": host,
        "dataDir": f"{folder}/data",
        "forceSync": "no",
        "admin.enableServer": "false",
        "preAllocSize": "4096",
        "autopurge.purgeInterval": "0",
        "4lw.commands.whitelist": "srvr,ruok",
    }


def quorum_properties(leader: str, follower: str, *, votes: bool) -> Properties:
    """Further settings where a second server follows the first without a vote; hosts as this one sees them.

    They part after 60 s without an answer of the other; ZooKeeper's sample configuration has 10 s.
    """
    ports = f"{QUORUM_PORT}:{ELECTION_PORT}"
    return {
        "standaloneEnabled": "false",
        "initLimit": "300",
        "syncLimit": "300",
        "server.1": f"{leader}:{ports}",
        "server.2": f"{follower}:{ports}:observer",
        **({} if votes else {"peerType": "observer"}),
    }


def metadata_service_uri(zookeeper: tuple[str, int]) -> str:
    """BookKeeper's name for a metadata store at an address."""
    host, port = zookeeper
    return f"zk+hierarchical://{host}:{port}/ledgers"


def needs_rocksdb_conf(version: str) -> bool:
    """Whether a release exits unless files with RocksDB options are named (4.15.0 and 4.15.1)."""
    return parse(version) in ((4, 15, 0), (4, 15, 1))


def direct_memory_mb(properties: Mapping[str, str]) -> int:
    """Direct memory that a bookie with these settings needs: its two caches, and Netty's buffers."""
    sizes = (properties.get(f"{_DB}{cache}MaxSizeMb", "0") for cache in ("writeCache", "readAheadCache"))
    return sum(int(size) for size in sizes if size.isdigit()) + _NETTY_DIRECT_MB


def rack_settings(script: str, min_racks: int) -> dict[str, str]:
    """Rack-aware placement in clients, bookies and autorecovery; ``script`` is its script's absolute path.

    BookKeeper's ``RackawareEnsemblePlacementPolicy`` asks its resolver for the rack of a bookie by name or by
    address; the script-based resolver needs no extra class. ``min_racks`` is enforced: rather no ensemble
    than one in fewer racks.
    """
    return {
        "reppDnsResolverClass": _RACK_RESOLVER,
        "networkTopologyScriptFileName": script,
        "minNumRacksPerWriteQuorum": str(min_racks),
        "enforceMinNumRacksPerWriteQuorum": "true",
    }


def rack_script(racks: Mapping[str, str]) -> str:
    """A shell script that prints the rack of each of its arguments.

    A bookie's address ends in its number on every link to it.
    """
    cases = "".join(
        f"    {name}|{name}:*|*.{bookie_number(name)}) echo /{rack} ;;\n"
        for name, rack in sorted(racks.items())
    )
    return (
        '#!/bin/sh\nfor bookie in "$@"; do\n  case "$bookie" in\n'
        f"{cases}    *) echo {_NO_RACK} ;;\n  esac\ndone\n"
    )


def java_properties(properties: Mapping[str, str]) -> str:
    """Properties as a file's text, in the order of keys; backslashes are doubled."""
    return "".join(
        f"{key}={value.replace(chr(92), chr(92) * 2)}\n" for key, value in sorted(properties.items())
    )


def parse_properties(text: str, *, source: str) -> Properties:
    """The properties of a file in Java's syntax: comments, continued lines, ``=``, ``:`` or blank.

    The last of equal keys counts. ``UsageError`` names ``source`` and the line.
    """
    properties = {}
    for number, line in _logical_lines(text):
        match = re.match(r"((?:\\.|[^\\=:\s])+)\s*[=:]?\s*(.*)", line, re.DOTALL)
        if match is None:
            raise UsageError(f"{source}, line {number}: no key in {line!r}")
        properties[_unescape(match[1])] = _unescape(match[2]).strip()
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    parts: list[str] = []
    first = 0
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.lstrip()
        if not parts and (not stripped or stripped[0] in "#!"):
            continue
        first = first if parts else number
        trailing = len(stripped) - len(stripped.rstrip("\\"))
        parts.append(stripped[:-1] if trailing % 2 else stripped)
        if trailing % 2 == 0:
            yield first, "".join(parts)
            parts = []
    if parts:
        yield first, "".join(parts)


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


def _unescape(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return _ESCAPES.get(match[2], match[2])

    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", one, text, flags=re.DOTALL)
