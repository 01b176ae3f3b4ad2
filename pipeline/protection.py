"""Which bookies ran under BP-46's protection for the whole run, and what could take what they had
acknowledged, from ``run.json`` alone.

After an unclean end such a bookie owes limbo (BP-46, "Limbo"): it must not deny what it may have
lost. A bookie named here has an anomaly when it does, so a bookie is left out wherever the record
leaves room for another setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from plans.versions import within
from protocol.faults import Loses
from protocol.modes import DB_STORAGE, JOURNALING, least_loss

_SETTINGS: Mapping[str, str] = {
    "dataIntegrityChecking": "true",
    "journalWriteData": "false",
    "ledgerStorageClass": DB_STORAGE,
}
_VERSIONS = ">=4.15.0"
"""Releases that have the check and the answer 507."""


def guarded_bookies(run: Mapping[str, Any]) -> frozenset[str]:
    """The bookies whose every boot was protected; a plan that may start one otherwise counts against it."""
    conf: Mapping[str, Any] = (run.get("conf") or {}).get("bookie") or {}
    if any(conf.get(key) != value for key, value in _SETTINGS.items()):
        return frozenset()
    versions: Mapping[str, str] = run.get("versions") or {}
    changed = {target for target, start in _starts(run.get("plan")) if _unprotects(start)}
    return frozenset(
        name for name in run["bookies"] if name not in changed and _has_protection(versions.get(name))
    )


def least_losses(run: Mapping[str, Any]) -> dict[str, Loses]:
    """:func:`protocol.modes.least_loss` of each bookie, but not where the plan may start it otherwise."""
    conf = (run.get("conf") or {}).get("bookie")
    starts = _starts(run.get("plan"))
    changed = {target for target, start in starts if {*JOURNALING} & {*(start.get("conf") or ())}}
    return {} if conf is None else dict.fromkeys({*run["bookies"]} - changed, least_loss(conf))


def _unprotects(start: Mapping[str, Any]) -> bool:
    conf, version = start.get("conf") or {}, start.get("version")
    other = any(key in conf and conf[key] != value for key, value in _SETTINGS.items())
    return other or (version is not None and not _has_protection(version))


def _has_protection(version: str | None) -> bool:
    try:
        return version is not None and within(version, _VERSIONS)
    except ValueError:
        return False


def _starts(tree: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Who is started and how, by every step that starts a server, at whatever depth of the plan."""
    if isinstance(tree, Mapping):
        if isinstance(start := tree.get("start"), Mapping):
            yield str(start.get("target")), start
        if isinstance(roll := tree.get("roll"), Mapping):
            yield from ((str(target), roll) for target in roll.get("targets") or ())
        for branch in tree.values():
            yield from _starts(branch)
    elif isinstance(tree, list):
        for branch in tree:
            yield from _starts(branch)
