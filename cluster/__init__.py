"""Real servers and clients: start, stop, address, ask. Knows no plan step, fault or verdict."""
