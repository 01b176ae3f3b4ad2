"""Warnings about a configuration of bookies or clients that does not do what it seems to do.

Three kinds: keys that a release does not read (BookKeeper ignores unknown keys silently), combinations
that do not protect acknowledged entries, and settings with a known defect (:mod:`cluster.known_findings`).
A key that a release reads is a string constant in one of its classes, which are read from the jars. Returns
sentences; changes and starts nothing. Sources: BP-46, BookKeeper's code from 4.14 to 4.18 as the
sentences say, and the JVM Specification, section 4.4.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path

from cluster.known_findings import Advice, of_client_settings, of_settings
from cluster.releases import artifacts
from cluster.releases.versions import parse
from protocol.errors import PrerequisiteError
from protocol.modes import DB_STORAGE, DEFAULT_STORAGE, INTEGRITY, STORAGE, flag

STAMPING = "dataIntegrityStampMissingCookies"
FIRST_IN = {INTEGRITY: "4.15.0", STAMPING: "4.15.0", "bookieAddressResolverEnabled": "4.15.1"}
GETTERS = {"dataIntegrityCheckingEnabled": INTEGRITY, "dataIntegrityStampMissingCookiesEnabled": STAMPING}
_STREAM = ("dlog.", "storage.", "storageserver.")
"""Keys of the component for streams, whose jars are not compared; BookKeeper's bk_server.conf has them."""
_KEY = re.compile(r"[a-z][A-Za-z0-9_.\-]*")
MAGIC = 0xCAFEBABE
_UTF8, _STRING = 1, 8
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_TWO_SLOTS = {5, 6}  # a long or a double takes two indices
_HEADER_BYTES = 10


def configuration_warnings(conf: Mapping[str, str], version: str) -> list[Advice]:
    """Advice for each ignored key, unprotected combination and known defect; empty when all is well.

    ``conf`` is what the user wrote, key to value. ``UsageError`` for a version that cannot be run.
    Without the release's jars its keys are not compared, and one sentence says so.
    """
    integrity_exists = parse(version) >= parse(FIRST_IN[INTEGRITY])
    combinations = _combinations(conf, version, integrity_exists=integrity_exists)
    return [*_unread(conf, version), *combinations, *of_settings(conf, version)]


def client_warnings(conf: Mapping[str, str], version: str) -> list[Advice]:
    """The same of a client's settings, for which no combination is known not to protect."""
    return [*_unread(conf, version), *of_client_settings(conf, version)]


def _unread(conf: Mapping[str, str], version: str) -> list[Advice]:
    parse(version)
    try:
        known = known_keys(version)
    except PrerequisiteError as error:
        return [Advice(f"the keys were not compared with BookKeeper {version}: {error}", error.remedy)]
    unread = sorted(key for key in conf.keys() - known if not key.startswith(_STREAM))
    return [Advice(_ignored(key, version, known), "correct or remove it") for key in unread]


def known_keys(version: str) -> frozenset[str]:
    """Every string constant of the release's own classes that has the form of a key, its keys among them."""
    own = f"-{version}.jar"
    jars = [jar for jar in artifacts.class_path(version).jars if jar.name.endswith(own)]
    return frozenset(text for text in _strings_of_jars(jars) if _KEY.fullmatch(text))


def _ignored(key: str, version: str, known: frozenset[str]) -> str:
    sentence = f"{key}: BookKeeper {version} does not read this key, it is ignored"
    first = FIRST_IN.get(key)
    if first is not None:
        return f"{sentence} (it begins with {first})"
    meant = GETTERS.get(key)
    if meant is None:
        candidates = sorted(
            text for text in known if any(letter.isupper() or letter == "_" for letter in text)
        )
        meant = next(iter(get_close_matches(key, candidates, n=1, cutoff=0.8)), None)
    if meant is None:
        return sentence
    begins = f", from {FIRST_IN[meant]} on" if meant in FIRST_IN and meant not in known else ""
    return (
        f"{sentence}; the key is {meant}{begins}" if key in GETTERS else f"{sentence}; did you mean {meant}?"
    )


def _combinations(conf: Mapping[str, str], version: str, *, integrity_exists: bool) -> list[Advice]:
    journaled = flag(conf, "journalWriteData", default=True)
    synced = flag(conf, "journalSyncData", default=True)
    asked = flag(conf, INTEGRITY, default=False)
    checked = asked and integrity_exists
    storage = conf.get(STORAGE, DEFAULT_STORAGE).strip()
    short = storage.rpartition(".")[2]
    journal = "set journalWriteData=true"
    protection = f", or {INTEGRITY}=true with {STORAGE}={DB_STORAGE}" if integrity_exists else ""
    rules = (
        (
            not journaled and not checked,
            f"journalWriteData=false without {INTEGRITY}=true does not protect: a bookie that is killed "
            "loses what it acknowledged since its last flush, and denies it afterwards",
            f"{journal}{protection}",
        ),
        (
            not journaled and asked and not integrity_exists,
            f"{INTEGRITY}=true does not protect on {version}: integrity checking begins with 4.15.0",
            journal,
        ),
        (
            checked and storage != DB_STORAGE,
            f"{INTEGRITY}=true with {short} does not protect: the bookie starts while it is clean and ends "
            "with exit code 2 after a kill",
            f"set {STORAGE}={DB_STORAGE} on bookies without entries; others lose theirs "
            "(docs/findings/storage-changed.md)",
        ),
        (
            checked and journaled,
            f"{INTEGRITY}=true with journalWriteData=true checks nothing after a kill: the journal protects",
            "restart a bookie that was killed with journalWriteData=false with that setting first",
        ),
        (
            not journaled and storage != DB_STORAGE,
            f"journalWriteData=false with {short}: flushInterval does not bound what a kill loses; entries "
            "stay in memory until the memtable or the entry log is full",
            journal,
        ),
        (
            not journaled,
            "journalWriteData=false: a client's force() is acknowledged without making any entry durable "
            "(deferred sync syncs the journal only)",
            f"{journal} if a client uses DEFERRED_SYNC",
        ),
        (
            not synced,
            "journalSyncData=false: a power failure loses the journal's last records, fences among them "
            "(up to journalPageCacheFlushIntervalMSec, 1000 ms unless set)",
            "set journalSyncData=true",
        ),
        (
            flag(conf, STAMPING, default=False) and not checked,
            f"{STAMPING}=true has no effect without {INTEGRITY}=true on 4.15.0 or newer",
            f"set {INTEGRITY}=true, or remove it",
        ),
    )
    return [Advice(said, remedy) for applies, said, remedy in rules if applies]


def strings(data: bytes) -> set[str]:
    """The string constants of one class file; ``ValueError`` when it is no class file."""
    if len(data) < _HEADER_BYTES or struct.unpack_from(">I", data)[0] != MAGIC:
        raise ValueError("not a class file: the magic number is missing")
    count = struct.unpack_from(">H", data, 8)[0]
    texts: dict[int, bytes] = {}
    wanted: list[int] = []
    index, at = 1, _HEADER_BYTES
    while index < count:
        tag = data[at]
        if tag == _UTF8:
            length = struct.unpack_from(">H", data, at + 1)[0]
            texts[index] = data[at + 3 : at + 3 + length]
            at += 3 + length
        elif tag == _STRING:
            wanted.append(struct.unpack_from(">H", data, at + 1)[0])
            at += 3
        elif tag in _SIZES:
            at += 1 + _SIZES[tag]
        else:
            raise ValueError(f"constant {index} has the unknown tag {tag}")
        index += 2 if tag in _TWO_SLOTS else 1
    return {texts[number].decode("utf-8", "replace") for number in wanted}


def _strings_of_jars(jars: Iterable[Path]) -> set[str]:
    """The string constants of every class in these jars."""
    found: set[str] = set()
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.endswith(".class"):
                    found |= strings(archive.read(name))
    return found
