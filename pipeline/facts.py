"""What every judging task knows of its run, from the folder alone."""

from __future__ import annotations

from checkers.contract import RunFacts
from evidence.collect.wirelogs import is_logged
from evidence.exchange.chains import chains_of
from evidence.folder import RunFolder
from evidence.names import ledger_names
from pipeline.protection import guarded_bookies
from pipeline.tables import Collection, greatest, read_table


def run_facts(folder: RunFolder, collection: Collection) -> RunFacts:
    """The facts of a collected run; ``EvidenceError`` when ``run.json`` or tables are unreadable."""
    run, end = folder.run(), folder.end()
    plan = run["plan"]
    cluster = plan.get("cluster") or {}
    return RunFacts(
        scenario=str(run["scenario"]),
        mode=str(run["mode"]),
        run_id=int(run["run_id"]),
        bookies=dict(run["bookies"]),
        clients=dict(run["clients"]),
        ledger_names=ledger_names(folder),
        faults=tuple(read_table(folder.tables, "faults").to_pylist()),
        servers=tuple(read_table(folder.tables, "servers").to_pylist()),
        required=tuple(plan.get("required") or ()),
        allowance=int(plan.get("allowance") or 0),
        complete=bool(end and end.get("complete")),
        left_out=str((end or {}).get("left_out", "")),
        wire=is_logged(folder.frames, end),
        guarded=guarded_bookies(run),
        began_ns=int(run["clock"]["monotonic_ns"]),
        damage=collection.damage,
        chains=chains_of(read_table(folder.tables, "chains").to_pylist()),
        racks=dict(cluster.get("racks") or {}),
        min_racks=int(cluster.get("min_racks") or 0),
        most_acks=greatest(folder.tables, "ledgers", "ack_quorum"),
    )
