"""``fencepost explain``: the life of a ledger or of one entry, told from a run's tables in order of time."""
