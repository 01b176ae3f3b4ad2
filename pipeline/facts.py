"""What every judging task knows of its run, from the folder alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checkers.contract import EVERY_LEDGER, RunFacts
from evidence.collect.wirelogs import is_logged
from evidence.collected import Collection
from evidence.exchange.chains import chains_of
from evidence.folder import RunFolder
from evidence.names import ledger_names
from pipeline.protection import guarded_bookies, least_losses
from pipeline.tables import greatest, read_table
from plans.names import EACH
from plans.resolve import stored_allowance
from plans.rounds import ledger_and_round


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
        allowance=allowed(plan, str(run["mode"]), names),
        complete=bool(end and end.get("complete")),
        left_out=str((end or {}).get("left_out", "")),
        wire=is_logged(folder.frames, end),
        least_loss=least_losses(run),
        guarded=guarded_bookies(run),
        began_ns=int(run["clock"]["monotonic_ns"]),
        damage=collection.damage,
        chains=chains_of(read_table(folder.tables, "chains").to_pylist()),
        racks=dict(cluster.get("racks") or {}),
        min_racks=int(cluster.get("min_racks") or 0),
        most_acks=greatest(folder.tables, "ledgers", "ack_quorum"),
    )


def allowed(plan: Mapping[str, Any], mode: str, names: Mapping[int, str]) -> dict[int, int]:
    """Ledger id -> how many explained losses the plan accepts in this mode."""
    stated = stored_allowance(plan, mode).get(mode, {})
    rounds = int(plan.get("rounds") or 1)
    plain = {ledger: ledger_and_round(name, rounds)[0] for ledger, name in names.items()}
    own = {ledger: int(stated[name]) for ledger, name in plain.items() if name in stated}
    return {**own, EVERY_LEDGER: int(stated.get(EACH, 0))}
