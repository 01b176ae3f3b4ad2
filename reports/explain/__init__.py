"""``fencepost explain``: the history of a ledger or of one entry, from a run's tables in order of time."""
