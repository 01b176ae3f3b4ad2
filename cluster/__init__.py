"""Real servers and clients: start, stop, address, query. Independent of plan steps, faults and verdicts."""
