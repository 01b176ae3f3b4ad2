"""What every judging task knows of its run, from the folder alone.

After an unclean end a bookie under BP-46's protection owes limbo (BP-46, "Limbo"): it must not deny what it
may have lost. Such a bookie has an anomaly when it does, so a bookie is left out wherever the record leaves
room for another setting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from checkers.judging.contract import EVERY_LEDGER, RunFacts
from evidence.collect.wirelogs import is_logged
from evidence.collection import Collection
from evidence.exchange.chains import chains_of
from evidence.folder import RunFolder
from evidence.recorders import ledger_names
from pipeline.tables import read_table
from plans.grammar.names import EACH
from plans.grammar.rounds import ledger_and_round
from plans.resolve import stored_allowance
from plans.versions import within
from protocol.faults import Loses
from protocol.modes import DB_STORAGE, JOURNALING, least_loss

Tree = Mapping[str, Any]
"""The JSON of ``run.json``."""
_SETTINGS: Mapping[str, str] = {
    "dataIntegrityChecking": "true",
    "journalWriteData": "false",
    "ledgerStorageClass": DB_STORAGE,
}
_VERSIONS = ">=4.15.0"
"""Releases that have the check and the answer 507."""


def run_facts(folder: RunFolder, collection: Collection) -> RunFacts:
    """The facts of a collected run; ``EvidenceError`` when ``run.json`` or tables are unreadable."""
    run, end = folder.run(), folder.end()
    plan = run["plan"]
    cluster = plan.get("cluster") or {}
    names = ledger_names(folder)
    return RunFacts(
        scenario=str(run["scenario"]),
        mode=str(run["mode"]),
        run_id=int(run["run_id"]),
        bookies=dict(run["bookies"]),
        clients=dict(run["clients"]),
        ledger_names=names,
        faults=tuple(read_table(folder.tables, "faults").to_pylist()),
        servers=tuple(read_table(folder.tables, "servers").to_pylist()),
        required=tuple(plan.get("required") or ()),
        counting=tuple(plan.get("counting") or ()),
        allowance=allowed(plan, str(run["mode"]), names),
        complete=bool(end and end.get("complete")),
        left_out=str((end or {}).get("left_out", "")),
        not_asked=int((end or {}).get("not_asked", 0)),
        wire=is_logged(folder.frames, end),
        least_loss=least_losses(run),
        guarded=guarded_bookies(run),
        changed=changed_bookies(run),
        may_end=awaited_ends(plan),
        began_ns=int(run["clock"]["monotonic_ns"]),
        damage=collection.damage,
        chains=chains_of(read_table(folder.tables, "chains").to_pylist()),
        racks=dict(cluster.get("racks") or {}),
        min_racks=int(cluster.get("min_racks") or 0),
    )


def allowed(plan: Tree, mode: str, names: Mapping[int, str]) -> dict[int, int]:
    """Ledger id -> how many explained losses the plan accepts in this mode."""
    stated = stored_allowance(plan, mode).get(mode, {})
    rounds = int(plan.get("rounds") or 1)
    plain = {ledger: ledger_and_round(name, rounds)[0] for ledger, name in names.items()}
    own = {ledger: int(stated[name]) for ledger, name in plain.items() if name in stated}
    return {**own, EVERY_LEDGER: int(stated.get(EACH, 0))}


def guarded_bookies(run: Tree) -> frozenset[str]:
    """The bookies whose every boot was protected; a plan that may start one otherwise counts against it."""
    conf: Tree = (run.get("conf") or {}).get("bookie") or {}
    if any(conf.get(key) != value for key, value in _SETTINGS.items()):
        return frozenset()
    versions: Mapping[str, str] = run.get("versions") or {}
    changed = {target for target, start in _starts(run.get("plan")) if _unprotects(start)}
    return frozenset(
        name for name in run["bookies"] if name not in changed and _has_protection(versions.get(name))
    )


def changed_bookies(run: Tree) -> frozenset[str]:
    """The bookies that the plan starts with other settings."""
    return frozenset(target for target, start in _starts(run.get("plan")) if start.get("conf"))


def awaited_ends(plan: Tree) -> dict[str, int]:
    """Process -> how many of its ends the steps of the plan wait for, in all rounds."""
    waits = (wait for wait in _steps(plan, "wait_for") if wait.get("condition") == "down")
    each = Counter(str(wait.get("target")) for wait in waits if wait.get("is", True))
    return {target: number * int(plan.get("rounds") or 1) for target, number in each.items()}


def least_losses(run: Tree) -> dict[str, Loses]:
    """:func:`protocol.modes.least_loss` of each bookie, but not where the plan may start it otherwise."""
    conf = (run.get("conf") or {}).get("bookie")
    starts = _starts(run.get("plan"))
    changed = {target for target, start in starts if {*JOURNALING} & {*(start.get("conf") or ())}}
    return {} if conf is None else dict.fromkeys({*run["bookies"]} - changed, least_loss(conf))


def _unprotects(start: Tree) -> bool:
    conf, version = start.get("conf") or {}, start.get("version")
    other = any(key in conf and conf[key] != value for key, value in _SETTINGS.items())
    return other or (version is not None and not _has_protection(version))


def _has_protection(version: str | None) -> bool:
    try:
        return version is not None and within(version, _VERSIONS)
    except ValueError:
        return False


def _starts(tree: object) -> Iterator[tuple[str, Tree]]:
    """Who is started and how, by every step that starts a server, at whatever depth of the plan."""
    yield from ((str(start.get("target")), start) for start in _steps(tree, "start"))
    yield from ((str(name), roll) for roll in _steps(tree, "roll") for name in roll.get("targets") or ())


def _steps(tree: object, kind: str) -> Iterator[Tree]:
    """The parameters of each step of this kind, at whatever depth of the plan."""
    if isinstance(tree, Mapping):
        if isinstance(step := tree.get(kind), Mapping):
            yield step
        for branch in tree.values():
            yield from _steps(branch, kind)
    elif isinstance(tree, list):
        for branch in tree:
            yield from _steps(branch, kind)
