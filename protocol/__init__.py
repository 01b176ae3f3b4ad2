"""BookKeeper's rules as pure functions. Knows no file, process, cluster or clock."""
