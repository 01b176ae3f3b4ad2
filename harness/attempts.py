"""The highest entry id of each ledger that any client ever tried to add.

Read from the clients' histories on the disk, so that a killed client counts too.
"""

from __future__ import annotations

from evidence.folder import RunFolder


def highest_attempts(folder: RunFolder) -> dict[int, int]:
    """Ledger id -> highest id of an add that was invoked, or of an entry that was delivered."""
    import numpy as np

    from evidence.codes import Kind
    from evidence.collect.histories import segment_files
    from evidence.history import decode_segment

    highest: dict[int, int] = {}
    run_id = int(folder.run()["run_id"])
    for file in segment_files(folder.operations):
        table = decode_segment(file.path, run_id=run_id).operations
        kind = np.asarray(table.column("kind"))
        ledger = np.asarray(table.column("ledger"))
        entry = np.asarray(table.column("entry"))
        mask = np.isin(kind, [Kind.ADD, Kind.ENTRY]) & (ledger >= 0)
        ids, position = np.unique(ledger[mask], return_inverse=True)
        tops = np.full(len(ids), -1, dtype=np.int64)
        np.maximum.at(tops, position, entry[mask])
        for one, top in zip(ids.tolist(), tops.tolist(), strict=True):
            highest[one] = max(top, highest.get(one, -1))
    return highest
