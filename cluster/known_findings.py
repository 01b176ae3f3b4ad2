"""Which findings apply to a configuration of bookies or clients, from the index ``docs/findings/README.md``.

The index lists each finding once, in a part for what it needs. A part applies by the configuration's journal
and storage; a finding of a setting by that setting. A finding's workaround is the one of its page; the
guide's table "Settings that protect" says which settings exclude it. Reads these documents only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cluster.releases.versions import among, parse
from protocol.modes import DB_STORAGE, DEFAULT_STORAGE, STORAGE, flag, mode_of
from protocol.wording import counted

DOCS = Path(__file__).resolve().parents[1] / "docs"
INDEX = DOCS / "findings" / "README.md"
GUIDE = DOCS / "how-to" / "safe-configuration.md"
Conf = Mapping[str, str]

PARTS: Mapping[str, Callable[[Conf], bool]] = {
    "Any configuration": lambda _: True,
    "BP-46's protection": lambda conf: mode_of(conf) == "protected" and _db_storage(conf),
    "The journal": lambda conf: flag(conf, "journalWriteData", default=True),
    "The default storage": lambda conf: not _db_storage(conf),
    "`DbLedgerStorage`": lambda conf: _db_storage(conf),
    "Autorecovery and auditor": lambda conf: flag(conf, "autoRecoveryDaemonEnabled", default=True),
}
"""The parts of the index that a bookie's own configuration decides, and whether they apply."""
CLIENT_PARTS: Mapping[str, Callable[[Conf], bool]] = {
    "Clients with V2": lambda conf: flag(conf, "useV2WireProtocol", default=False),
}
"""The same of a client's settings."""

OFF_BY_DEFAULT = "Settings that are off by default"
SETTINGS: Mapping[str, Callable[[Conf], str]] = {
    "compaction-interrupted": lambda conf: _on(conf, "useTransactionalCompaction"),
    "old-log-metadata": lambda conf: (
        _on(conf, "gcEntryLogMetadataCacheEnabled") if conf.get("gcEntryLogMetadataCachePath") else ""
    ),
    "evicted-index": lambda conf: (
        f"fileInfoMaxIdleTime={conf['fileInfoMaxIdleTime']}"
        if conf.get("fileInfoMaxIdleTime", "0").strip() not in ("", "0")
        and conf.get(STORAGE, DEFAULT_STORAGE).strip() == DEFAULT_STORAGE
        else ""
    ),
    "flush-deadlock": lambda conf: _on(conf, "entryLogPerLedgerEnabled"),
    "direct-io-compaction": lambda conf: _direct_io(conf) and _on(conf, "useTransactionalCompaction"),
    "direct-io-readers": lambda conf: _direct_io(conf),
    "direct-io-large-entry": lambda conf: _direct_io(conf),
    "direct-io-many-ledgers": lambda conf: _direct_io(conf),
    "direct-io-size-limit": lambda conf: _direct_io(conf),
    "metadata-format-one": lambda conf: (
        "ledgerMetadataVersion=1" if conf.get("ledgerMetadataVersion", "").strip() == "1" else ""
    ),
    "rack-lost-replaced": lambda conf: _on(conf, "enforceMinNumFaultDomainsForWrite"),
    "journal-replaced": lambda conf: _on(conf, "allowStorageExpansion"),
    "ledger-directories": lambda conf: _on(conf, "allowStorageExpansion") if _db_storage(conf) else "",
}
"""By page: the setting that brings the finding, or nothing where the configuration does not have it."""
OF_CLIENTS = ("metadata-format-one", "rack-lost-replaced")
"""Those whose settings clients have too; a bookie has them for its own client, which replicates."""


class Advice(NamedTuple):
    """A sentence about a configuration, and what to do."""

    said: str
    remedy: str


@dataclass(frozen=True)
class Known:
    """A row of the index."""

    page: str
    title: str
    effect: str

    def __str__(self) -> str:
        return f"{self.effect}: {self.title} (docs/findings/{self.page}.md)"

    @property
    def workaround(self) -> str:
        """The row of the page as plain text, code with spaces in quotes, without links into the page."""
        text = (INDEX.parent / f"{self.page}.md").read_text(encoding="utf-8")
        (row,) = re.findall(r"^\| \*\*Workaround\*\* \| (.+) \|$", text, re.M)
        row = re.sub(r" \(\[[^]]*\]\(#[^)]*\)\)", "", row)
        row = re.sub(r"`([^`]*)`", lambda code: f'"{code[1]}"' if " " in code[1] else code[1], row)
        plain = re.sub(r"\[([^]]*)\]\((?:([\w-]+\.md)[^)]*|[^)]*)\)", _without_link, row)
        return f"workaround: {plain}"


def _without_link(link: re.Match[str]) -> str:
    return f"{link[1]} (docs/findings/{link[2]})" if link[2] else link[1]


def of_settings(conf: Conf, version: str) -> list[Advice]:
    """The findings that a setting of a bookie's ``conf`` brings on this release."""
    excluded = excluded_by(conf)
    named = {page: setting(conf) for page, setting in SETTINGS.items() if page not in excluded}
    if limit := _read_limit(conf, version):
        named["read-limit"] = f"{limit}, with clients that have useV2WireProtocol"
    return _advice(named, version)


def of_client_settings(conf: Conf, version: str) -> list[Advice]:
    """The findings that a setting of a client's ``conf`` brings on this release."""
    return _advice({page: SETTINGS[page](conf) for page in OF_CLIENTS}, version)


def _advice(named: Mapping[str, str], version: str) -> list[Advice]:
    rows = {one.page: one for _, row in _index(version) for one in row}
    return [
        Advice(f"{setting}: {rows[page]}", rows[page].workaround)
        for page, setting in named.items()
        if setting and page in rows
    ]


def of_parts(conf: Conf, version: str) -> Iterator[str]:
    """Each part of the index that applies to a bookie, its findings, and workarounds of severity P1."""
    return _of_parts(PARTS, conf, version, excluded_by(conf))


def of_client_parts(conf: Conf, version: str, bookie: Conf | None) -> Iterator[str]:
    """The same of a client, whose bookies have the configuration ``bookie``; None if it is not known."""
    no_limit = bookie is not None and not _read_limit(bookie, version)
    return _of_parts(
        CLIENT_PARTS, conf, version, {"read-limit": "bookies that limit no reads"} if no_limit else {}
    )


def _of_parts(
    parts: Mapping[str, Callable[[Conf], bool]], conf: Conf, version: str, excluded: Mapping[str, str]
) -> Iterator[str]:
    for part, rows in _index(version):
        left = [one for one in rows if one.page not in excluded]
        if left and part in parts and parts[part](conf):
            severe = [one for one in left if one.effect.startswith("P1")]
            number = f"{counted(len(left), 'known finding')}, {len(severe)} of severity P1"
            yield f"{part.replace('`', '')}: {number}"
            for one in severe:
                yield f"  {one}"
                yield f"    {one.workaround}"
            if others := [one.page for one in left if one not in severe]:
                yield f"  others in docs/findings: {', '.join(others)}"
            for one in rows:
                if one.page in excluded:
                    yield f"  {one.page} does not apply with {excluded[one.page]}"


def undecided(version: str, *, bookie: bool, client: bool) -> str:
    """The parts of the index that a bookie's or a client's settings, if there are any, do not decide."""
    decided = [OFF_BY_DEFAULT, *(PARTS if bookie else ()), *(CLIENT_PARTS if client else ())]
    parts = [part.replace("`", "") for part, rows in _index(version) if rows and part not in decided]
    return f"parts of docs/findings/README.md that were not decided: {', '.join(parts)}"


def excluded_by(conf: Conf) -> dict[str, str]:
    """By page: the settings of ``conf`` that protect against its finding, from the guide's table."""
    table = GUIDE.read_text(encoding="utf-8").partition("## Settings that protect\n")[2].partition("\n## ")[0]
    excluded: dict[str, str] = {}
    for cell, pages in re.findall(r"^\| (`.+`) \| bookie \|.*\| (\[.+) \|$", table, re.M):
        settings = re.findall(r"`(\w+)=([^`]+)`", cell)
        if settings and all(conf.get(key, "").strip().lower() == value for key, value in settings):
            said = " and ".join(f"{key}={value}" for key, value in settings)
            excluded |= dict.fromkeys(re.findall(r"/([\w-]+)\.md\)", pages), said)
    return excluded


def _index(version: str) -> Iterator[tuple[str, list[Known]]]:
    """The parts of the index, each with its findings on this release."""
    text = INDEX.read_text(encoding="utf-8")
    releases = releases_of(text)
    for part, body in re.findall(r"^### (.+)\n((?:(?!##).*\n)*)", text, re.M):
        rows = re.findall(r"^\| \[(.+)\]\(([\w-]+)\.md\) \| ([^|]+) \|", body, re.M)
        yield (
            part,
            [
                Known(page, title, effect)
                for title, page, effect in rows
                if page not in releases or among(version, releases[page])
            ],
        )


def releases_of(index: str) -> dict[str, str]:
    """The affected releases by page, from the table "By release"; one that is not listed affects all."""
    listed = index.partition("## By release\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ((?:from )?[\d.]+.*) \| (.+) \|$", listed, re.M)
    return {page: ranges for ranges, pages in rows for page in re.findall(r"\]\(([\w-]+)\.md\)", pages)}


def _db_storage(conf: Conf) -> bool:
    return conf.get(STORAGE, DEFAULT_STORAGE).strip() == DB_STORAGE


def _on(conf: Conf, key: str) -> str:
    return f"{key}=true" if flag(conf, key, default=False) else ""


def _direct_io(conf: Conf) -> str:
    return _on(conf, "dbStorage_directIOEntryLogger") if _db_storage(conf) else ""


def _read_limit(conf: Conf, version: str) -> str:
    """The limit of reads in progress: no limit by default, except on 4.18.0."""
    if not flag(conf, "readWorkerThreadsThrottlingEnabled", default=True):
        return ""
    key = "maxReadsInProgressLimit"
    if key not in conf:
        return f"{key} is 10000 by default on 4.18.0" if parse(version) == (4, 18, 0) else ""
    return "" if conf[key].strip() == "0" else f"{key}={conf[key]}"
