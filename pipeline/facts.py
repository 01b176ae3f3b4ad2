"""What every judging task knows of its run, from the folder alone."""

from __future__ import annotations

from checkers.contract import RunFacts
from evidence.collect.wirelogs import is_logged
from evidence.folder import RunFolder
from evidence.names import ledger_names
from pipeline.protection import guarded_bookies
from pipeline.tables import Collection, read_table


def run_facts(folder: RunFolder, collection: Collection) -> RunFacts:
    """The facts of a collected run; ``EvidenceError`` when ``run.json`` or tables are unreadable."""
    run, end = folder.run(), folder.end()
    plan = run["plan"]
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
        wire=is_logged(folder.frames, end),
        guarded=guarded_bookies(run),
        damage=collection.damage,
    )
