"""BookKeeper's rules as pure functions: no files, processes, clusters or clocks."""
